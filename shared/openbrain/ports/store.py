"""The database, seen from outside: small ports, one need each. The SQL adapter offers them all.

Every method is one transaction and may be repeated after `TryLater` (the database is down or a lock was not had in
time) without doubling its effect. Announcements (events) are committed in the same transaction, into the outbox.
"""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from openbrain.domain.memory import Memory
from openbrain.domain.visibility import Condition, Viewer
from openbrain.ports.access import Access
from openbrain.ports.erasing import Closing, Erasing, Purging
from openbrain.ports.generations import Generations, IndexKind
from openbrain.ports.groups import Groups
from openbrain.ports.housekeeping import Backlog, Leases, Outbox, Upkeep
from openbrain.ports.index import Count, Hit
from openbrain.ports.operations import Operations
from openbrain.ports.recalls import Recalls
from openbrain.ports.reconciling import Reconciling
from openbrain.ports.reindexing import Reindexing
from openbrain.ports.signals import Halts, Signals, Subscribers
from openbrain.ports.ticks import Ticks
from openbrain.ports.transfer import Transfer
from openbrain.ports.vault_memories import VaultMemories
from openbrain.ports.vault_writes import VaultWrites
from openbrain.ports.webhooks import Webhooks


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Who does it and what it answers: for the audit and for the events it causes."""

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


Editions = frozenset[str] | None
"""Which `Memory.edition` the caller has seen; None takes any. Another one is `Outdated`."""


class Status(StrEnum):
    """What became of a write."""

    CREATED = "created"
    DUPLICATE = "duplicate"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Outcome:
    """A write's result: the memory that now stands for it, or the error."""

    status: Status
    memory: Memory | None = None
    error: Exception | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A change of a memory by its users; None leaves a part as it is."""

    memory_id: str
    viewer: Viewer
    origin: Origin
    content: str | None = None
    tags: tuple[str, ...] | None = None
    metadata: Mapping[str, Any] | None = None
    type: str | None = None
    confidence: float | None = None
    source: str | None = None
    expires_at: int | None = None
    """Microseconds; 0 takes an expiry away."""
    confirm: bool = False
    """Still true: decay counts from now."""
    editions: Editions = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """One line of the audit."""

    memory_id: str
    version: int
    revision: int
    action: str
    actor: str
    at: int
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    reason: str
    number: int
    """Rises from line to line, with gaps."""


@dataclass(frozen=True, slots=True)
class Ancestry:
    """The chain around a memory, nearest first."""

    parents: tuple[str, ...]
    children: tuple[str, ...]


class Writing(Protocol):
    """What users do to memories."""

    async def remember(self, writes: Sequence[Write]) -> Sequence[Outcome]:
        """Store each once, in one transaction, in order; one bad item never fails its neighbours."""

    async def update(self, edit: Edit) -> Memory:
        """Change one memory; `NotFound` where the viewer sees none alive, `Conflict` where the new content is taken."""

    async def forget(
        self, memory_id: str, viewer: Viewer, origin: Origin, note: str, editions: Editions = None
    ) -> Memory:
        """End one memory (reason forgotten); `NotFound` where the viewer does not see it. Again: the same answer."""

    async def restore(
        self, memory_id: str, viewer: Viewer, origin: Origin, note: str, editions: Editions = None
    ) -> Memory:
        """Bring an ended memory back, without an expiry that has passed; one that lives stays as it is. `NotFound`
        where the viewer does not see it; `Conflict` where another of its chain lives, where a living memory says the
        same (either is named as `head`), and for what was erased."""


class Reading(Protocol):
    """Rows as they stand."""

    async def rows(self, ids: Sequence[str]) -> Mapping[str, Memory]:
        """By id, dead or alive, of any workspace: for callers that apply `visibility.matches`."""

    async def indexable(self, ids: Sequence[str]) -> Mapping[str, Memory]:
        """The same for projectors: what is indexed stands as it is now, while marks, errors and the time of the last
        confirmation may be older."""

    async def listing(
        self, condition: Condition, limit: int, before: tuple[int, str] | None = None
    ) -> Sequence[Memory]:
        """Living memories, newest first; `before` (created_at and id of one) lists those that follow it."""

    async def keyword_hits(self, words: Sequence[str], condition: Condition, limit: int) -> Sequence[Hit]:
        """Living memories holding any of the words (lower case), scored by the share of words present: the slow way
        for when both indexes are down. `TryLater` where too many look at once."""

    async def counts(self, fields: Sequence[str], condition: Condition, limit: int) -> Sequence[Count]:
        """As `TextIndex.counts`, of the newest memories alone: the slow way for when the text index is down.
        `TryLater` where too many look at once."""

    async def history(self, memory_id: str, limit: int = 1000, after: int = 0) -> Sequence[HistoryEntry]:
        """Oldest first, at most `limit`; behind the line of that number."""

    async def ancestry(self, memory_id: str, limit: int) -> Ancestry:
        """Up to `limit` memories on either side."""


@dataclass(frozen=True, slots=True)
class Mark:
    """An index holds this revision of this memory."""

    memory_id: str
    revision: int


class Projecting(Protocol):
    """What indexers write back."""

    async def mark(self, kind: IndexKind, marks: Sequence[Mark]) -> frozenset[str]:
        """Note that the index holds (or has removed) these revisions, clear its error, and set indexed_at where this
        was the second mark. Returns the ids whose row has moved on: read and project these again."""

    async def record_failure(self, kind: IndexKind, memory_id: str, error: str) -> None:
        """Note on the row why its current revision can't be indexed."""

    async def clear_failures(self, kind: IndexKind, memory_ids: Sequence[str]) -> int:
        """Take such notes back: these are tried again. Returns how many had one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """All passages of one revision, by the hash of their model inputs, in order."""

    memory_id: str
    workspace_id: str
    revision: int
    input_hashes: tuple[str, ...]
    causation_id: str | None = None
    traceparent: str | None = None
    bulk: bool = False
    """Nobody waits for it: announced behind what is live, on `memory.reindex`."""
    version: int = 1


@dataclass(frozen=True, slots=True)
class PassageSet:
    """The vectors of a memory's passages, and the revision they were made for."""

    revision: int
    vectors: tuple["array[float]", ...]


