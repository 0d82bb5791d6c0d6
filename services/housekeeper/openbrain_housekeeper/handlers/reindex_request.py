"""The request of a reindex, and its announcements."""

from collections.abc import Sequence

from openbrain.domain.events.envelope import encode
from openbrain.domain.events.streams import REINDEX as STREAM
from openbrain.domain.ids import uuid7
from openbrain.domain.memory import Change
from openbrain.ports.store.generations import Generation, GenerationStatus, IndexKind
from openbrain.ports.store.index_entries import Extent, Listed
from openbrain.ports.store.operations import Operation
from openbrain.ports.store.store import Store

MODEL = "model"
"""Member of a request: the key of the model that makes the vectors, if it changes."""
ON_THEIR_WAY = 256
"""Number of entries that may still wait when the index is compared: live memories keep being announced for the new
model."""
MOST_LACKING = 10_000
"""Maximum number of memories without vectors that one comparison counts, rounded up to whole pages."""
PAGE = 1000


def generation_of(operation: Operation) -> Generation:
    """The generation that the operation builds."""
    fields = operation.result["generation"]
    return Generation(kind=IndexKind(operation.request["index"]), status=GenerationStatus.BUILDING, **fields)


def extent_of(operation: Operation) -> Extent:
    """The rows to write again: those that existed when the operation began; later ones are indexed as live events."""
    request = operation.request
    return Extent(
        kind=IndexKind(request["index"]),
        workspace_id=str(request.get("workspace_id") or ""),
        org=str(request.get("org") or ""),
        project=str(request.get("project") or ""),
        since=int(request.get("since") or 0),
        until=int(operation.result.get("until", 0)),
        stale=bool(request.get("stale")),
    )


def event_about(row: Listed, generation: str | None, now: int, *, re_embed: bool) -> bytes:
    """The event `memory.reindex` about a row, for one generation or all."""
    data = {
        "memory_id": row.id,
        "workspace_id": row.workspace_id,
        "version": row.version,
        "revision": row.revision,
        "change": Change.REINDEX,
        "generation": generation,
        "re_embed": re_embed or None,
    }
    return encode(STREAM.name, data, event_id=uuid7(now), at=now, subject=row.id)


async def lacking_vectors(store: Store, generation: Generation, until: int, *, again: bool) -> Sequence[str]:
    """Memories last changed before `until` that have no vectors by the new model: no comparison expects them in the
    index. Only the first page; with `again`, up to `MOST_LACKING`, and they are announced again."""
    ids: list[str] = []
    while some := await store.vectors.unembedded(generation.model, until, ids[-1] if ids else "", PAGE):
        ids += some
        if again:
            await store.outbox.announce_again(some, generation.name)
        if not again or len(ids) >= MOST_LACKING:
            break
    return ids
