"""Writes of memories. Each is one transaction with its audit and events.

An erasure has changed the rows when it returns. The operation `PURGE`, queued in the same transaction, removes the
remains from indexes, streams and files.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

from openbrain.domain.access.visibility import Condition, Viewer
from openbrain.domain.memory import Memory, Scope
from openbrain.ports.store.operations import Operation

PURGE = "purge"
FORGET = "forget"


class Origin(NamedTuple):
    """Who made a write and the request behind it, for the audit and for events."""

    actor: str
    """The agent, or the key's name if it has none."""
    causation_id: str | None = None
    """The CloudEvents id of the submission. If set, duplicates are announced too."""
    traceparent: str | None = None
    bulk: bool = False
    """Announce new memories at low priority: they are indexed after all live ones."""


class Write(NamedTuple):
    """One memory to remember, validated and normalised. `memory.supersedes_id` names the memory it replaces."""

    memory: Memory
    viewer: Viewer
    origin: Origin
    allow_duplicate: bool = False
    idempotency_key: str = ""
    """Unique within the workspace; '' for none. The same key with other content is a `Conflict`."""
    idempotency_expires_at: int = 0


class Status(StrEnum):
    """The outcome of a write."""

    CREATED = "created"
    DUPLICATE = "duplicate"
    REFUSED = "refused"


class Outcome(NamedTuple):
    """A write's result: the resulting (or already existing) memory, or the error."""

    status: Status
    memory: Memory | None = None
    error: Exception | None = None


ExpectedVersions = frozenset[str] | None
"""The `Memory.edition` values the caller accepts; None accepts any. Any other raises `Outdated`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """An edit of a memory by users; None keeps a field."""

    memory_id: str
    viewer: Viewer
    origin: Origin
    content: str | None = None
    title: str | None = None
    """'' removes it."""
    aliases: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    labels: tuple[str, ...] = ()
    """Tags to add to the existing ones."""
    metadata: Mapping[str, Any] | None = None
    type: str | None = None
    confidence: float | None = None
    source: str | None = None
    org: str | None = None
    project: str | None = None
    """'' removes org or project."""
    memory_scope: Scope | None = None
    agent_id: str | None = None
    authors: tuple[str, ...] | None = ()
    """The agents whose memories may be transferred or made private; None for all."""
    expires_at: int | None = None
    """Microseconds; 0 removes the expiry."""
    confirm: bool = False
    """The memory is still true: restart the decay of confidence."""
    expected_versions: ExpectedVersions = None


@dataclass(frozen=True, slots=True)
class Erasure:
    """The row that remains as proof, and the purge operation; None if that ended long ago."""

    memory: Memory
    operation: Operation | None
    merged: Sequence[str] = ()
    """Memories that may hold its words: those that dedupe or consolidate merged it into, unless they are erased too.
    Only those that the viewer sees."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bulk:
    """The living memories that match a condition and were made at `made_by` (microseconds) or before."""

    condition: Condition
    made_by: int
    ended: bool = False
    """Include ended memories, except erased ones."""
    merged: Condition | None = None
    """An erasure includes the memories that dedupe or consolidate merged its matches into, if they match this."""


@dataclass(frozen=True, slots=True)
class Living:
    """The matches of a condition at some moment."""

    rows: int
    newest: int
    """When the newest of them was made, by any clock; microseconds, 0 if there are none."""
    held: int = 0
    """How many of them a legal hold keeps from `end_living`."""

    @property
    def free(self) -> int:
        """How many of them `end_living` ends."""
        return self.rows - self.held


@dataclass(frozen=True, slots=True)
class Ended:
    """The number of memories ended, and when the last of them was made, to continue from; None for none."""

    rows: int
    reached: int | None = None


class MemoryWrites(Protocol):
    async def remember(self, writes: Sequence[Write], *, whole: bool = False) -> Sequence[Outcome]:
        """Store each memory once, in one transaction, in order; a bad item does not affect the others.

        `whole`: they are the parts of one text, and all or none are stored. If one is refused, each outcome is that
        refusal; if the first is already stored but not all others, each outcome is that duplicate.
        """

    async def update(self, edit: Edit) -> Memory:
        """Edit a memory. Raise `NotFound` if the viewer sees no living memory, `Conflict` if another has the new
        content."""

    async def forget(
        self, memory_id: str, viewer: Viewer, origin: Origin, note: str, expected_versions: ExpectedVersions = None
    ) -> Memory:
        """End a memory with reason forgotten. Idempotent. Raise `NotFound` if the viewer does not see it."""

    async def restore(
        self, memory_id: str, viewer: Viewer, origin: Origin, note: str, expected_versions: ExpectedVersions = None
    ) -> Memory:
        """Restore an ended memory, without an expiry that has passed; a living one stays unchanged. Raise `NotFound` if
        the viewer does not see it. Raise `Conflict` if another of its chain is living or a living memory has the same
        content (either is named as `head`), or if it was erased."""

    async def erase(
        self, memory_id: str, viewer: Viewer, origin: Origin, note: str, expected_versions: ExpectedVersions = None
    ) -> Erasure:
        """Blank a memory, living or ended, and its history. Idempotent. Raise `NotFound` and `Outdated` like
        `forget`."""

    async def last_erasure(self) -> str:
        """A token that changes with every erasure in any workspace. Caches that may quote memories compare it."""

    async def measure_living(self, condition: Condition, *, ended: bool = False) -> Living:
        """Count the matches and return the time of the newest. `ended` as in `Bulk`."""

    async def sample_living(self, bulk: Bulk, limit: int) -> Sequence[str]:
        """Return ids of the newest matches that `end_living` ends."""

    async def end_living(self, bulk: Bulk, limit: int, origin: Origin, note: str, *, erase: bool) -> Ended:
        """Forget or erase at most `limit` matches, newest first, without those under a legal hold."""

    async def expire_due(self, limit: int, now: int) -> int:
        """End memories that expire by `now` (reason expired) and announce it. Return how many."""

    async def purge_idempotency_keys(self, limit: int) -> int:
        """Remove expired keys. Return how many."""

    async def blank_keys(self, workspace_id: str, ids: Sequence[str]) -> Sequence[str]:
        """Remove the content hash from the idempotency keys of these memories. Return the hashes of those keys."""
