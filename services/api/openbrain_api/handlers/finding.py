"""list, one memory."""

from collections.abc import Sequence

import orjson

from openbrain.domain.errors import NotFound
from openbrain.domain.memory import Memory
from openbrain.domain.visibility import Viewer, visible
from openbrain_api.chains import NOTHING, may_see
from openbrain_api.http import reading
from openbrain_api.http.entity_tags import tagged
from openbrain_api.http.reply import Reply, answer, not_modified
from openbrain_api.http.route import Call, Nothing
from openbrain_api.rendering import history_json, memory_json, named
from openbrain_api.requests.memories import MemoryQuery
from openbrain_api.requests.narrowing import ListQuery

LINEAGE = 100


async def listing(call: Call[Nothing, ListQuery]) -> Reply:
    """The newest memories."""
    query, now = call.query, call.api.clock.now()
    call.actor.may_ask_for(query.org or "")
    viewer = call.actor.viewer(query.session_id or "")
    condition = visible(viewer, query.criteria(), now)
    rows = await call.api.truth.listing(condition, query.limit, reading.position(query.cursor))
    data = {"memories": await _rendered(call, rows, now, viewer), "count": len(rows)}
    last = rows[-1] if len(rows) == query.limit else None
    return answer({**data, "next_cursor": last and f"{last.created_at}.{last.id}"}, data)


async def memory(call: Call[Nothing, MemoryQuery]) -> Reply:
    """One memory, dead or alive."""
    memory_id, now = reading.memory_id(call.path), call.api.clock.now()
    viewer = call.actor.viewer(call.query.session_id or "")
    row = (await call.api.truth.rows((memory_id,))).get(memory_id)
    if row is None or not may_see(viewer, row):
        raise NotFound("no memory with this id")
    behind = await call.api.chains.behind((row,), viewer)
    shown = memory_json(row, now, behind.get(row.id, NOTHING))
    if call.query.history:
        most = call.query.limit
        lines = await call.api.truth.history(memory_id, most + 1, int(call.query.cursor or 0))
        ancestry = await call.api.truth.ancestry(memory_id, LINEAGE)
        rows = await call.api.truth.rows([*{*ancestry.parents, *ancestry.children, *named(lines)}])
        seen = {each.id for each in rows.values() if may_see(viewer, each)}
        shown["history"] = [history_json(line, seen) for line in lines[:most]]
        if len(lines) > most:
            shown["next_cursor"] = str(lines[most - 1].number)
        shown["lineage"] = {
            "parents": [each for each in ancestry.parents if each in seen],
            "children": [each for each in ancestry.children if each in seen],
        }
    headers = tagged(row, shown)
    if held := reading.held(call.headers, headers["etag"]):
        return not_modified({**headers, "etag": held})
    return answer(shown, shown, headers=headers)


async def _rendered(
    call: Call[Nothing, ListQuery], rows: Sequence[Memory], now: int, viewer: Viewer
) -> orjson.Fragment:
    """Made once, for both places of the answer."""
    behind = await call.api.chains.behind(rows, viewer)
    return orjson.Fragment(orjson.dumps([memory_json(each, now, behind.get(each.id, NOTHING)) for each in rows]))
