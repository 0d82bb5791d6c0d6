"""The two indexes, seen from outside: what they hold, how they are written and asked.

The fence: a write is taken when its revision is not lower than what stands under the id, also when that is a
tombstone. A tombstone is written also where nothing stands. Writers need no order and may repeat themselves.
"""

from array import array
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from openbrain.domain.access.visibility import AllOf

Failed = Mapping[str, Exception]
"""Entries that could not be written, by id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
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
    """Microseconds; `visibility.NEVER` where it does not expire."""
    created_at: int
    """Microseconds. For who reads a server's index: no filter asks for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextEntry:
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
    """Overlapping parts of a long text: half of its score in `search` is that of the best of them, all else knows the
    whole alone."""
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorEntry:
    """One passage of a memory in the vector index: no content, a unit vector of 32-bit floats."""

    id: str
    memory_id: str
    revision: int
    bucket: int
    digest: int
    fields: Fields
    vector: "array[float]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tombstone:
    """Stands for a removed entry and refuses late writes of lower revisions. Carries no workspace, text or vector."""

    id: str
    memory_id: str
    revision: int
    bucket: int
    at: int = 0
    """Since when it stands for nothing, in microseconds: an old one is removed. 0: it stays."""


class Hit(NamedTuple):
    """A memory found (the best of its passages) and the index's own score, higher is better."""

    memory_id: str
    score: float


@dataclass(frozen=True, slots=True)
class TextSearch:
    """One search of several at once, as the arguments of `TextIndex.search`."""

    query: str
    condition: AllOf
    limit: int


@dataclass(frozen=True, slots=True)
class VectorSearch:
    """One search of several at once, as the arguments of `VectorIndex.search`."""

    vector: "array[float]"
    condition: AllOf
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TextQuery:
    """A full-text query. With phrases each must occur, and words only add to the score; without, any word.
    At most QUERY_CHARS together."""

    words: str = ""
    """Any text: what is no word in it is passed over."""
    phrases: tuple[str, ...] = ()
    """Words that follow each other. One that holds no indexed word is passed over."""
    fuzzy: bool = False
    """The first FUZZY_WORDS of `words` also match with typos: one in words of 3 to 5 letters, two in longer ones (of
    the stem; a swap of neighbours is one). Phrases never do."""


FUZZY_WORDS = 16


@dataclass(frozen=True, slots=True)
class Place:
    """The end of a page: the last hit, and the number of hits up to it."""

    score: float
    memory_id: str
    rank: int


