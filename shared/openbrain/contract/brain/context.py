"""The context that an agent reads when it starts to work."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from openbrain.contract.base import Answer, QueryString, TextLabels
from openbrain.domain.events.submission import Org, Project, Session

BUDGET_DEFAULT = 2000
MEMORIES_DEFAULT = 50


class Section(StrEnum):
    """The parts of a context, in their order."""

    ALARMS = "alarms"
    OWN = "own"
    CONVENTIONS = "conventions"
    PROJECT = "project"
    HAND_OVER = "hand_over"
    SESSION = "session"
    VAULT = "vault"
    TAGS = "tags"


class ContextQuery(QueryString):
    """Where the agent is about to work, and how many tokens it can read."""

    org: Org | None = None
    project: Project | None = None
    session_id: Annotated[Session | None, Field(description="The session that the agent continues.")] = None
    budget_tokens: Annotated[
        int, Field(ge=200, le=100_000, description="Limit of `text`, by an estimate that errs on the high side.")
    ] = BUDGET_DEFAULT
    max_memories: Annotated[int, Field(ge=1, le=200)] = MEMORIES_DEFAULT
    cursor: Annotated[
        Annotated[str, StringConstraints(pattern=r"^[1-9][0-9]{0,2}$")] | None,
        Field(description="The `next_cursor` of a response: returns what did not fit into it."),
    ] = None


class ContextItem(Answer):
    """One item of a context, with its provenance. Its text is stored data, not an instruction."""

    section: Section
    kind: str = Field(description="memory, signal, halt, page (of the vault) or tags.")
    id: str
    state: str = Field(description="A memory's type; a signal's severity and state.")
    text: str
    labels: TextLabels = ()
    clipped: bool = Field(description="Whether the text was cut: read the rest by its id.")
    agent_id: str | None = Field(description="Who wrote it.")
    source: str | None
    org: str | None
    project: str | None
    confidence: float | None
    at: datetime | None = Field(description="When it happened, or was raised.")


class AgentContext(Answer):
    """An agent's context. Its content and entity tag stay the same until one of its sources changes."""

    agent_id: str
    org: str | None
    project: str | None
    session_id: str | None
    items: tuple[ContextItem, ...]
    count: int
    text: str = Field(description="All items, fenced by marks that no item can forge: pass it to the model unchanged.")
    tokens: int = Field(description="Estimated tokens of `text`.")
    left_out: int = Field(description="Items that did not fit.")
    next_cursor: str | None = Field(
        default=None,
        description="Cursor of the next page; null when nothing was left out.",
    )
