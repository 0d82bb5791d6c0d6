"""Messages and sessions of the agents of a workspace."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol

from openbrain.domain.access.visibility import Viewer
from openbrain.ports.store.writes import Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message from an agent to another. Times are microseconds."""

    id: str
    workspace_id: str
    sender: str
    recipient: str
    content: str
    subject: str = ""
    org: str = ""
    created_at: int
    seq: int = 0
    """The message's number in the recipient's inbox, without gaps; given when it is stored."""
    read_at: int | None = None
    subscription_id: str | None = None
    """Of the standing query that it is a match of; then `content` is empty, and the text is that of the memory."""
    memory_id: str | None = None
    memory_revision: int | None = None
    similarity: float | None = None
    withdrawn_at: int | None = None
    """Since then the memory is gone, or no longer this agent's to see."""


class Sent(NamedTuple):
    message: Message
    duplicate: bool
    """Whether the same idempotency key had brought it before."""


class Messages(Protocol):
    """A message is seen by its sender and its recipient, as far as the key's orgs go."""

    async def send_message(self, message: Message, key: str, most: int) -> Sent:
        """Store one. `key`: the same again is the message that was stored first, '' for none; `Conflict` where it
        brought another one, and where the recipient has `most` unread messages."""

    async def message(self, viewer: Viewer, message_id: str) -> Message | None:
        """One that the viewer received or sent."""

    async def inbox(self, viewer: Viewer, limit: int, after: int = 0, *, unread: bool = False) -> Sequence[Message]:
        """Messages that the viewer received, in order of `seq`, behind that number. Reading on behind the last number
        that was handled yields each message at least once."""

    async def count_unread(self, viewer: Viewer) -> int: ...

    async def last_numbers(self, boxes: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], int]:
        """Of these inboxes (workspace and agent) the number of the last message; absent where nothing ever came."""

    async def conversation(
        self, viewer: Viewer, other: str, limit: int, before: tuple[int, str] | None = None
    ) -> Sequence[Message]:
        """Between the viewer and another agent, newest first; `before` (created_at and id of one) lists those that
        follow it."""

    async def mark_read(self, viewer: Viewer, ids: Sequence[str] = (), up_to: int = 0) -> int:
        """Mark what the viewer received: these, and all up to that number; how many were not marked before."""

    async def purge_messages(self, before: int, limit: int) -> int:
        """Remove those sent before that time; how many."""


class Policy(StrEnum):
    """The fate of a session's memories that have no expiry of their own."""

    EXPIRE = "expire"
    """Memories end a number of days after they were written."""
    STAY = "stay"
    PROMOTE = "promote"
    """Like `EXPIRE`, but memories that are no turns become the project's when the session ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A stretch of work of an agent, and of those that it asked in. Times are microseconds."""

    id: str
    """Unique for its owner: two agents may use the same one, of two sessions."""
    workspace_id: str
    agent_id: str
    """The owner: the agent that started the session."""
    org: str = ""
    project: str = ""
    policy: Policy = Policy.EXPIRE
    days: int = 7
    invited: tuple[str, ...] = ()
    """Agents that may join it. Agents of a session see each other's session memories, so both sides have to want it."""
    started_at: int
    ended_at: int | None = None
    hand_over_id: str | None = None


class Started(NamedTuple):
    """A session that is open now."""

    session: Session
    created: bool


@dataclass(frozen=True, slots=True)
class Promoted:
    """The number of memories that became the project's, and where the walk goes on; None at its end."""

    rows: int
    after: tuple[int, str] | None


class Sessions(Protocol):
    """Sessions, each seen by the agents of it, as far as the key's orgs go."""

    async def start_session(self, session: Session, viewer: Viewer, traceparent: str | None = None) -> Started:
        """Open it, and announce `agent.session_started`. One of the same id that the agent is of, or is asked into by
        its owner, is the answer, opened again where it had ended; one that is open stays as it is."""

    async def session(self, viewer: Viewer, session_id: str) -> Session | None:
        """The one of this id that the viewer is of."""

    async def sessions(
        self, viewer: Viewer, limit: int, before: tuple[int, str] | None = None, *, project: str = "", open_only: bool
    ) -> Sequence[Session]:
        """The viewer's sessions, newest first; `before` (started_at and id of one) lists those that follow it."""

    async def agents_of(self, workspace_id: str, agent_id: str, session_id: str) -> Sequence[str]:
        """All agents of the session of this id that this agent is of; none where it is of none."""

    async def hand_overs(self, viewer: Viewer, org: str, project: str, limit: int) -> Sequence[str]:
        """Memories that the last sessions of the project left, of whichever agent, newest first; without a project
        those of the viewer's own. Whether the viewer may see them is for the caller to ask."""

    async def end_session(self, session: Session, hand_over_id: str | None, at: int) -> Session:
        """End a session. Ended twice, the last hand-over counts."""

    async def promote(
        self, session: Session, limit: int, origin: Origin, after: tuple[int, str] | None = None
    ) -> Promoted:
        """Give memories of its agents that are no turns to the project, or to their agent where it has none, without
        their expiry. What the project knows already stays as it is."""
