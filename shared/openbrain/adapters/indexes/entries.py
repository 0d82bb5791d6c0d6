"""Entries as every index takes them: the highest revision of each, vectors that can be compared; and grouping of the
passages found."""

import math
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from itertools import islice, starmap
from typing import TypeVar

import numpy as np

from openbrain.domain.errors import Invalid, SetupError
from openbrain.ports.index import Hit, TextEntry, Tombstone, VectorEntry

MOST = 10_000
"""Passages that an index is asked for at most."""
_LONG = 2.0**62
Entry = TypeVar("Entry", bound=TextEntry | VectorEntry | Tombstone)


def highest_per_id(entries: Iterable[Entry]) -> dict[str, Entry]:
    """Each id once, with its highest revision; of equal ones the later."""
    highest: dict[str, Entry] = {}
    for entry in entries:
        current = highest.get(entry.id)
        if current is None or entry.revision >= current.revision:
            highest[entry.id] = entry
    return highest


def writable(
    entries: Iterable[VectorEntry | Tombstone], dimensions: int
) -> tuple[list[VectorEntry | Tombstone], dict[str, Exception]]:
    """Each id once with its highest revision, lowest revisions first; and those whose vector can't be compared."""
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
    # NaN and infinity come through a product, so that one look is enough.
    if not 0 < float(np.vdot(numbers, numbers)) < math.inf:
        return Invalid("vector", "must hold finite numbers that are not all zero")
    return None


def same_dimensions(wanted: int, existing: int, name: str) -> None:
    """`SetupError` with both numbers where a model doesn't fit an index."""
    if wanted != existing:
        raise SetupError(
            f"the vector index {name} holds vectors of {existing} numbers, the embedding model gives {wanted}: "
            "set the model it was made with, or reindex into a new generation"
        )


Passages = Sequence[tuple[str, float]]
"""(memory id, score), best first."""
Ask = Callable[[Mapping[int, int]], Awaitable[Sequence[Passages]]]
"""Place of a search -> how many passages it wants; answered in the same order."""


async def best_passages(ask: Ask, limits: Sequence[int]) -> list[list[Hit]]:
    """For each of several searches its `limits` best memories, each with its best passage. `ask` is asked for more
    where the memories of the passages are too few."""
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
    """A bound that every engine compares in the same way: within a long, and whole for the fields that are (for
    them the next whole number says the same, and engines cut fractions off)."""
    within = max(-_LONG, min(_LONG, bound))
    return within if field == "confidence" else float(math.ceil(within))
