"""The request of a reindex, and the events that it announces."""

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
"""Key in the request: the key of the new embedding model, if the model changes."""
ON_THEIR_WAY = 256
"""Unread entries that do not delay the comparison: live memories are announced for the new model all the time."""
MOST_LACKING = 10_000
"""Limit at which a comparison stops counting memories without vectors."""
PAGE = 1000


def generation_of(operation: Operation) -> Generation:
    """The generation that the operation builds."""
    fields = operation.result["generation"]
    return Generation(kind=IndexKind(operation.request["index"]), status=GenerationStatus.BUILDING, **fields)


def extent_of(operation: Operation) -> Extent:
    """The rows to write again: those that existed at the start. Later ones are written by their own events."""
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
    """A `memory.reindex` event about a row, for one generation or (None) all."""
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
    """List memories without vectors of the new model that last changed before `until`; no comparison expects them in
    the index. With `again`, announce them again, until about `MOST_LACKING`; otherwise return one page at most."""
    ids: list[str] = []
    while some := await store.vectors.unembedded(generation.model, until, ids[-1] if ids else "", PAGE):
        ids += some
        if again:
            await store.outbox.announce_again(some, generation.name)
        if not again or len(ids) >= MOST_LACKING:
            break
    return ids