class Vectors(Protocol):
    """The cache of embeddings and the passages that use them."""

    async def known(self, hashes: Sequence[str], model: str) -> frozenset[str]:
        """Which model inputs already have a vector."""

    async def save(
        self,
        vectors: Mapping[str, "array[float]"],
        embedded: Sequence[Embedded],
        model: str,
        *,
        replace: bool = False,
    ) -> None:
        """Add vectors by input hash (those already there stay, unless `replace`), replace the passages of each memory
        whose row is still at that revision and alive, raise passages_high, announce those (`Embedded.bulk`). What was
        erased meanwhile is purged."""

    async def count_inputs(self, model: str) -> int:
        """How many model inputs memories use whose vectors by this model are known."""

    async def unembedded(self, model: str, until: int, after: str, limit: int) -> Sequence[str]:
        """The next living memories behind the id `after`, in the order of ids, that want vectors, have none by this
        model as they are, and last changed before `until` (microseconds)."""

    async def passages(self, ids: Sequence[str], model: str) -> Mapping[str, PassageSet]:
        """The vectors of these memories; absent where none were made."""


class Truth(
    Writing,
    Reading,
    Projecting,
    Vectors,
    Outbox,
    Backlog,
    Leases,
    Upkeep,
    Generations,
    Access,
    Operations,
    Erasing,
    Purging,
    Closing,
    Transfer,
    Recalls,
    Groups,
    Reconciling,
    Reindexing,
    Signals,
    Halts,
    Subscribers,
    Webhooks,
    VaultMemories,
    Ticks,
    VaultWrites,
    Protocol,
):
    """Everything at once, for wiring; a function asks for the small port that it needs."""

    async def check(self) -> tuple[str, str, tuple[str, ...]]:
        """Product, version, problems."""

    async def close(self) -> None:
        """Release connections."""
