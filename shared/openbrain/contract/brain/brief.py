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
    """Since when, and of what."""

    since: Annotated[
        Moment | None, Field(description=f"What happened then or later; {DAYS_DEFAULT} days ago where left out.")
    ] = None
    org: Org | None = None
    project: Annotated[Project | None, Field(description="Exactly this project.")] = None
    limit: Annotated[int, Field(ge=1, le=limits.LIST_LIMIT, description="Of each list.")] = limits.LIST_LIMIT_DEFAULT


class BriefItem(Answer):
    """One line of it."""

    kind: Literal["memory", "signal", "halt", "arc"]
    id: str = Field(description="To read the whole: of the memory, the signal, the halt; the path of an arc's page.")
    title: str = Field(description="The first line of what it says.")
    state: str = Field(description="The type of a memory, the state of a signal or halt, the status of an arc.")
    org: str | None = None
    project: str | None = None
    at: datetime = Field(description="When it happened, was raised or changed last.")


class Brief(Answer):
    """Each list newest first, of at most `limit`."""

    since: datetime
    decided: tuple[BriefItem, ...] = Field(description="Decisions since then.")
    stuck: tuple[BriefItem, ...] = Field(description="What burns, what is halted, and arcs that stand still.")
    changed: tuple[BriefItem, ...] = Field(description="Other memories since then, and arcs whose page changed.")
    more: tuple[Literal["decided", "stuck", "changed"], ...] = Field(description="Lists that had more.")
    vault: bool = Field(description="Whether a vault was read: there is one, and the key may.")
    took_ms: float
