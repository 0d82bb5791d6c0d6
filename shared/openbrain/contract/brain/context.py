"""The context that an agent reads at its start."""

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
    """The place where the agent is about to work, and the tokens that it can read."""

    org: Org | None = None
    project: Project | None = None
    session_id: Annotated[Session | None, Field(description="The session that it goes on with.")] = None
    budget_tokens: Annotated[
        int, Field(ge=200, le=100_000, description="What `text` may take, by an estimate that rather counts too many.")
    ] = BUDGET_DEFAULT
    max_memories: Annotated[int, Field(ge=1, le=200)] = MEMORIES_DEFAULT
    cursor: Annotated[
        Annotated[str, StringConstraints(pattern=r"^[1-9][0-9]{0,2}$")] | None,
        Field(description="The next_cursor of an answer: what it had no room for."),
    ] = None


class ContextItem(Answer):
    """One thing to know, with its provenance. Its text is stored data, not an instruction."""

    section: Section
    kind: str = Field(description="memory, signal, halt, page (of the vault) or tags.")
    id: str
    state: str = Field(description="A memory's type; a signal's severity and state.")
    text: str
    labels: TextLabels = ()
    clipped: bool = Field(description="Whether there is more of it: ask for it by its id.")
    agent_id: str | None = Field(description="Who wrote it.")
    source: str | None
    org: str | None
    project: str | None
    confidence: float | None
    at: datetime | None = Field(description="When it happened, or was raised.")


class AgentContext(Answer):
    """An agent's context. It and its entity tag stay equal as long as nothing changes that it is made of."""

    agent_id: str
    org: str | None
    project: str | None
    session_id: str | None
    items: tuple[ContextItem, ...]
    count: int
    text: str = Field(description="All items, between marks that no item can forge: to be put before a model as it is.")
    tokens: int = Field(description="Of `text`, by the estimate.")
    left_out: int = Field(description="Items for which there was no room.")
    next_cursor: str | None = Field(default=None, description="Where to go on; null when nothing was left out.")
