"""Memories with a name in the question: the whole answer when matching by names, else a raised score."""

from collections.abc import Mapping, Sequence

from openbrain.domain.memory import names_of
from openbrain.ports.index import Hit
from openbrain.ports.store.memories import Memories
from openbrain_api.recall.fuse import Scores
from openbrain_api.recall.indexes.index_search import Indexes, IndexQuery

MOST = 500
"""Most candidates whose names begin with a word of the question."""


async def named(
    queries: Mapping[int, IndexQuery], indexes: Indexes, memories: Memories
) -> Mapping[int, Sequence[Hit] | None]:
    """Hits by question, each with the score 1; None if the index did not answer. The names are checked with the
    database's rows, as an index may lag."""
    candidates = await indexes.named(queries, MOST)
    rows = await memories.rows(list({item for ids in candidates.values() for item in ids or ()}))
    hits: dict[int, Sequence[Hit] | None] = {}
    for number, ids in candidates.items():
        if not ids:
            hits[number] = None if ids is None else ()
            continue
        known = [row for item in ids if (row := rows.get(item)) is not None]
        holds = await indexes.hold_names(queries[number].text, [names_of(row) for row in known])
        hits[number] = [Hit(row.id, 1.0) for row, held in zip(known, holds, strict=True) if held]
    return hits


def lifted(scores: Scores, hits: Sequence[Hit] | None, lift: float) -> Scores:
    """Add `lift` to the scores of named memories, even of those that no index search found."""
    return {**scores, **{hit.memory_id: scores.get(hit.memory_id, 0.0) + lift for hit in hits or ()}}
