"""The criteria of a bulk operation as plain values in its row, and back."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from openbrain.domain.access.visibility import AllOf, Criteria, Viewer, visible


def kept(viewer: Viewer, criteria: Criteria) -> dict[str, Any]:
    """Viewer and criteria as JSON values."""
    return {"viewer": asdict(viewer), "criteria": asdict(criteria)}


def condition(stored: Mapping[str, Any], now: int) -> AllOf:
    """The condition that `kept` stored. Raises `KeyError` or `ValueError` where the values are not of that form."""
    viewer = dict(stored["viewer"])
    if viewer["orgs"] is not None:
        viewer["orgs"] = tuple(viewer["orgs"])
    return visible(Viewer(**viewer), Criteria.of(stored["criteria"]), now)
