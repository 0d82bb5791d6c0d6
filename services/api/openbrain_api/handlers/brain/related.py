"""Linked memories of one memory."""

from collections.abc import Mapping, Sequence

from openbrain.contract.brain.memories import Related, RelatedQuery
from openbrain.domain.access.permissions import Permission
from openbrain.domain.errors import NotFound
from openbrain.domain.memory import Memory
from openbrain_api.http import parsing
from openbrain_api.http.response import Response, respond
from openbrain_api.http.route import Call, Nothing, Route
from openbrain_api.memories.chains import NOTHING, Behind, may_see
from openbrain_api.memories.related import read_related
from openbrain_api.memories.rendering import Json, memory_json
from openbrain_api.recall.order import RankedMemory


@Route("GET", "/v1/brain/memories/{id}/related", permission=Permission.BRAIN_READ, response=Related, problems=(404,))
async def related(call: Call[Nothing, RelatedQuery]) -> Response:
    """List the memories that are near one, of its session, of the same name, or of its chain."""
    memory_id, now, store = parsing.id_in(call.path, "memory"), call.api.clock.now(), call.api.store
    viewer = await call.viewer(call.query.session_id)
    row = (await store.memories.rows((memory_id,))).get(memory_id)
    if row is None or not may_see(viewer, row):
        raise NotFound("no memory with this id")
    by_kind = await read_related(
        row, viewer, call.query.limit, memories=store.memories, recaller=call.api.recaller, now=now
    )
    every = [*(hit.memory for hit in by_kind.near), *by_kind.session, *by_kind.named]
    behind = await call.api.chains.behind(every, viewer)
    content = {
        "id": memory_id,
        "nearest": [_near(hit, now, behind) for hit in by_kind.near],
        "session": _shown(by_kind.session, now, behind),
        "named": _shown(by_kind.named, now, behind),
        "chain": {"parents": by_kind.chain.parents, "children": by_kind.chain.children},
        "degraded": by_kind.degraded,
    }
    return respond(content, content)


def _near(hit: RankedMemory, now: int, behind: Mapping[str, Behind]) -> Json:
    shown = memory_json(hit.memory, now, behind.get(hit.memory.id, NOTHING), round(hit.score, 4))
    return {**shown, "similarity": None if hit.similarity is None else round(hit.similarity, 4)}


def _shown(rows: Sequence[Memory], now: int, behind: Mapping[str, Behind]) -> list[Json]:
    return [memory_json(row, now, behind.get(row.id, NOTHING)) for row in rows]
