"""Writes of memories: each is one transaction, with its audit and its events.

What erasing does to rows is done when it returns. What lies on in indexes, streams and files is the work of the
operation `PURGE` that it queues in the same transaction.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from openbrain.domain.access.visibility import Condition, Viewer
from openbrain.domain.memory import Memory, Scope
from openbrain.ports.store.operations import Operation

PURGE = "purge"
FORGET = "forget"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The author of a write and the request behind it: for the audit and for events."""

    actor: str
    """The agent, or the key's name where it has none."""
    causation_id: str | None = None
    """The CloudEvents id of the submission; with it, a duplicate is announced too."""
    traceparent: str | None = None
    bulk: bool = False
    """New memories are announced at low priority: they are indexed after all that is live."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """One memory to remember, checked and normalised; `memory.supersedes_id` names what it replaces."""

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


@dataclass(frozen=True, slots=True)
class Outcome:
    """A write's result: the memory that now stands for it, or the error."""

    status: Status
    memory: Memory | None = None
    error: Exception | None = None


ExpectedVersions = frozenset[str] | None
"""The `Memory.edition` that the caller has seen; None takes any. Another one is `Outdated`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A change of a memory by its users; None leaves a part as it is."""

    memory_id: str
    viewer: Viewer
    origin: Origin
    content: str | None = None
    title: str | None = None
    """'' takes it away."""
    aliases: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    labels: tuple[str, ...] = ()
    """Tags beside those that it has."""
    metadata: Mapping[str, Any] | None = None
    type: str | None = None
    confidence: float | None = None
    source: str | None = None
    org: str | None = None
    project: str | None = None
    """'' takes either away."""
    memory_scope: Scope | None = None
    agent_id: str | None = None
    authors: tuple[str, ...] | None = ()
    """The agents whose memories it may hand on, or make private; None for all."""
    expires_at: int | None = None
    """Microseconds; 0 takes an expiry away."""
    confirm: bool = False
    """Still true: decay counts from now."""
    expected_versions: ExpectedVersions = None


@dataclass(frozen=True, slots=True)
class Erasure:
    """The row that proves it, and the operation that follows; None where that one is long over."""

    memory: Memory
    operation: Operation | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bulk:
    """The living memories that match a condition, made at `made_by` (microseconds) or before."""

    condition: Condition
    made_by: int
    ended: bool = False
    """Also what has ended, but for what was erased."""


@dataclass(frozen=True, slots=True)
class Living:
    """Matches of a condition at a moment."""

    rows: int
    newest: int
    """The time at which the last of them was made, by whatever clock; microseconds, 0 where there is none."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The number of ended memories, and when the last of them was made: a walk goes on from there. None for none."""

    rows: int
    reached: int | None = None


class MemoryWrites(Protocol):
    async def remember(self, writes: Sequence[Write]) -> Sequence[Outcome]:
        """Store each once, in one transaction, in order; one bad item never fails its neighbours."""

    async def update(self, edit: Edit) -> Memory:
        """Change one memory; `NotFound` where the viewer sees none alive, `Conflict` where the new content is taken."""

    async def forget(
        self, memory_id: str, viewer: Viewer, origin: Origin, note: str, expected_versions: ExpectedVersions = None
    ) -> Memory:
        """End one memory (reason forgotten); `NotFound` where the viewer does not see it. Again: the same answer."""

    async def restore(
        self, memory_id: str, viewer: Viewer, origin: Origin, note: str, expected_versions: ExpectedVersions = None
    ) -> Memory:
        """Bring an ended memory back, without an expiry that has passed; one that lives stays as it is. `NotFound`
        where the viewer does not see it; `Conflict` where another of its chain lives, where a living memory says the
        same (either is named as `head`), and for what was erased."""

    async def erase(
        self, memory_id: str, viewer: Viewer, origin: Origin, note: str, expected_versions: ExpectedVersions = None
    ) -> Erasure:
        """Blank one memory, dead or alive, and its history; again: the same answer. `NotFound`, `Outdated` as in
        `forget`."""

    async def last_erasure(self) -> str:
        """A name that changes with every erasure, of whatever workspace: who keeps what may quote one asks for it."""

    async def measure_living(self, condition: Condition, *, ended: bool = False) -> Living:
        """The number of matches, and the time of the latest. `ended` as in `Bulk`."""

    async def sample_living(self, bulk: Bulk, limit: int) -> Sequence[str]:
        """Ids of the newest that it matches."""

    async def end_living(self, bulk: Bulk, limit: int, origin: Origin, note: str, *, erase: bool) -> Ended:
        """Forget or erase at most `limit` of them, the newest."""

    async def expire_due(self, limit: int, now: int) -> int:
        """End memories whose time has come by `now` (reason expired), announced; returns how many."""

    async def purge_idempotency_keys(self, limit: int) -> int:
        """Remove keys past their expiry; returns how many."""

    async def blank_keys(self, workspace_id: str, ids: Sequence[str]) -> Sequence[str]:
        """Take the content's hash out of the idempotency keys of these memories; the hashes of those keys."""
