"""What agents of a workspace have among themselves: messages."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from openbrain.domain.access.visibility import Viewer


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
    """Its number in the recipient's inbox, without gaps; given when it is stored."""
    read_at: int | None = None


class Sent(NamedTuple):
    """What stands for a message that was sent."""

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
        """What the viewer received, in order of `seq`, behind that number. Whoever goes on behind the last number that
        it has handled gets each message at least once."""

    async def count_unread(self, viewer: Viewer) -> int:
        """How many of the inbox are not marked as read."""

    async def conversation(
        self, viewer: Viewer, other: str, limit: int, before: tuple[int, str] | None = None
    ) -> Sequence[Message]:
        """Between the viewer and another agent, newest first; `before` (created_at and id of one) lists those that
        follow it."""

    async def mark_read(self, viewer: Viewer, ids: Sequence[str] = (), up_to: int = 0) -> int:
        """Mark what the viewer received: these, and all up to that number; how many were not marked before."""

    async def purge_messages(self, before: int, limit: int) -> int:
        """Remove those sent before that time; how many."""
