"""The criteria of a bulk operation as plain values in its row, and back."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from openbrain.domain.access.visibility import AllOf, Criteria, Viewer, everything, visible

WHOLE = "whole"
"""Member of what is kept where all of the workspace is meant, of every agent and also what has ended."""


def kept(viewer: Viewer, criteria: Criteria, *, whole: bool = False) -> dict[str, Any]:
    """Viewer and criteria as JSON values."""
    return {"viewer": asdict(viewer), "criteria": asdict(criteria), **({WHOLE: True} if whole else {})}


def struck_out(stored: Mapping[str, Any]) -> str:
    """The text that an erasure of all of a workspace also strikes out beside memories; '' where a memory must match
    more than that."""
    criteria = Criteria.of(stored["criteria"])
    alone = Criteria(says=criteria.says, only_project=criteria.only_project)
    return criteria.says if stored.get(WHOLE) and criteria == alone else ""


def condition(stored: Mapping[str, Any], now: int) -> AllOf:
    """The condition that `kept` stored. Raises `KeyError` or `ValueError` where the values are not of that form."""
    viewer = dict(stored["viewer"])
    if viewer["orgs"] is not None:
        viewer["orgs"] = tuple(viewer["orgs"])
    criteria = Criteria.of(stored["criteria"])
    if stored.get(WHOLE):
        return everything(viewer["workspace_id"], criteria)
    return visible(Viewer(**viewer), criteria, now)
