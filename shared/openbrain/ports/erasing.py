"""Ending many memories, and ending them so that nothing of them is left.

What these do to rows is done when they return. What lies on in indexes, streams and files is the work of the operation
`PURGE` that they queue in the same transaction.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from openbrain.domain.memory import Memory
from openbrain.domain.visibility import Condition, Viewer
from openbrain.ports.operations import Operation

if TYPE_CHECKING:
    from openbrain.ports.store import Editions, Origin

PURGE = "purge"
FORGET = "forget"
CLOSE = "workspace-delete"


Doomed = Callable[[bytes, str, int | None], bool]
"""(event's bytes, workspace that the stream is bound to or '', when it was added by our clock or None) -> whether it
must go."""


@dataclass(frozen=True, slots=True)
class Swept:
    """What was taken out of the streams."""

    looked_at: int
    deleted: Mapping[str, int] = field(default_factory=dict)
    """Entries by stream, as the server names it."""
    too_long: tuple[str, ...] = ()
    """Streams that were not written anew: what was deleted leaves their blocks when they are trimmed."""
    unjudged: int = 0
    """Entries that could not be judged, and stay."""


@dataclass(frozen=True, slots=True)
class Erasure:
    """The row that proves it, and the operation that follows; None where that one is long over."""

    memory: Memory
    operation: Operation | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bulk:
    """What is to end: the living that a condition matches, made at `made_by` (microseconds) or before."""

    condition: Condition
    made_by: int


@dataclass(frozen=True, slots=True)
class Living:
    """What a condition matches at a moment."""

    rows: int
    newest: int
    """When the last of them was made, whatever clock told it; microseconds, 0 where there is none."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How many memories ended, and when the last of them was made: a walk goes on from there. None where none did."""

    rows: int
    reached: int | None = None


@dataclass(frozen=True, slots=True)
class Dropped:
    """Rows that are gone, and how many, of the next few, wait until both indexes hold nothing of them."""

    rows: int
    waiting: int


class Erasing(Protocol):
    """What users do to memories that must go."""

    async def erase(
        self, memory_id: str, viewer: Viewer, origin: "Origin", note: str, editions: "Editions" = None
    ) -> Erasure:
        """Blank one memory, dead or alive, and its history; again: the same answer. `NotFound`, `Outdated` as in
        `Writing.forget`."""

    async def last_erasure(self) -> str:
        """A name that changes with every erasure, of whatever workspace: who keeps what may quote one asks for it."""

    async def measure_living(self, condition: Condition) -> Living:
        """How many it matches, and up to when they were made."""

    async def sample_living(self, bulk: Bulk, limit: int) -> Sequence[str]:
        """Ids of the newest that it matches."""

    async def end_living(self, bulk: Bulk, limit: int, origin: "Origin", note: str, *, erase: bool) -> Ended:
        """Forget or erase at most `limit` of them, the newest."""


class Purging(Protocol):
    """What the operations that follow need of the truth. Each may be repeated."""

    async def blank_keys(self, workspace_id: str, ids: Sequence[str]) -> Sequence[str]:
        """Take the content's hash out of the idempotency keys of these memories; the hashes of those keys."""

    async def drop_embeddings(self, inputs: Sequence[str]) -> int:
        """Remove the vectors of these model inputs that no passage uses, in small transactions, and with them those
        that waiting purges name; returns how many."""

    async def tombstoned(self, ids: Sequence[str]) -> bool:
        """Whether both indexes hold the present revision of these memories, or nothing of them."""

    async def scrub(self) -> Mapping[str, object]:
        """Let nothing of removed rows stay in the database's files, as far as that is ours to do; tells what was
        done. `TryLater` while readers are in the way."""


class Closing(Protocol):
    """The end of a tenant."""

    async def workspace_counts(self, workspace_id: str) -> Mapping[str, int]:
        """What it holds, by table. `NotFound` where it is unknown."""

    async def close_workspace(self, workspace_id: str, operation: Operation) -> Operation:
        """From now on its keys open nothing; queue the operation. Again: the one that stands. `NotFound`."""

    async def erase_all(self, workspace_id: str, limit: int, since: int | None = None) -> Ended:
        """Blank at most `limit` memories of it, the oldest that were made at `since` or after."""

    async def drop_rows(self, workspace_id: str, limit: int) -> Dropped:
        """Remove at most `limit` blanked memories of it with all that belongs to them, the vectors that nobody else
        uses before their rows."""

    async def drop_workspace(self, workspace_id: str, keep: str) -> Mapping[str, int]:
        """Remove the rest in small transactions, its own row last; the operation `keep` stays. Returns how many
        rows, by table. One that was interrupted is gone on with by the next call."""
