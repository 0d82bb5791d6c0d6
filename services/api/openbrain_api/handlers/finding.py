"""list, one memory."""

from collections.abc import Sequence

import orjson

from openbrain.errors import NotFound
from openbrain.memory import Memory
from openbrain.visibility import Criteria, Viewer, matches, visible
from openbrain_api.http import reading
from openbrain_api.http.entity_tags import tagged
from openbrain_api.http.reply import Reply, answer, not_modified
from openbrain_api.http.route import Call, Nothing
from openbrain_api.rendering import history_json, memory_json
from openbrain_api.requests.memories import MemoryQuery
from openbrain_api.requests.narrowing import ListQuery

LINEAGE = 100


async def listing(call: Call[Nothing, ListQuery]) -> Reply:
    """The newest memories."""
    query, now = call.query, call.api.clock.now()
    call.actor.may_ask_for(query.org or "")
    condition = visible(call.actor.viewer(query.session_id or ""), query.criteria(), now)
    rows = await call.api.truth.listing(condition, query.limit, reading.position(query.cursor))
    data = {"memories": await _rendered(call, rows, now), "count": len(rows)}
    last = rows[-1] if len(rows) == query.limit else None
    return answer({**data, "next_cursor": last and f"{last.created_at}.{last.id}"}, data)


async def memory(call: Call[Nothing, MemoryQuery]) -> Reply:
    """One memory, dead or alive."""
    memory_id, now = reading.memory_id(call.path), call.api.clock.now()
    viewer = call.actor.viewer(call.query.session_id or "")
    row = (await call.api.truth.rows((memory_id,))).get(memory_id)
    if row is None or not _may_see(viewer, row):
        raise NotFound("no memory with this id")
    depths = await call.api.chains.depths((row,))
    shown = memory_json(row, now, depths.get(row.id, 0))
    if call.query.history:
        most = call.query.limit
        lines = await call.api.truth.history(memory_id, most + 1, int(call.query.cursor or 0))
        ancestry = await call.api.truth.ancestry(memory_id, LINEAGE)
        rows = await call.api.truth.rows([*ancestry.parents, *ancestry.children])
        seen = {each.id for each in rows.values() if _may_see(viewer, each)}
        shown["history"] = [history_json(line) for line in lines[:most]]
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


def _may_see(viewer: Viewer, row: Memory) -> bool:
    return matches(visible(viewer, Criteria(), now=0), row)  # at 0 nothing has expired: the ended are shown by id


async def _rendered(call: Call[Nothing, ListQuery], rows: Sequence[Memory], now: int) -> orjson.Fragment:
    """Made once, for both places of the answer."""
    depths = await call.api.chains.depths(rows)
    return orjson.Fragment(orjson.dumps([memory_json(each, now, depths.get(each.id, 0)) for each in rows]))
