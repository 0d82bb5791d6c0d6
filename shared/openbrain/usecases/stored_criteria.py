"""Stores the criteria of a bulk operation as plain values, and reads them back."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from openbrain.domain.access.visibility import AllOf, Criteria, Viewer, everything, visible
from openbrain.ports.cleaning import Party

WHOLE = "whole"
"""Present if the operation covers the whole workspace: every agent, and ended memories."""


def kept(viewer: Viewer, criteria: Criteria, *, whole: bool = False) -> dict[str, Any]:
    """Viewer and criteria as JSON values."""
    return {"viewer": asdict(viewer), "criteria": asdict(criteria), **({WHOLE: True} if whole else {})}


def party(criteria: Criteria) -> Party | None:
    """The party of a whole-workspace operation, whose texts outside memories match too. None if the criteria name no
    party, or restrict memories by anything else."""
    named = Party(criteria.agents, criteria.speakers, criteria.says)
    alone = Criteria(agents=named.agents, speakers=named.speakers, says=named.says, only_project=criteria.only_project)
    return named if any(named) and criteria == alone else None


def erased_party(stored: Mapping[str, Any]) -> Party | None:
    """The party of criteria that `kept` stored."""
    return party(Criteria.of(stored["criteria"])) if stored.get(WHOLE) else None


def all_seen(stored: Mapping[str, Any]) -> AllOf:
    """The condition for all that the viewer of criteria that `kept` stored may see, ended or not."""
    return condition({**stored, "criteria": {}}, 0)


def condition(stored: Mapping[str, Any], now: int) -> AllOf:
    """The condition that `kept` stored. Raise `KeyError` or `ValueError` if the values have another form."""
    viewer = dict(stored["viewer"])
    if viewer["orgs"] is not None:
        viewer["orgs"] = tuple(viewer["orgs"])
    criteria = Criteria.of(stored["criteria"])
    if stored.get(WHOLE):
        return everything(viewer["workspace_id"], criteria)
    return visible(Viewer(**viewer), criteria, now)
