"""Index generations of each kind, which one serves, and the processes that write them.

A generation is one index: an Elasticsearch index, a Qdrant collection, a folder. One of each kind serves; others may be
under construction or kept as a fallback. Each writer of a kind writes all its written generations. `IndexWriter` rows
record which generations a writer knows, so a rebuild starts only when every writer knows the new one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

MODEL_CHANGE = "model-change"
"""Kind of the operation that rebuilds the vector index with another model."""


class IndexKind(StrEnum):
    """The two projections."""

    TEXT = "text"
    VECTOR = "vector"


class GenerationStatus(StrEnum):
    """The role of a generation. All but retired ones are written."""

    BUILDING = "building"
    SERVING = "serving"
    KEPT = "kept"
    RETIRED = "retired"


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """One index generation: services and API read the serving one from here, name and model together."""

    kind: IndexKind
    name: str
    model: str
    """`ModelIdentity.key`; '' for text."""
    model_name: str = ""
    """The embedding server's name of the model; '' for text, and for generations made by an older version."""
    dimensions: int
    """0 for text."""
    builder: str
    status: str
    created_at: int = field(default=0, compare=False)
    updated_at: int = field(default=0, compare=False)
    """When its status last changed, microseconds."""
    epoch: int = field(default=0, compare=False)
    """The epoch of its index when it was last seen complete (`index_loss`); 0: never checked."""
    lost_at: int = field(default=0, compare=False)
    """When its index was found missing, recreated or restored, microseconds; 0 once it is filled again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexWriter:
    """A process that writes a kind, and the generations it knows. Valid until its lease expires."""

    consumer: str
    kind: IndexKind
    builder: str
    names: frozenset[str]


class Generations(Protocol):
    """The serving index and those written alongside it."""

    async def serving(self, kind: IndexKind) -> Generation | None: ...

    async def ensure(self, generation: Generation, *, replace_unused: bool = False) -> Generation:
        """Make it the serving generation if none serves. Return the serving one. Safe from several processes at once.

        `replace_unused`: also replace a serving generation of another model, as long as the store holds no memory at
        all. Only for a process that knows that no other process uses the serving one.
        """

    async def generations(self, kind: IndexKind | None = None) -> Sequence[Generation]:
        """Return all generations: the serving one of each kind first, then newest first."""

    async def written(self, kind: IndexKind) -> Sequence[Generation]:
        """Return the serving generation, then those being built or kept, newest first."""

    async def begin(self, generation: Generation) -> Generation:
        """Add a generation in status building; if it is building already, return it. Raise `Conflict` while another of
        its kind is being built, or if the name belongs to one that is not building."""

    async def swap(self, kind: IndexKind, name: str, *, keep: bool = True) -> Generation:
        """Make it the serving generation, and keep (or retire) the previous one, in one transaction. Idempotent. Raise
        `NotFound` for an unknown one, `Conflict` for a retired one, which lacks what was written since."""

    async def retire(self, kind: IndexKind, name: str) -> Generation:
        """Stop writing it. Idempotent. Raise `NotFound` for an unknown generation, `Conflict` for the serving one."""

    async def lost(self, generation: Generation) -> None:
        """Record that the index lost entries, until `completed` is called. Repeated: the first time is kept."""

    async def completed(self, generation: Generation, epoch: int) -> bool:
        """Record that the index is complete, with its epoch. Return False and record nothing if its loss status changed
        since `generation` was read."""

    async def drop(self, kind: IndexKind, name: str) -> None:
        """Remove the row of a retired generation whose index is gone. No error if there is none."""


class IndexWriters(Protocol):
    async def confirm(self, consumer: str, kind: IndexKind, builder: str, seconds: float) -> Sequence[Generation]:
        """Renew this process's lease for `seconds`. Return the written generations, which it is now recorded to
        know."""

    async def withdraw(self, consumer: str, kind: IndexKind) -> None:
        """Record that this process no longer writes the kind."""

    async def writers(self, kind: IndexKind) -> Sequence[IndexWriter]:
        """Return writers whose lease has not expired, by the database's clock."""

    async def purge_writers(self) -> int:
        """Remove those whose lease expired an hour ago: each process has a name of its own. Return how many."""
