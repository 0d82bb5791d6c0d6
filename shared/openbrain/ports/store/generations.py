"""The indexes of each kind, the one that serves, and the processes that write them.

A generation is one index: an Elasticsearch index, a Qdrant collection, a folder. One of a kind serves; others may be
built beside it or kept for going back. Whoever writes a kind writes all its written generations: `IndexWriter` rows
say who does, and which of them it knows, so that a rebuild begins when every writer knows the new one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

MODEL_CHANGE = "model-change"
"""Kind of the operation that makes the vector index anew by another model."""


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
    """The embedding server's name of it; '' for text, and where an older version made it."""
    dimensions: int
    """0 for text."""
    builder: str
    status: str
    created_at: int = field(default=0, compare=False)
    updated_at: int = field(default=0, compare=False)
    """Since when it has its status, microseconds."""
    epoch: int = field(default=0, compare=False)
    """The epoch of its index when it was last seen whole (`index_loss`); 0: it was not looked at yet."""
    lost_at: int = field(default=0, compare=False)
    """The time at which its index was found missing, made anew or restored, microseconds; 0 once it is filled again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexWriter:
    """A process that writes a kind, and the generations that it knows. It counts until its lease is over."""

    consumer: str
    kind: IndexKind
    builder: str
    names: frozenset[str]


class Generations(Protocol):
    """The index that serves, and those that are written beside it."""

    async def serving(self, kind: IndexKind) -> Generation | None: ...

    async def ensure(self, generation: Generation, *, replace_unused: bool = False) -> Generation:
        """Make it the serving one if none is; returns the serving one. Safe for several processes at once.

        `replace_unused`: also where one of another model serves, as long as the store holds no memory at all. Only for
        a process that knows that no other works with the one that serves.
        """

    async def generations(self, kind: IndexKind | None = None) -> Sequence[Generation]:
        """All of them, the serving one of each kind first, then the newest first."""

    async def written(self, kind: IndexKind) -> Sequence[Generation]:
        """The serving one first, then those that are built and kept, the newest first."""

    async def begin(self, generation: Generation) -> Generation:
        """Add it as building; again: the one that stands. `Conflict` while another of its kind is built, or where the
        name is taken by one that is not building."""

    async def swap(self, kind: IndexKind, name: str, *, keep: bool = True) -> Generation:
        """Let it serve, in one transaction with the one that served, which is kept (or retired); again: the same.
        `NotFound` for an unknown one, `Conflict` for a retired one: what was not written since can't answer."""

    async def retire(self, kind: IndexKind, name: str) -> Generation:
        """Write it no more; again: the same. `NotFound` for an unknown one, `Conflict` for the one that serves."""

    async def lost(self, generation: Generation) -> None:
        """Note that the index lacks what it held, until `completed` is called. Again: as it was first noted."""

    async def completed(self, generation: Generation, epoch: int) -> bool:
        """Note that the index is complete, and its epoch. False, and nothing is noted, where it was lost or found again
        since `generation` was read."""

    async def drop(self, kind: IndexKind, name: str) -> None:
        """Remove the row of a retired one, once its index is gone. Nothing where there is none."""


class IndexWriters(Protocol):
    async def confirm(self, consumer: str, kind: IndexKind, builder: str, seconds: float) -> Sequence[Generation]:
        """The written generations, as of the row that says so: this process knows them, for so long from now."""

    async def withdraw(self, consumer: str, kind: IndexKind) -> None:
        """This process writes the kind no more."""

    async def writers(self, kind: IndexKind) -> Sequence[IndexWriter]:
        """Writers whose lease is not over, by the database's clock."""
