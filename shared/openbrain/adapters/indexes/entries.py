"""Helpers for all indexes: the highest revision of each entry, checks of vectors, and grouping of found passages by
memory."""

import math
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from itertools import islice, starmap
from typing import TypeVar

import numpy as np

from openbrain.domain.errors import Invalid, SetupError
from openbrain.ports.index import Hit, TextEntry, Tombstone, VectorEntry

MOST = 10_000
"""Maximum number of passages requested from an index."""
_LONG = 2.0**62
Entry = TypeVar("Entry", bound=TextEntry | VectorEntry | Tombstone)


def highest_per_id(entries: Iterable[Entry]) -> dict[str, Entry]:
    """Return each id once, with its highest revision; the later entry if revisions are equal."""
    highest: dict[str, Entry] = {}
    for entry in entries:
        current = highest.get(entry.id)
        if current is None or entry.revision >= current.revision:
            highest[entry.id] = entry
    return highest


def writable(
    entries: Iterable[VectorEntry | Tombstone], dimensions: int
) -> tuple[list[VectorEntry | Tombstone], dict[str, Exception]]:
    """Return each id once with its highest revision, in rising revisions; and the entries with unusable vectors."""
    failed: dict[str, Exception] = {}
    fit: list[VectorEntry | Tombstone] = []
    for entry in highest_per_id(entries).values():
        fault = None if isinstance(entry, Tombstone) else _fault(entry, dimensions)
        if fault is None:
            fit.append(entry)
        else:
            failed[entry.id] = fault
    fit.sort(key=lambda entry: entry.revision)
    return fit, failed


def _fault(entry: VectorEntry, dimensions: int) -> Invalid | None:
    if len(entry.vector) != dimensions:
        return Invalid("vector", f"has {len(entry.vector)} numbers, this index takes {dimensions}: use its model")
    numbers = np.frombuffer(entry.vector, dtype=np.float32)
    # NaN and infinity propagate through the product, so one check is enough.
    if not 0 < float(np.vdot(numbers, numbers)) < math.inf:
        return Invalid("vector", "must hold finite numbers that are not all zero")
    return None


def same_dimensions(wanted: int, existing: int, name: str) -> None:
    """Raise `SetupError` with both numbers if the model does not fit the index."""
    if wanted != existing:
        raise SetupError(
            f"the vector index {name} holds vectors of {existing} numbers, the embedding model gives {wanted}: "
            "set the model it was made with, or reindex into a new generation"
        )


Passages = Sequence[tuple[str, float]]
"""(memory id, score), best first."""
Ask = Callable[[Mapping[int, int]], Awaitable[Sequence[Passages]]]
"""Index of a search -> the number of passages it wants; answered in the same order."""


async def best_passages(ask: Ask, limits: Sequence[int]) -> list[list[Hit]]:
    """Return for each search its `limits` best memories, each with its best passage. `ask` is called again for more
    passages while they belong to too few memories."""
    hits: list[list[Hit]] = [[] for _ in limits]
    wanted = {place: min(MOST, limit + limit // 4) for place, limit in enumerate(limits)}
    while wanted:
        again: dict[int, int] = {}
        for (place, passages), scored in zip(wanted.items(), await ask(wanted), strict=True):
            best: dict[str, float] = {}
            for memory_id, score in scored:
                best.setdefault(memory_id, score)
            if len(best) >= limits[place] or len(scored) < passages or passages == MOST:
                hits[place] = [*starmap(Hit, islice(best.items(), limits[place]))]
            else:
                again[place] = min(MOST, 4 * passages)
        wanted = again
    return hits


def plain_bound(field: str, bound: float) -> float:
    """Return a bound that every engine compares alike: within the range of a long, and rounded up for integer fields
    (the next integer is equivalent, and engines would cut fractions off)."""
    within = max(-_LONG, min(_LONG, bound))
    return within if field == "confidence" else float(math.ceil(within))