@dataclass(frozen=True, slots=True)
class Count:
    """The number of entries that hold a value, and among them the numbers for each value of the next field."""

    value: str
    count: int
    parts: tuple["Count", ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A page of a search: hits by score and then by id, and the number of all that match, as the index has them."""

    hits: Sequence[Hit]
    total: int
    facets: Mapping[str, Sequence[Count]]


Span = tuple[int, int]
"""From the first character to the one after the last, in code points."""


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
    """Some entries of an index: `ids.mark` of each that lives, and the tombstones."""

    living: Sequence[int]
    tombstones: Sequence[Standing]


class Sum(NamedTuple):
    """Totals of a bucket, actual or expected: entries, the sum of their digests (None: not added up), tombstones."""

    entries: int = 0
    digests: int | None = 0
    tombstones: int = 0


@dataclass(frozen=True, slots=True)
class Checked:
    """A dependency's answer: product and version, and what is wrong with it, if anything."""

    product: str
    version: str
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scrubbed:
    """The result of removing deleted text from an engine's files."""

    details: Mapping[str, object]
    parts: tuple[str, ...] = ()
    """Parts of its files that still hold removed entries; none: it is done."""
    again: tuple[str, ...] = ()
    """Memories whose living entries share those parts."""


class Accountable(Protocol):
    """An index as reconciliation sees it. All methods raise `TryLater` when the engine can't be reached."""

    async def read(self, name: str, ids: Sequence[str]) -> Mapping[str, Standing]:
        """The stored states of these ids; ids that never were are absent."""

    async def sums(self, name: str, *, digests: bool = True) -> Mapping[int, Sum]:
        """By bucket, absent where nothing is. Without `digests`: None where every entry must be read for them."""

    def in_buckets(self, name: str, buckets: Collection[int]) -> AsyncIterator[Sequence[Standing]]:
        """Everything in these buckets, tombstones too, in any order, some at a time, in one walk through the index."""

    def entry_marks(self, name: str) -> AsyncIterator[EntryMarks]:
        """Every entry once, in any order, some at a time, in one walk through the index."""

    async def highest(self, name: str) -> int:
        """Of all revisions, tombstones' too; 0 where nothing stands."""

    async def drop_tombstones(self, name: str, before: int) -> int:
        """Remove the tombstones that stand since before this time, never what took the place of one; how many."""


class Replaceable(Protocol):
    """Changes of whole generations. Both raise `TryLater` when the engine is away, and may be repeated."""

    at_once: int
    """Writes that are worth having under way together: several where a server works while this process does not."""

    async def expose(self, name: str) -> None:
        """Let the alias that others than OpenBrain read stand for it, where the engine has such a thing."""

    async def drop(self, name: str) -> None:
        """Remove it with all that it holds; nothing where it is not there. Nobody may write it any more."""


class Engine(Protocol):
    """Operations of every engine besides."""

    async def scrub(self, name: str, parts: Sequence[str] | None = None) -> Scrubbed:
        """Let nothing of what was removed by now stay in the engine's files. Where that needs entries to be written
        again (at their revision), says which: write them, then ask again with the `parts` of the first answer."""

    async def check(self) -> Checked: ...

    async def close(self) -> None:
        """Release everything; what was written stays."""


class TextIndex(Accountable, Replaceable, Engine, Protocol):
    """Full text. All methods raise `TryLater` when the engine can't be reached."""

    builder: str
    """Version of mapping and analysis; part of every digest."""

    async def prepare(self, name: str) -> None:
        """Make the generation `name` if it is missing. Idempotent; safe for several processes at once."""

    async def write(self, name: str, entries: Sequence[TextEntry | Tombstone], *, visible: bool = True) -> Failed:
        """Write fenced; on return a search finds what was written (not `visible`: some time later, but `read` and
        `sums` see it, and it stays). Of an id that comes several times the highest revision counts. A write refused by
        the fence is a success."""

    async def search(self, name: str, query: str, condition: AllOf, limit: int) -> Sequence[Hit]:
        """Best first, at most `limit` memories, scores > 0. Any text is a query; one without words finds nothing."""

    async def search_many(self, name: str, searches: Sequence[TextSearch]) -> Sequence[Sequence[Hit]]:
        """The answers of `search`, in order, for less than one by one. Where one fails all do."""

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
        """A page of `limit` from `after` on, with the total and, for each of `facets`, its first `values` counts over
        all that match. Pages are exact while nothing is written; else what lies at an edge may come twice or not."""

    async def counts(self, name: str, fields: Sequence[str], condition: AllOf, limit: int) -> Sequence[Count]:
        """Of the entries within the condition, how many hold each value of the first of `fields`, within those of the
        next, and so on; on each level the first `limit`: most first, then by value. `fields` are KEYWORD_FIELDS."""

    async def named(self, name: str, search: TextSearch) -> Sequence[str]:
        """Memories within the condition of which a name may stand in the query: all of which one does, in any order,
        at most `limit`. `hold_names` says of which."""

    async def hold_names(self, query: str, names: Sequence[Sequence[str]]) -> Sequence[bool]:
        """Of each memory's names, whether one stands in the query as a phrase of stems. One edit is forgiven in words
        of five letters or more, but not in their first two. As with `marks` no server is needed."""

    async def marks(self, query: TextQuery, texts: Sequence[str]) -> Sequence[Sequence[Span]]:
        """Find the words and phrases of the query in each text, in order, none overlapping. The texts are the
        caller's; nothing of the index is read, nothing is sent anywhere, and no server is needed."""


class VectorIndex(Accountable, Replaceable, Engine, Protocol):
    """Nearest neighbours by cosine. All methods raise `TryLater` when the engine can't be reached."""

    builder: str

    async def prepare(self, name: str, dimensions: int) -> None:
        """Make the generation `name` if it is missing; `SetupError` with both numbers where dimensions differ."""

    async def write(self, name: str, entries: Sequence[VectorEntry | Tombstone], *, visible: bool = True) -> Failed:
        """Write like `TextIndex.write`. A vector of wrong length, or with NaN or infinity, fails by itself."""

    async def search(self, name: str, vector: "array[float]", condition: AllOf, limit: int) -> Sequence[Hit]:
        """Best first, at most `limit` memories, each once with its best passage; score is the cosine, -1..1."""

    async def search_many(
        self, name: str, searches: Sequence[VectorSearch], *, within_s: float | None = None
    ) -> Sequence[Sequence[Hit]]:
        """The answers of `search`, in order, for less than one by one. Where one fails all do. `within_s`: after so
        long nobody waits for them, so that a server need not go on."""

    async def left_vectors(self, name: str, *, clear: bool = False) -> int:
        """The number of tombstones that still have a vector; `clear`: remove it from them."""
