"""Sessions: requests and responses to start, fill and end them."""

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

    session_id: Annotated[SessionId | None, Field(description="Chosen by the client; generated if left out.")] = None
    org: Org | None = None
    project: Project | None = None
    policy: Annotated[
        Policy,
        Field(
            description="What happens to the session's memories. `expire`: they expire `days` after they were written. "
            "`stay`: they are kept. `promote`: when the session ends, those that are not turns move to the "
            "project; the others expire."
        ),
    ] = Policy.EXPIRE
    days: Annotated[int, Field(strict=True, ge=1, le=limits.SESSION_DAYS)] = 7
    agents: Annotated[
        tuple[Agent, ...],
        Field(
            max_length=limits.SESSION_AGENTS,
            description="Other agents that may join, by starting a session with this id. Members see each other's "
            "memories of the session.",
        ),
    ] = ()
    agent_id: Asking = None


class SessionTurn(Body):
    """One turn."""

    turn: Annotated[Turn, Field(description="Its position in the session.")]
    content: Content
    speaker: Speaker | None = None
    type: MemoryType = MemoryType.CONTEXT
    occurred_at: Moment | None = None


class AppendBody(Body):
    """Turns to append. Each turn is stored once; the same turn with different content is refused."""

    turns: Annotated[tuple[SessionTurn, ...], Field(min_length=1, max_length=limits.BATCH_ITEMS)]
    agent_id: Asking = None


class EndBody(Body):
    """The hand-over to the next session. Without summary, next steps and blockers none is stored."""

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
    expires_in: Annotated[Hours | None, Field(description="Hours until the hand-over expires.")] = None
    agent_id: Asking = None


class SessionsQuery(QueryString):
    """The filters of a list of the agent's sessions."""

    project: Project | None = None
    open: Annotated[bool, Field(description="Only sessions that have not ended.")] = False
    limit: PageSize = limits.LIST_LIMIT_DEFAULT
    cursor: Annotated[str, StringConstraints(pattern=rf"^[0-9]{{1,18}}\.{_ID}{{1,255}}$")] | None = None
    agent_id: Asking = None


class SessionQueryOf(QueryString):
    """Names the agent that asks."""

    agent_id: Asking = None


class SessionAnswer(Answer):
    """One session."""

    id: str
    agent_id: str = Field(description="The agent that started it.")
    org: str | None
    project: str | None
    policy: Policy
    days: int
    invited: tuple[str, ...]
    open: bool
    started_at: datetime
    ended_at: datetime | None
    hand_over_id: str | None = Field(description="The hand-over memory for the next session.")


class SessionDetail(SessionAnswer):
    """One session with its members."""

    agents: tuple[str, ...]


class SessionStarted(SessionAnswer):
    """The session, and the hand-over of the project's previous session."""

    created: bool = Field(description="false: it existed already and is continued.")
    hand_over: MemoryAnswer | None


class SessionList(Answer):
    """A page of sessions, newest first."""

    sessions: tuple[SessionAnswer, ...]
    count: int
    next_cursor: str | None = Field(default=None, description="Cursor of the next page; null on the last one.")


class TurnAppended(Answer):
    """The result for one turn, with `error` and `message` if it was refused."""

    turn: int
    id: str | None
    status: Literal["created", "duplicate", "refused"]
    error: str | None = None
    message: str | None = None
    field: str | None = None


class TurnsAppended(Answer):
    """One result per turn, in the order of the request."""

    results: tuple[TurnAppended, ...]
    count: int = Field(description="Turns that are now stored.")


class SessionEnded(SessionAnswer):
    """The session after it ended."""

    hand_over: MemoryAnswer | None
    promoted: int = Field(description="Memories that moved to the project.")
