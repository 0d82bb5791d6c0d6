"""Messages and sessions of the agents of a workspace."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol

from openbrain.domain.access.visibility import Viewer
from openbrain.ports.store.writes import Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message from one agent to another. Times are microseconds."""

    id: str
    workspace_id: str
    sender: str
    recipient: str
    content: str
    subject: str = ""
    org: str = ""
    created_at: int
    seq: int = 0
    """The message's number in the recipient's inbox, without gaps; assigned when it is stored."""
    read_at: int | None = None
    subscription_id: str | None = None
    """The standing query that this message is a match of. `content` is then empty; the text is the memory's."""
    memory_id: str | None = None
    memory_revision: int | None = None
    similarity: float | None = None
    withdrawn_at: int | None = None
    """When the memory ended or stopped being visible to this agent."""


class Sent(NamedTuple):
    message: Message
    duplicate: bool
    """True if an earlier call with the same idempotency key stored the message."""


class Messages(Protocol):
    """A message is visible to its sender and its recipient, limited to the orgs of the key."""

    async def send_message(self, message: Message, key: str, most: int) -> Sent:
        """Store a message. A repeated `key` returns the message stored first ('' for no key). Raise `Conflict` if the
        key was used for another message, or if the recipient has `most` unread messages."""

    async def message(self, viewer: Viewer, message_id: str) -> Message | None:
        """Return a message that the viewer received or sent."""

    async def inbox(self, viewer: Viewer, limit: int, after: int = 0, *, unread: bool = False) -> Sequence[Message]:
        """List messages that the viewer received, with `seq` above `after`, in order. A caller that continues from the
        last number it handled gets each message at least once."""

    async def count_unread(self, viewer: Viewer) -> int: ...

    async def last_numbers(self, boxes: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], int]:
        """Return the number of the last message of each inbox (workspace, agent). Inboxes that never got one are
        absent."""

    async def conversation(
        self, viewer: Viewer, other: str, limit: int, before: tuple[int, str] | None = None
    ) -> Sequence[Message]:
        """List the messages between the viewer and another agent, newest first. `before`: created_at and id of the last
        message of the previous page."""

    async def mark_read(self, viewer: Viewer, ids: Sequence[str] = (), up_to: int = 0) -> int:
        """Mark received messages as read: those in `ids` and all up to number `up_to`. Return how many were unread."""

    async def purge_messages(self, before: int, limit: int) -> int:
        """Remove messages sent before `before`. Return how many."""


class Policy(StrEnum):
    """What happens to a session's memories that have no expiry of their own."""

    EXPIRE = "expire"
    """Memories expire a number of days after they were written."""
    STAY = "stay"
    PROMOTE = "promote"
    """Like `EXPIRE`, but memories that are not turns move to the project when the session ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A period of work of an agent and the agents it invited. Times are microseconds."""

    id: str
    """Unique per owner: two agents may use the same id for two sessions."""
    workspace_id: str
    agent_id: str
    """The owner: the agent that started the session."""
    org: str = ""
    project: str = ""
    policy: Policy = Policy.EXPIRE
    days: int = 7
    invited: tuple[str, ...] = ()
    """Agents that may join. Members of a session see each other's session memories, so both sides have to agree."""
    started_at: int
    ended_at: int | None = None
    hand_over_id: str | None = None


class Started(NamedTuple):
    """A session that is now open."""

    session: Session
    created: bool


@dataclass(frozen=True, slots=True)
class Promoted:
    """The number of memories moved to the project, and the cursor of the next call; None at the end."""

    rows: int
    after: tuple[int, str] | None


class Sessions(Protocol):
    """Sessions, each visible to its member agents, limited to the orgs of the key."""

    async def start_session(self, session: Session, viewer: Viewer, traceparent: str | None = None) -> Started:
        """Open a session and announce `agent.session_started`. If the agent already belongs to a session with this id,
        or its owner invited the agent to it, return that session: reopened if it had ended, unchanged if it is open.
        Raise `Conflict` if the agent belongs to one with this id that the viewer's orgs hide."""

    async def session(self, viewer: Viewer, session_id: str) -> Session | None:
        """Return the session with this id that the viewer belongs to."""

    async def sessions(
        self, viewer: Viewer, limit: int, before: tuple[int, str] | None = None, *, project: str = "", open_only: bool
    ) -> Sequence[Session]:
        """List the viewer's sessions, newest first. `before`: started_at and id of the last session of the previous
        page."""

    async def agents_of(self, workspace_id: str, agent_id: str, session_id: str) -> Sequence[str]:
        """List all agents of the session with this id that `agent_id` belongs to; none if it belongs to none."""

    async def hand_overs(self, viewer: Viewer, org: str, project: str, limit: int) -> Sequence[str]:
        """List the hand-over memories of the project's last sessions, by any agent, newest first. Without a project: of
        the viewer's own sessions. The caller checks whether the viewer may see them."""

    async def end_session(self, session: Session, hand_over_id: str | None, at: int, origin: Origin) -> Session:
        """End a session, as the caller has read it. If it is ended twice, the last hand-over counts: one that another
        agent has left since is superseded by it."""

    async def promote(
        self, session: Session, viewer: Viewer, limit: int, origin: Origin, after: tuple[int, str] | None = None
    ) -> Promoted:
        """Move memories of the session's agents that are not turns, and whose org the viewer sees, to the project, or
        to their agent if the session has no project, and remove the expiry that the policy set; one that its writer set
        stays. A memory that the project already has stays unchanged."""
