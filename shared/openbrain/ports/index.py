"""The two indexes as ports: what they store, how they are written and searched.

The fence: a write is accepted if its revision is not lower than the one stored under the id, whether that is an entry
or a tombstone. A tombstone is also written where no entry exists. So writers need no order and may repeat a write.
"""

from array import array
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from openbrain.domain.access.visibility import AllOf

Failed = Mapping[str, Exception]
"""Entries that could not be written, by id."""


class Fields(NamedTuple):
    """Filterable fields of an entry (names as in `visibility`). Strings absent are ''."""

    workspace_id: str
    org: str
    project: str
    agent_id: str
    session_id: str
    memory_scope: str
    audience: str
    type: str
    tags: tuple[str, ...]
    metadata_pairs: tuple[str, ...]
    source: str
    confidence: float
    occurred_at: int
    expires_at: int
    """Microseconds; `visibility.NEVER` if it does not expire."""
    created_at: int
    """Microseconds. For people who read a server's index directly: no filter uses it."""


class TextEntry(NamedTuple):
    """One memory in the full-text index."""

    id: str
    memory_id: str
    revision: int
    bucket: int
    digest: int
    fields: Fields
    text: str
    metadata: Mapping[str, object]
    passages: tuple[str, ...] = ()
    """Overlapping parts of a long text. The best one gives half of the score in `search`; everything else uses only the
    full text."""
    names: tuple[str, ...] = ()


class VectorEntry(NamedTuple):
    """One passage of a memory in the vector index: no content, a unit vector of 32-bit floats."""

    id: str
    memory_id: str
    revision: int
    bucket: int
    digest: int
    fields: Fields
    vector: "array[float]"


class Tombstone(NamedTuple):
    """Marks a removed entry and rejects late writes of lower revisions. Carries no workspace, text or vector."""

    id: str
    memory_id: str
    revision: int
    bucket: int
    at: int = 0
    """When it replaced an entry that has no row, in microseconds; it is removed once it is old. 0: it stays."""


class Hit(NamedTuple):
    """A found memory (by its best passage) and the index's own score, higher is better."""

    memory_id: str
    score: float


@dataclass(frozen=True, slots=True)
class TextSearch:
    """One of several searches in a batch: the arguments of `TextIndex.search`."""

    query: str
    condition: AllOf
    limit: int


@dataclass(frozen=True, slots=True)
class VectorSearch:
    """One of several searches in a batch: the arguments of `VectorIndex.search`."""

    vector: "array[float]"
    condition: AllOf
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TextQuery:
    """A full-text query. If there are phrases, all must occur and words only add to the score; otherwise any word
    matches. At most QUERY_CHARS in total."""

    words: str = ""
    """Any text; parts that are not words are ignored."""
    phrases: tuple[str, ...] = ()
    """Sequences of adjacent words. A phrase without an indexed word is ignored."""
    fuzzy: bool = False
    """The first FUZZY_WORDS of `words` also match with typos: one in words of 3 to 5 letters, two in longer ones
    (counted on the stem; swapping neighbouring letters is one typo). Phrases never do."""


FUZZY_WORDS = 16


@dataclass(frozen=True, slots=True)
class Place:
    """The end of a page: the last hit, and the number of hits up to it."""

    score: float
    memory_id: str
    rank: int


