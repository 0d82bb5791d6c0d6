"""Linked memories of one memory."""

from openbrain.contract.brain.memories import Related, RelatedQuery
from openbrain.domain.access.permissions import Permission
from openbrain_api.http import parsing
from openbrain_api.http.response import Response, respond
from openbrain_api.http.route import Call, Nothing, Route
from openbrain_api.memories.chains import visible_memory
from openbrain_api.memories.related import read_related
from openbrain_api.memories.rendering import hit_json, memories_json


@Route("GET", "/v1/brain/memories/{id}/related", permission=Permission.BRAIN_READ, response=Related, problems=(404,))
async def related(call: Call[Nothing, RelatedQuery]) -> Response:
    """List the memories linked to one: similar, of its session, with the same name, or of its chain."""
    memory_id, now, store = parsing.id_in(call.path, "memory"), call.api.clock.now(), call.api.store
    viewer = await call.viewer(call.query.session_id)
    row = parsing.found(await visible_memory(memory_id, viewer, store.memories), "memory")
    by_kind = await read_related(
        row, viewer, call.query.limit, memories=store.memories, recaller=call.api.recaller, now=now
    )
    every = [*(hit.memory for hit in by_kind.near), *by_kind.session, *by_kind.named]
    shown = await memories_json(every, now, call.api.chains, viewer)
    content = {
        "id": memory_id,
        "nearest": [hit_json(hit, shown) for hit in by_kind.near],
        "session": [shown[row.id] for row in by_kind.session],
        "named": [shown[row.id] for row in by_kind.named],
        "chain": {"parents": by_kind.chain.parents, "children": by_kind.chain.children},
        "degraded": by_kind.degraded,
    }
    return respond(content)
