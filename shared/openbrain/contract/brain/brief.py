"""A brief of recent events, from the database and the vault."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from openbrain.contract.base import Answer
from openbrain.contract.brain.filters import SessionQuery
from openbrain.domain import limits
from openbrain.domain.events.submission import Moment, Org, Project

DAYS_DEFAULT = 7


class BriefQuery(SessionQuery):
    """Filters of a brief: a start time, an org, a project."""

    since: Annotated[
        Moment | None,
        Field(description=f"Only what happened at or after this time; by default {DAYS_DEFAULT} days ago."),
    ] = None
    org: Org | None = None
    project: Annotated[Project | None, Field(description="Exactly this project.")] = None
    limit: Annotated[
        int, Field(ge=1, le=limits.LIST_LIMIT, description="Items in each list, at most.Items in each list, at most.")
    ] = limits.LIST_LIMIT_DEFAULT


class BriefItem(Answer):
    """One line of a brief."""

    kind: Literal["memory", "signal", "halt", "arc"]
    id: str = Field(
        description="The id of the memory, signal or halt, or the path of the arc's page: use it to read the full text."
    )
    title: str = Field(description="The first line of its text.")
    state: str = Field(description="The type of a memory, the state of a signal or halt, the status of an arc.")
    org: str | None = None
    project: str | None = None
    at: datetime = Field(description="When it happened, was raised or last changed.")


class Brief(Answer):
    """A brief. Each list is newest first and has at most `limit` items."""

    since: datetime
    decided: tuple[BriefItem, ...] = Field(description="Decisions since then.")
    stuck: tuple[BriefItem, ...] = Field(description="Open signals and halts, and stuck arcs.")
    changed: tuple[BriefItem, ...] = Field(description="Other memories since then, and arcs whose page changed.")
    more: tuple[Literal["decided", "stuck", "changed"], ...] = Field(description="Lists that were cut off at `limit`.")
    vault: bool = Field(description="Whether a vault was read: the workspace has one and the key may read it.")
    took_ms: float
