"""Recall: one question, or several at once."""

import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import orjson
from pydantic import ValidationError

from openbrain.contract.brain.recall import RecallBatchBody, RecallBody, Recalled, RecalledBatch
from openbrain.domain import limits
from openbrain.domain.errors import OpenBrainError
from openbrain.domain.ids import uuid7
from openbrain.domain.permissions import Permission
from openbrain.domain.visibility import Viewer
from openbrain.ports.memories import RecallRecord
from openbrain_api.chains import NOTHING
from openbrain_api.http import parsing
from openbrain_api.http.response import Response, problem_fields, respond
from openbrain_api.http.route import Call, Nothing, Route
from openbrain_api.recall.order import Found
from openbrain_api.recall.question import KEYWORD_BOOST, Answer, Question
from openbrain_api.rendering import Json, memory_json

Asked = tuple[RecallBody, Question]


@Route("POST", "/v1/brain/recall", permission=Permission.BRAIN_READ, response=Recalled)
async def recall(call: Call[RecallBody, Nothing]) -> Response:
    """Find what bears on a question."""
    (told,) = await _answered(call, ((call.body, _question(call, call.body)),))
    return respond(told, {name: told[name] for name in ("memories", "scores", "count")})


@Route(
    "POST",
    "/v1/brain/recall:batch",
    permission=Permission.BRAIN_READ,
    response=RecalledBatch,
    weigh=lambda body: body.cost,
)
async def recall_batch(call: Call[RecallBatchBody, Nothing]) -> Response:
    """Find what bears on up to 50 questions, each on its own."""
    asked = [_asked(call, item) for item in call.body.queries]
    good = [each for each in asked if not isinstance(each, OpenBrainError)]
    told = iter(await _answered(call, good) if good else ())
    results = [problem_fields(each) if isinstance(each, OpenBrainError) else next(told) for each in asked]
    data = {"results": orjson.Fragment(orjson.dumps(results)), "count": len(good)}
    return respond(data, data)


async def _answered(call: Call[Any, Nothing], asked: Sequence[Asked]) -> list[Json]:
    """`answers.Recalled` of each, recorded; `took_ms` is that of them together."""
    started = time.perf_counter()
    found = await call.api.recaller.recall([question for _, question in asked])
    shown = await _shown(call, found, {question.viewer for _, question in asked})
    told = [_told(body, each, shown) for (body, _), each in zip(asked, found, strict=True)]
    took_ms = round((time.perf_counter() - started) * 1000, 3)
    for (body, _), fields, each in zip(asked, told, found, strict=True):
        fields["took_ms"] = took_ms
        call.api.recorder.add(_record(call, body, fields, each.now))
    return told


async def _shown(call: Call[Any, Any], found: Sequence[Answer], viewers: Collection[Viewer]) -> Mapping[str, Json]:
    """Each memory once, however many answers hold it, as all who ask may see it; its score is still to be told."""
    memories = {each.memory.id: each.memory for answered in found for each in answered.found}
    behind = await call.api.chains.behind(memories.values(), *viewers)
    now = found[0].now
    return {each.id: memory_json(each, now, behind.get(each.id, NOTHING)) for each in memories.values()}


def _told(body: RecallBody, found: Answer, shown: Mapping[str, Json]) -> Json:
    scores = {each.memory.id: round(each.score, 4) for each in found.found}
    told: Json = {
        "memories": _rendered(found.found, shown, scores),
        "scores": scores,
        "count": len(scores),
        "recall_id": uuid7(found.now),
        "degraded": found.degraded,
    }
    if body.explain:
        told["explained"] = found.explained
    return told


def _rendered(found: Sequence[Found], shown: Mapping[str, Json], scores: Mapping[str, float]) -> orjson.Fragment:
    """Made once, for both places of the answer."""
    ids = (each.memory.id for each in found)
    return orjson.Fragment(orjson.dumps([{**shown[memory_id], "score": scores[memory_id]} for memory_id in ids]))


def _record(call: Call[Any, Nothing], body: RecallBody, told: Mapping[str, Any], at: int) -> RecallRecord:
    actor = call.actor.speaking_as(body.agent_id)
    return RecallRecord(
        id=told["recall_id"],
        workspace_id=actor.workspace_id,
        agent_id=actor.agent_id,
        query=body.query if call.api.settings.recall.keep_queries else "",
        results=tuple(told["scores"].items()),
        took_ms=told["took_ms"],
        at=at,
    )


def _asked(call: Call[RecallBatchBody, Nothing], item: object) -> Asked | OpenBrainError:
    try:
        body = RecallBody.model_validate(item)
        return body, _question(call, body)
    except ValidationError as error:
        return parsing.invalid_from(error)
    except OpenBrainError as error:
        return error


def _question(call: Call[Any, Nothing], body: RecallBody) -> Question:
    criteria, actor = body.narrowing(), call.actor.speaking_as(body.agent_id)
    actor.may_ask_for(criteria.org)
    boost = body.boost_keywords
    return Question(
        query=body.query,
        top_k=body.limit or body.top_k or limits.TOP_K_DEFAULT,
        viewer=actor.viewer(body.session_id or ""),
        criteria=criteria,
        keywords=body.keywords,
        boost=boost if isinstance(boost, int | float) else KEYWORD_BOOST,
        boost_words=boost if isinstance(boost, tuple) else (),
        text_weight=body.text_weight,
        explain=body.explain,
    )
