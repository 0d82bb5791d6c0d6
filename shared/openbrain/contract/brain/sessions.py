"""Sessions: started, filled, handed over."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints

from openbrain.contract.base import Answer, Asking, Body, PageSize, QueryString
from openbrain.contract.brain.memories import MemoryAnswer
from openbrain.domain import limits
from openbrain.domain.events.submission import Agent, Content, Hours, Moment, Org, Project, Speaker, Turn
from openbrain.domain.memory import MemoryType
from openbrain.domain.text.control_characters import plain_text
from openbrain.ports.agents import Policy

_ID = r"[A-Za-z0-9._:@-]"
SessionId = Annotated[
    str,
    StringConstraints(pattern=rf"^{_ID}+$", max_length=limits.SESSION_CHARS),
    Field(description="Letters, digits and . _ : @ - of ASCII."),
]
Step = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=limits.STEP_CHARS),
    AfterValidator(plain_text),
]
Steps = Annotated[tuple[Step, ...], Field(max_length=limits.STEPS)]


class StartBody(Body):
    """The place where the agent works, and the policy for the session's memories."""

    session_id: Annotated[SessionId | None, Field(description="The client's own; else one is made.")] = None
    org: Org | None = None
    project: Project | None = None
    policy: Annotated[
        Policy,
        Field(
            description="Of the session's memories: `expire` some days after they were written, `stay`, or `promote`: "
            "those that are no turns become the project's when the session ends, the others expire."
        ),
    ] = Policy.EXPIRE
    days: Annotated[int, Field(strict=True, ge=1, le=limits.SESSION_DAYS)] = 7
    agents: Annotated[
        tuple[Agent, ...],
        Field(
            max_length=limits.SESSION_AGENTS,
            description="Other agents that may join: by starting the session of this id. All then see each other's "
            "memories of it.",
        ),
    ] = ()
    agent_id: Asking = None


class SessionTurn(Body):
    """One turn."""

    turn: Annotated[Turn, Field(description="Its place in the session.")]
    content: Content
    speaker: Speaker | None = None
    type: MemoryType = MemoryType.CONTEXT
    occurred_at: Moment | None = None


class AppendBody(Body):
    """Turns, each stored once: the same turn with other content is refused."""

    turns: Annotated[tuple[SessionTurn, ...], Field(min_length=1, max_length=limits.BATCH_ITEMS)]
    agent_id: Asking = None


class EndBody(Body):
    """The hand-over to the next session. Without a summary the session ends without one."""

    summary: Annotated[
        Annotated[
            str,
            StringConstraints(strip_whitespace=True, min_length=1, max_length=limits.SUMMARY_CHARS),
            AfterValidator(plain_text),
        ]
        | None,
        Field(description="What was done."),
    ] = None
    next_steps: Steps = ()
    blockers: Steps = ()
    expires_in: Annotated[Hours | None, Field(description="Hours, after which the hand-over ends.")] = None
    agent_id: Asking = None


class SessionsQuery(QueryString):
    """The filters of a list of the agent's sessions."""

    project: Project | None = None
    open: Annotated[bool, Field(description="Only those that have not ended.")] = False
    limit: PageSize = limits.LIST_LIMIT_DEFAULT
    cursor: Annotated[str, StringConstraints(pattern=rf"^[0-9]{{1,18}}\.{_ID}{{1,255}}$")] | None = None
    agent_id: Asking = None


class SessionQueryOf(QueryString):
    """The agent that asks."""

    agent_id: Asking = None


class SessionAnswer(Answer):
    """One session."""

    id: str
    agent_id: str = Field(description="Who started it.")
    org: str | None
    project: str | None
    policy: Policy
    days: int
    invited: tuple[str, ...]
    open: bool
    started_at: datetime
    ended_at: datetime | None
    hand_over_id: str | None = Field(description="The memory that it left to the next one.")


class SessionDetail(SessionAnswer):
    """With those who are of it."""

    agents: tuple[str, ...]


class SessionStarted(SessionAnswer):
    """The session, and what the last one of the project left to it."""

    created: bool = Field(description="false: it was there, and goes on.")
    hand_over: MemoryAnswer | None


class SessionList(Answer):
    """Newest first."""

    sessions: tuple[SessionAnswer, ...]
    count: int
    next_cursor: str | None = Field(default=None, description="Where to go on; null at the end.")


class TurnAppended(Answer):
    """The result for one turn; `error` and `message` where it was refused."""

    turn: int
    id: str | None
    status: Literal["created", "duplicate", "refused"]
    error: str | None = None
    message: str | None = None
    field: str | None = None


class TurnsAppended(Answer):
    """In the order of the request."""

    results: tuple[TurnAppended, ...]
    count: int = Field(description="How many stand.")


class SessionEnded(SessionAnswer):
    """The session as it ended."""

    hand_over: MemoryAnswer | None
    promoted: int = Field(description="Memories that became the project's.")
