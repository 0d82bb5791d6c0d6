"""Expected entries of the indexes, marks of indexed rows, and vectors."""

from array import array
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from openbrain.ports.index import Sum
from openbrain.ports.store.generations import Generation, IndexKind

VERIFY = "verify"
"""Kind of the operation that compares every index with the database."""
REINDEX = "reindex"


class Mark(NamedTuple):
    """Records that an index holds this revision of this memory."""

    memory_id: str
    revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """Living memories that belong in an index of this kind. '' and 0: no restriction."""

    kind: IndexKind
    workspace_id: str = ""
    org: str = ""
    project: str = ""
    since: int = 0
    """Changed at this time or later, microseconds."""
    until: int = 0
    """Made before this time, microseconds."""
    stale: bool = False
    """Only memories whose current state the index is not known to hold."""


class Measured(NamedTuple):
    """The size of an extent at a moment."""

    rows: int
    until: int
    """All of them were made before this time, by any clock; microseconds."""


class Listed(NamedTuple):
    """A row, as in its event."""

    id: str
    workspace_id: str
    version: int
    revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedRow:
    """A row as one generation of an index should hold it."""

    memory_id: str
    revision: int
    updated_at: int
    content_hash: str
    changed_at: int
    """When it last changed, ended or expired."""
    passages: int
    """Number of entries it should have; 0 if it has ended, wants none, or has no vectors yet."""
    high: int
    """The highest number of entries it ever had, as far as the database knows."""
    living: bool
    """True if entries are wanted at all."""
    waiting: bool
    """True if the vectors of this revision do not exist yet."""
    failed: bool
    """True if this revision can't be indexed; skipped until the memory changes or is replayed."""
    marked: bool
    """True if the indexer recorded it as done; always True for a generation that does not serve."""


class IndexMarks(Protocol):
    """Marks that indexers write back to the rows."""

    async def mark(self, kind: IndexKind, marks: Sequence[Mark]) -> frozenset[str]:
        """Record that the index holds (or has removed) these revisions, clear their errors, and set indexed_at if this
        was the second of both marks. Return the ids whose row has a newer revision: read and project these again."""

    async def record_failure(self, kind: IndexKind, memory_id: str, error: str) -> None:
        """Record on the row why its current revision can't be indexed."""

    async def clear_failures(self, kind: IndexKind, memory_ids: Sequence[str]) -> int:
        """Delete recorded failures, so that these memories are retried. Return how many had one."""

    async def count_failed(self, extent: Extent) -> int: ...

    async def failed_of(self, kind: IndexKind, ids: Sequence[str]) -> frozenset[str]:
        """Return those of these memories whose current revision could not be indexed."""

    async def any_marked(self, kind: IndexKind) -> bool:
        """True if an index of this kind was ever recorded to hold a living memory."""

    async def forget_marks(self, kind: IndexKind, after: str, until: str) -> int:
        """Clear the marks of the living rows in this id range because their index is lost. Return how many."""

    async def lift(self, seen: Mapping[str, int]) -> int:
        """Raise the revision of each row above the revision seen in an index, if it is not above it already, and
        announce the rows. Return how many were raised."""

    async def lift_all(self, seen: int, after: str, until: str) -> int:
        """Raise the revision of the rows in this id range to above `seen`, unless it is already; no events. Return how
        many."""

    async def tombstoned(self, ids: Sequence[str]) -> bool:
        """True if both indexes have processed the current revision of these memories."""


class ExpectedEntries(Protocol):
    """The rows that an index should reflect, read in batches in the order of their ids."""

    async def walk(self, after: str, limit: int) -> str | None:
        """Return the last id of the next `limit` rows behind `after`; None if no row follows."""

    async def bucket_sums(self, generation: Generation, after: str, until: str) -> Mapping[int, Sum]:
        """Return the expected sums by bucket of the rows behind `after` up to `until`, without tombstones and
        revisions."""

    async def marks(self, generation: Generation, after: str, until: str) -> Sequence[int]:
        """Return `ids.mark` of each entry that the indexes should have."""

    async def rows_in(
        self, generation: Generation, after: str, until: str, buckets: Collection[int]
    ) -> Sequence[ExpectedRow]:
        """Return rows of these buckets that should have entries or are not marked."""

    async def unmarked(self, generation: Generation, after: str, until: str, limit: int) -> Sequence[ExpectedRow]:
        """Return the first `limit` of these rows that are not marked, for a serving generation; failed rows are left
        out."""

    async def by_id(self, generation: Generation, ids: Collection[str]) -> Mapping[str, ExpectedRow]:
        """Read these rows; ids without a row are absent."""

    async def count_extent(self, extent: Extent) -> int: ...

    async def measure_extent(self, extent: Extent) -> Measured:
        """Count them and return an upper bound of their time of creation. Rows stored later are above it or are
        included."""

    async def list_extent(self, extent: Extent, after: str, limit: int) -> Sequence[Listed]:
        """Return the next of them behind id `after`, each once; '' starts. New rows may be included, unless `until`
        excludes them."""


class Embedded(NamedTuple):
    """All passages of one revision, by the hash of their model inputs, in order."""

    memory_id: str
    workspace_id: str
    revision: int
    input_hashes: tuple[str, ...]
    causation_id: str | None = None
    traceparent: str | None = None
    bulk: bool = False
    """Nobody waits for it: announced on `memory.reindex`, behind live events."""
    version: int = 1


@dataclass(frozen=True, slots=True)
class PassageSet:
    """The vectors of a memory's passages, and the revision they were made for."""

    revision: int
    vectors: tuple["array[float]", ...]


class Vectors(Protocol):
    """The cache of embeddings and the passages that use them."""

    async def known(self, hashes: Sequence[str], model: str, states: bytes = b"") -> frozenset[str]:
        """Return the model inputs that already have a vector, and also token states of version `states` if given."""

    async def save(
        self,
        vectors: Mapping[str, "array[float]"],
        embedded: Sequence[Embedded],
        model: str,
        *,
        states: Mapping[str, bytes] | None = None,
        replace: bool = False,
    ) -> None:
        """Store vectors by input hash (existing ones are kept unless `replace`) and their token states. Replace the
        passages of each memory that is living and still at that revision, raise passages_high, and announce those
        memories (`Embedded.bulk`). Inputs of memories erased meanwhile are purged."""

    async def count_inputs(self, model: str) -> int:
        """Count the model inputs in use that have a vector of this model."""

    async def unembedded(self, model: str, until: int, after: str, limit: int) -> Sequence[str]:
        """Return the next living memories behind id `after`, in id order, that want vectors, lack them for this model
        and their current content, and last changed before `until` (microseconds)."""

    async def passages(self, ids: Sequence[str], model: str) -> Mapping[str, PassageSet]:
        """Return the vectors of these memories; memories without any are absent."""

    async def inputs(self, ids: Sequence[str], model: str) -> Mapping[str, Sequence[str]]:
        """Return the hashes of the model inputs of these memories' passages, in no order; memories without any are
        absent."""

    async def states(self, inputs: Sequence[str], model: str) -> Mapping[str, bytes]:
        """Return the token states of these model inputs, by hash; inputs without any are absent."""

    async def drop_embeddings(self, inputs: Sequence[str]) -> int:
        """Delete vectors that no passage uses, of these model inputs and of those named by pending purges, in small
        transactions. Return how many."""