@dataclass(frozen=True, slots=True)
class Count:
    """The number of entries with a value, and their counts for each value of the next field."""

    value: str
    count: int
    parts: tuple["Count", ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A page of a search: hits by score, then by id, and the total number of matches according to the index."""

    hits: Sequence[Hit]
    total: int
    facets: Mapping[str, Sequence[Count]]


Span = tuple[int, int]
"""Start and end (exclusive) of a range, in code points."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The stored state of an id: for reconciliation, doctor and tests."""

    id: str
    memory_id: str
    revision: int
    bucket: int
    digest: int
    """0 for a tombstone."""
    tombstone: bool


class EntryMarks(NamedTuple):
    """A batch of index entries: `ids.mark` of each living entry, and the tombstones."""

    living: Sequence[int]
    tombstones: Sequence[Standing]


class Sum(NamedTuple):
    """Totals of a bucket, actual or expected: entries, the sum of their digests (None: not computed), tombstones."""

    entries: int = 0
    digests: int | None = 0
    tombstones: int = 0


@dataclass(frozen=True, slots=True)
class Checked:
    """A dependency's self-description: product, version, and problems, if any."""

    product: str
    version: str
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scrubbed:
    """The result of removing deleted text from an engine's files."""

    details: Mapping[str, object]
    parts: tuple[str, ...] = ()
    """Parts of the engine's files that still hold removed entries; empty when done."""
    again: tuple[str, ...] = ()
    """Memories whose living entries share those parts."""


class Accountable(Protocol):
    """An index as seen by reconciliation. All methods raise `TryLater` if the engine can't be reached."""

    async def read(self, name: str, ids: Sequence[str]) -> Mapping[str, Standing]:
        """Return the stored states of these ids; ids that were never written are absent."""

    async def sums(self, name: str, *, digests: bool = True) -> Mapping[int, Sum]:
        """Return the sums by bucket; empty buckets are absent. Without `digests`, a bucket's digest sum is None if
        every entry would have to be read for it."""

    def in_buckets(self, name: str, buckets: Collection[int]) -> AsyncIterator[Sequence[Standing]]:
        """Yield everything in these buckets, including tombstones, in batches, in any order, in one pass over the
        index."""

    def entry_marks(self, name: str) -> AsyncIterator[EntryMarks]:
        """Yield every entry once, in batches, in any order, in one pass over the index."""

    async def highest(self, name: str) -> int:
        """Return the highest revision, including tombstones; 0 if the index is empty."""

    async def drop_tombstones(self, name: str, before: int) -> int:
        """Remove tombstones older than `before`, but never an entry that has replaced one. Return how many."""


class Replaceable(Protocol):
    """Operations on whole generations. Both methods raise `TryLater` if the engine is unavailable, and may be
    repeated."""

    at_once: int
    """The useful number of concurrent writes: more than one if a server does the work while this process waits."""

    async def expose(self, name: str) -> None:
        """Point the alias that programs other than OpenBrain read at this generation, if the engine has aliases."""

    async def drop(self, name: str) -> None:
        """Remove the generation and its contents; no error if it does not exist. Nobody may write it any more."""


class Engine(Protocol):
    """Operations that every engine has."""

    async def scrub(self, name: str, parts: Sequence[str] | None = None) -> Scrubbed:
        """Remove everything deleted so far from the engine's files. If that requires entries to be written again (at
        their revision), the answer lists them: write them, then call again with the `parts` of the first answer."""

    async def check(self) -> Checked: ...

    async def close(self) -> None:
        """Release all resources; written data stays."""


class TextIndex(Accountable, Replaceable, Engine, Protocol):
    """The full-text index. All methods raise `TryLater` if the engine can't be reached."""

    builder: str
    """Version of mapping and analysis; part of every digest."""

    async def prepare(self, name: str) -> None:
        """Create the generation `name` if it is missing. Idempotent; safe from several processes at once."""

    async def write(self, name: str, entries: Sequence[TextEntry | Tombstone], *, visible: bool = True) -> Failed:
        """Write entries through the fence. On return a search finds them. With `visible=False` a search finds them
        later, but they are durable and `read` and `sums` include them. If an id occurs several times, the highest
        revision counts. A write rejected by the fence counts as a success."""

    async def search(self, name: str, query: str, condition: AllOf, limit: int) -> Sequence[Hit]:
        """Return at most `limit` memories, best first, scores > 0. Any text is a query; one without words finds
        nothing."""

    async def search_many(self, name: str, searches: Sequence[TextSearch]) -> Sequence[Sequence[Hit]]:
        """Return the answers of `search`, in order, at a lower cost than separate calls. If one fails, all fail."""

    async def find(
        self,
        name: str,
        query: TextQuery,
        condition: AllOf,
        limit: int,
        after: Place | None = None,
        facets: Sequence[str] = (),
        values: int = 1,
    ) -> Found:
        """Return a page of `limit` hits behind `after`, with the total and, for each of `facets`, the counts of its top
        `values` over all matches. Pages are exact while nothing is written; otherwise hits at an edge may repeat or be
        missed."""

    async def counts(self, name: str, fields: Sequence[str], condition: AllOf, limit: int) -> Sequence[Count]:
        """Count the entries that match the condition by value of the first of `fields`, within those by the next, and
        so on. Each level has its top `limit` values: highest count first, then by value. `fields` are
        KEYWORD_FIELDS."""

    async def named(self, name: str, search: TextSearch) -> Sequence[str]:
        """Return at most `limit` memories, in any order, that match the condition and may have a name that occurs in
        the query: a superset, which `hold_names` narrows down. Of more, those whose texts match the query best."""

    async def hold_names(self, query: str, names: Sequence[Sequence[str]]) -> Sequence[bool]:
        """For each memory's names, tell whether one occurs in the query as a phrase of stems. Words of five letters or
        more may differ by one edit after their first two letters. Needs no server, like `marks`."""

    async def marks(self, query: TextQuery, texts: Sequence[str]) -> Sequence[Sequence[Span]]:
        """Find the words and phrases of the query in each text, in order, without overlaps. The texts come from the
        caller; this reads no index, sends nothing and needs no server."""


class VectorIndex(Accountable, Replaceable, Engine, Protocol):
    """Nearest neighbours by cosine. All methods raise `TryLater` if the engine can't be reached."""

    builder: str

    async def prepare(self, name: str, dimensions: int) -> None:
        """Create the generation `name` if it is missing. Raise `SetupError`, with both numbers, if dimensions
        differ."""

    async def write(self, name: str, entries: Sequence[VectorEntry | Tombstone], *, visible: bool = True) -> Failed:
        """Write like `TextIndex.write`. A vector of the wrong length, or with NaN or infinity, fails alone."""

    async def search(self, name: str, vector: "array[float]", condition: AllOf, limit: int) -> Sequence[Hit]:
        """Return at most `limit` memories, best first, each once with its best passage. The score is the cosine,
        -1..1."""

    async def search_many(
        self, name: str, searches: Sequence[VectorSearch], *, within_s: float | None = None
    ) -> Sequence[Sequence[Hit]]:
        """Return the answers of `search`, in order, at a lower cost than separate calls. If one fails, all fail.
        `within_s`: the caller stops waiting after that time, so a server may give up."""

    async def left_vectors(self, name: str, *, clear: bool = False) -> int:
        """Return the number of tombstones that still have a vector; with `clear`, remove those vectors."""
