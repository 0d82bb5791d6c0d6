"""recall, list, one memory."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from openbrain import limits
from openbrain.errors import NotFound
from openbrain.ids import uuid7
from openbrain.memory import Memory
from openbrain.ports.recalls import RecallRecord
from openbrain.times import from_datetime
from openbrain.visibility import Criteria, Viewer, matches, visible
from openbrain_api import reading
from openbrain_api.narrowing import ListQuery
from openbrain_api.recall.order import Found
from openbrain_api.recall.question import KEYWORD_BOOST, Question
from openbrain_api.rendering import history_json, memory_json
from openbrain_api.reply import Reply, answer, not_modified
from openbrain_api.requests import MemoryQuery, RecallBody
from openbrain_api.route import Call, Nothing
from openbrain_api.tags import CACHING, tagged

LINEAGE = 100


async def recall(call: Call[RecallBody, Nothing]) -> Reply:
    """Find what bears on a question."""
    started = time.perf_counter()
    result = await call.api.recaller.recall(_question(call))
    memories = await _rendered(call, result.found, result.now)
    scores = {each.memory.id: round(each.score, 4) for each in result.found}
    data = {"memories": memories, "scores": scores, "count": len(scores)}
    recall_id = uuid7(result.now)
    more: dict[str, object] = {"recall_id": recall_id, "degraded": result.degraded}
    if call.body.explain:
        more["explained"] = result.explained
    took_ms = round((time.perf_counter() - started) * 1000, 3)
    call.api.recorder.add(_record(call, recall_id, scores, took_ms, result.now))
    return answer({**data, **more, "took_ms": took_ms}, data)


def _record(
    call: Call[RecallBody, Nothing], recall_id: str, scores: Mapping[str, float], took_ms: float, at: int
) -> RecallRecord:
    actor = call.actor.speaking_as(call.body.agent_id)
    return RecallRecord(
        id=recall_id,
        workspace_id=actor.workspace_id,
        agent_id=actor.agent_id,
        query=call.body.query if call.api.settings.recall.keep_queries else "",
        results=tuple(scores.items()),
        took_ms=took_ms,
        at=at,
    )


async def listing(call: Call[Nothing, ListQuery]) -> Reply:
    """The newest memories."""
    query, now = call.query, call.api.clock.now()
    call.actor.may_ask_for(query.org or "")
    condition = visible(call.actor.viewer(query.session_id or ""), query.criteria(), now)
    rows = await call.api.truth.listing(condition, query.limit, reading.position(query.cursor))
    data = {"memories": await _rendered(call, [Found(row, 0) for row in rows], now, scored=False), "count": len(rows)}
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
        lines = await call.api.truth.history(memory_id)
        ancestry = await call.api.truth.ancestry(memory_id, LINEAGE)
        rows = await call.api.truth.rows([*ancestry.parents, *ancestry.children])
        seen = {each.id for each in rows.values() if _may_see(viewer, each)}
        shown["history"] = [history_json(line) for line in lines]
        shown["lineage"] = {
            "parents": [each for each in ancestry.parents if each in seen],
            "children": [each for each in ancestry.children if each in seen],
        }
    headers = tagged(row, shown, CACHING)
    if reading.holds(call.headers, headers["etag"]):
        return not_modified(headers)
    return answer(shown, shown, headers=headers)


def _may_see(viewer: Viewer, row: Memory) -> bool:
    return matches(visible(viewer, Criteria(), now=0), row)  # at 0 nothing has expired: the ended are shown by id


def _question(call: Call[RecallBody, Nothing]) -> Question:
    body, nested = call.body, call.body.filter
    actor = call.actor.speaking_as(body.agent_id)
    org = body.org or nested.org or ""
    actor.may_ask_for(org)
    confidence = nested.min_confidence if body.min_confidence is None else body.min_confidence
    boost = body.boost_keywords
    return Question(
        query=body.query,
        top_k=body.limit or body.top_k or limits.TOP_K_DEFAULT,
        viewer=actor.viewer(body.session_id or ""),
        criteria=Criteria(
            org=org,
            project=body.project or nested.project or "",
            types=body.type or nested.type,
            scopes=body.include_scopes,
            tags=body.tags or nested.tags,
            agents=nested.agent_id,
            sources=body.source or nested.source,
            min_confidence=confidence,
            since=None if body.since is None else from_datetime(body.since),
            until=None if body.until is None else from_datetime(body.until),
        ),
        keywords=body.keywords,
        boost=boost if isinstance(boost, int | float) else KEYWORD_BOOST,
        boost_words=boost if isinstance(boost, tuple) else (),
        text_weight=body.text_weight,
        explain=body.explain,
    )


async def _rendered(call: Call[Any, Any], found: Sequence[Found], now: int, *, scored: bool = True) -> orjson.Fragment:
    """Made once, for both places of the answer."""
    depths = await call.api.chains.depths(each.memory for each in found)
    return orjson.Fragment(
        orjson.dumps(
            [
                memory_json(each.memory, now, depths.get(each.memory.id, 0), round(each.score, 4) if scored else None)
                for each in found
            ]
        )
    )
