"""Jobs `queued` and `vectors`.

`queued` matches the memories still in the database's queue (their event was lost, they have no vectors, or they ended),
so that no match depends on Redis. `vectors` embeds standing queries that lack a vector: those created while the model
was unavailable, and all of them for a new model.
"""

from array import array
from collections.abc import Sequence
from contextlib import suppress

from openbrain.domain.errors import NeverRetry, NotFound
from openbrain.domain.ids import LAST_ID
from openbrain.domain.memory import DAY
from openbrain.ports.clock import Clock
from openbrain.ports.models import Embedder
from openbrain.ports.store.generations import IndexKind
from openbrain.ports.store.store import Store
from openbrain.ports.subscriptions import Replay
from openbrain.usecases.indexes.embedders import Embedders
from openbrain_matcher.handlers.matching import match
from openbrain_matcher.matching.books import Books

ROUND = 100


async def match_queued(store: Store, books: Books, clock: Clock) -> int:
    """Match the next queued memories that are due; their number."""
    due = await store.matches.queued(clock.now(), ROUND)
    if due:
        await match(due, store=store, books=books, now=clock.now(), queued=True)
    return len(due)


async def embed_queries(store: Store, embedders: Embedders, clock: Clock) -> int:
    """Embed queries with the models of all written vector generations; the number of vectors. When a query gets its
    first vector, start a replay of the memories stored since its creation."""
    made = 0
    for generation in await store.generations.written(IndexKind.VECTOR):
        lacking = await store.standing_queries.without_vector(generation.model, ROUND)
        known = await store.standing_queries.query_vectors([item.id for item in lacking])
        if not lacking:
            continue
        embedder = await embedders.for_questions(generation)
        vectors = await _embedded([item.query for item in lacking], embedder, generation.dimensions)
        by_query = {item.id: vector for item, vector in zip(lacking, vectors, strict=True)}
        await store.standing_queries.save_query_vectors(generation.model, by_query)
        made += len(by_query)
        for query in lacking:
            if query.id not in known:
                missed = Replay(query=query, since=query.created_at, before=(clock.now() + DAY, LAST_ID), again=False)
                with suppress(NotFound):  # the query was removed meanwhile
                    await store.replays.start_replay(missed)
    return made


async def _embedded(queries: Sequence[str], embedder: Embedder, dimensions: int) -> Sequence["array[float]"]:
    """Embed queries. One that the model refuses gets a zero vector, which is similar to nothing; it still matches by
    its words."""
    try:
        return await embedder.embed_queries(queries)
    except NeverRetry:
        if len(queries) == 1:
            return [array("f", bytes(4 * dimensions))]
    half = len(queries) // 2
    parts = [await _embedded(part, embedder, dimensions) for part in (queries[:half], queries[half:])]
    return [*parts[0], *parts[1]]
