"""Parts of a reindex that brings in another embedding model."""

from collections.abc import Sequence

from openbrain.ports.store.generations import Generation
from openbrain.ports.store.store import Store

MODEL = "model"
"""Member of a request: the key of the model that the vectors are made by, where it is to be another one."""
ON_THEIR_WAY = 256
"""Entries that may always be on their way: live memories are announced for the new model meanwhile."""
MOST_LACKING = 10_000
"""Memories without vectors that one comparison counts."""
PAGE = 1000


async def lacking_vectors(store: Store, generation: Generation, until: int, *, again: bool) -> Sequence[str]:
    """Memories that the new model has made no vectors of and that last changed before `until`: no comparison expects
    them in the index. The first of them, where there are many; announced `again` where that is asked for."""
    ids: list[str] = []
    while some := await store.vectors.unembedded(generation.model, until, ids[-1] if ids else "", PAGE):
        ids += some
        if again:
            await store.outbox.announce_again(some, generation.name)
        if not again or len(ids) >= MOST_LACKING:
            break
    return ids
