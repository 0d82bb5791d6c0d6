"""Expected entries of the indexes, marks of indexed rows, and vectors."""

from array import array
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from openbrain.ports.index import Sum
from openbrain.ports.store.generations import Generation, IndexKind

VERIFY = "verify"
"""Kind of the operation that compares every index with the truth."""
REINDEX = "reindex"


@dataclass(frozen=True, slots=True)
class Mark:
    """An index holds this revision of this memory."""

    memory_id: str
    revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """Living memories that belong into an index of this kind. '' and 0 narrow nothing down."""

    kind: IndexKind
    workspace_id: str = ""
    org: str = ""
    project: str = ""
    since: int = 0
    """Changed then or later, microseconds."""
    until: int = 0
    """Made before then, microseconds."""
    stale: bool = False
    """Only those that the index is not known to hold as they are."""


class Measured(NamedTuple):
    """The size of an extent at a moment."""

    rows: int
    until: int
    """All of them were made before this time, whatever clock told it; microseconds."""


class Listed(NamedTuple):
    """A row, as its event tells it."""

    id: str
    workspace_id: str
    version: int
    revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedRow:
    """A row as one generation of an index should have it."""

    memory_id: str
    revision: int
    updated_at: int
    content_hash: str
    changed_at: int
    """The time at which it last changed, left or fell due."""
    passages: int
    """Entries that it should have: 0 where it has ended, wants none, or its vectors are not there yet."""
    high: int
    """Entries that it ever had, as far as the truth knows."""
    living: bool
    """Whether entries are wanted at all."""
    waiting: bool
    """The vectors of this revision do not exist yet."""
    failed: bool
    """Whether it can't be indexed at this revision, and is left alone until it changes or is replayed."""
    marked: bool
    """Noted as done by the indexer; always so for a generation that does not serve."""


class IndexMarks(Protocol):
    """Marks that indexers write back to the rows."""

    async def mark(self, kind: IndexKind, marks: Sequence[Mark]) -> frozenset[str]:
        """Note that the index holds (or has removed) these revisions, clear its error, and set indexed_at where this
        was the second mark. Returns the ids whose row has moved on: read and project these again."""

    async def record_failure(self, kind: IndexKind, memory_id: str, error: str) -> None:
        """Note on the row why its current revision can't be indexed."""

    async def clear_failures(self, kind: IndexKind, memory_ids: Sequence[str]) -> int:
        """Take such notes back: these are tried again. Returns how many had one."""

    async def count_failed(self, extent: Extent) -> int: ...

    async def failed_of(self, kind: IndexKind, ids: Sequence[str]) -> frozenset[str]:
        """Find those of these memories that could not be indexed as they are."""

    async def any_marked(self, kind: IndexKind) -> bool:
        """Whether an index of this kind was ever noted as holding a living memory."""

    async def forget_marks(self, kind: IndexKind, after: str, until: str) -> int:
        """Take back what was noted of the living among these rows: the index that they stood in is gone. How many."""

    async def lift(self, seen: Mapping[str, int]) -> int:
        """Raise the revision of each row that is not above what was seen of it, and announce it; how many."""

    async def lift_all(self, seen: int, after: str, until: str) -> int:
        """Raise the revision of all these rows that are not above `seen`, unannounced; how many."""

    async def tombstoned(self, ids: Sequence[str]) -> bool:
        """Whether both indexes hold the present revision of these memories, or nothing of them."""


class ExpectedEntries(Protocol):
    """The rows beside an index, walked through in the order of their ids, some at a time."""

    async def walk(self, after: str, limit: int) -> str | None:
        """The id that ends the next `limit` rows behind `after`; None where no row follows."""

    async def bucket_sums(self, generation: Generation, after: str, until: str) -> Mapping[int, Sum]:
        """The expected sums by bucket of the rows behind `after`, up to `until`; no tombstones, no revisions."""

    async def marks(self, generation: Generation, after: str, until: str) -> Sequence[int]:
        """List `ids.mark` of each entry that the indexes should have."""

    async def rows_in(
        self, generation: Generation, after: str, until: str, buckets: Collection[int]
    ) -> Sequence[ExpectedRow]:
        """Rows of these buckets that should have entries, or that are not marked."""

    async def unmarked(self, generation: Generation, after: str, until: str, limit: int) -> Sequence[ExpectedRow]:
        """The first of these rows that are not marked, for a generation that serves; failed ones are left out."""

    async def by_id(self, generation: Generation, ids: Collection[str]) -> Mapping[str, ExpectedRow]:
        """Read these rows; ids without a row are absent."""

    async def count_extent(self, extent: Extent) -> int: ...

    async def measure_extent(self, extent: Extent) -> Measured:
        """Their number and their end: rows stored later end behind it, or may be among them."""

    async def list_extent(self, extent: Extent, after: str, limit: int) -> Sequence[Listed]:
        """The next of them behind this one, each once; '' begins. What is new meanwhile may be among them, unless
        `until` leaves it out."""


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

    async def known(self, hashes: Sequence[str], model: str, states: bytes = b"") -> frozenset[str]:
        """Find the model inputs that already have a vector, and token states of this version where one is given."""

    async def save(
        self,
        vectors: Mapping[str, "array[float]"],
        embedded: Sequence[Embedded],
        model: str,
        *,
        states: Mapping[str, bytes] | None = None,
        replace: bool = False,
    ) -> None:
        """Add vectors by input hash (those already there stay, unless `replace`) with their token states, replace the
        passages of each memory whose row is still at that revision and alive, raise passages_high, announce those
        (`Embedded.bulk`). What was erased meanwhile is purged."""

    async def count_inputs(self, model: str) -> int:
        """The number of model inputs in use whose vectors by this model are known."""

    async def unembedded(self, model: str, until: int, after: str, limit: int) -> Sequence[str]:
        """The next living memories behind the id `after`, in the order of ids, that want vectors, have none by this
        model as they are, and last changed before `until` (microseconds)."""

    async def passages(self, ids: Sequence[str], model: str) -> Mapping[str, PassageSet]:
        """The vectors of these memories; absent where none were made."""

    async def states(self, ids: Sequence[str], model: str) -> Mapping[str, Sequence[bytes]]:
        """The token states of these memories' passages, in no order; absent where none were made."""

    async def drop_embeddings(self, inputs: Sequence[str]) -> int:
        """Remove the vectors of these model inputs that no passage uses, in small transactions, and with them those
        that waiting purges name; returns how many."""
