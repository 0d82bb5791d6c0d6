"""Jobs `queued` and `vectors`.

`queued` matches what is still in the database's queue (memories whose event was lost, without vectors, or ended), so
that matching does not depend on Redis. `vectors` embeds standing queries that have no vector, because the model was
unreachable when they were created, or because another model takes over.
"""

from array import array
from collections.abc import Sequence

from openbrain.domain.errors import OpenBrainError, SetupError, TryLater
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
    """Match the next memories that are due. Return their number."""
    due = await store.matches.queued(clock.now(), ROUND)
    if due:
        await match(due, store=store, books=books, now=clock.now(), queued=True)
    return len(due)


async def embed_queries(store: Store, embedders: Embedders, clock: Clock) -> int:
    """Embed queries with the models of all written vector generations. Return the number of vectors. For a query that
    had none before, replay the memories stored since its creation."""
    made = 0
    for generation in await store.generations.written(IndexKind.VECTOR):
        lacking = await store.standing_queries.without_vector(generation.model, ROUND)
        known = await store.standing_queries.query_vectors([item.id for item in lacking])
        if not lacking:
            continue
        embedder = await embedders.for_questions(generation)
        vectors = await _embedded([item.query for item in lacking], embedder, generation.dimensions)
        by_query = {item.id: vector for item, vector in zip(lacking, vectors, strict=True)}
        before = (clock.now() + DAY, LAST_ID)
        missed = [
            Replay(query=query, since=query.created_at, before=before, again=False)
            for query in lacking
            if query.id not in known
        ]
        texts = {item.id: item.query for item in lacking}
        await store.standing_queries.save_query_vectors(generation.model, by_query, missed, texts=texts)
        made += len(by_query)
    return made


async def _embedded(queries: Sequence[str], embedder: Embedder, dimensions: int) -> Sequence["array[float]"]:
    """Embed queries. One that the model refuses, or fails on although it answers, gets a zero vector, which is near
    nothing: it matches by its words."""
    try:
        return await embedder.embed_queries(queries)
    except (TryLater, SetupError):
        raise
    except OpenBrainError:
        if len(queries) == 1:
            return [array("f", bytes(4 * dimensions))]
    half = len(queries) // 2
    parts = [await _embedded(part, embedder, dimensions) for part in (queries[:half], queries[half:])]
    return [*parts[0], *parts[1]]
