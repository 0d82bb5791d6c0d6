"""The criteria of a bulk operation as plain values in its row, and back."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from openbrain.domain.access.visibility import AllOf, Criteria, Viewer, visible
from openbrain.domain.memory import MemoryType, Scope


def kept(viewer: Viewer, criteria: Criteria) -> dict[str, Any]:
    """Viewer and criteria as JSON values."""
    return {"viewer": asdict(viewer), "criteria": asdict(criteria)}


def condition(stored: Mapping[str, Any], now: int) -> AllOf:
    """The condition that `kept` stored. Raises `KeyError` or `ValueError` where the values are not of that form."""
    viewer, criteria = dict(stored["viewer"]), dict(stored["criteria"])
    if viewer["orgs"] is not None:
        viewer["orgs"] = tuple(viewer["orgs"])
    criteria = {name: tuple(value) if isinstance(value, list) else value for name, value in criteria.items()}
    criteria["types"] = tuple(MemoryType(item) for item in criteria["types"])
    criteria["scopes"] = tuple(Scope(item) for item in criteria["scopes"])
    return visible(Viewer(**viewer), Criteria(**criteria), now)
