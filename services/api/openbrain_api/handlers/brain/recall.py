"""Recall: one question, or several at once."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from openbrain.contract.brain.recall import RecallBatchBody, RecallBody, Recalled, RecalledBatch
from openbrain.domain import limits
from openbrain.domain.access.permissions import Permission
from openbrain.domain.access.visibility import Criteria, visible
from openbrain.domain.errors import OpenBrainError
from openbrain.domain.ids import uuid7
from openbrain.domain.memory import Memory
from openbrain.domain.times import from_datetime
from openbrain.ports.store.memories import RecallRecord
from openbrain_api.http import parsing
from openbrain_api.http.response import Response, problem_fields, respond
from openbrain_api.http.route import Call, Nothing, Route
from openbrain_api.memories.rendering import Json, hit_json, memories_json, to_iso
from openbrain_api.recall.comparing.similarity import Precision
from openbrain_api.recall.hits.around import TURN_CHARS, Around, read_around
from openbrain_api.recall.order import RankedMemory
from openbrain_api.recall.question import KEYWORD_BOOST, Match, Question, RecallResult

Item = tuple[RecallBody, Question]
Answered = tuple[RecallBody, Question, RecallResult]


@Route("POST", "/v1/brain/recall", permission=Permission.BRAIN_READ, response=Recalled)
async def recall(call: Call[RecallBody, Nothing]) -> Response:
    """Find memories relevant to a question."""
    (content,) = await _recalled(call, [(call.body, await _question(call, call.body))])
    if isinstance(content, OpenBrainError):
        raise content
    return respond(content, {name: content[name] for name in ("memories", "scores", "count")})


@Route(
    "POST",
    "/v1/brain/recall:batch",
    permission=Permission.BRAIN_READ,
    response=RecalledBatch,
    weigh=lambda body: body.cost,
)
async def recall_batch(call: Call[RecallBatchBody, Nothing]) -> Response:
    """Find memories relevant to up to 50 questions; each succeeds or fails on its own."""
    items = [await _parsed(call, item) for item in call.body.queries]
    valid = [item for item in items if not isinstance(item, OpenBrainError)]
    recalled = iter(await _recalled(call, valid) if valid else ())
    answers = [item if isinstance(item, OpenBrainError) else next(recalled) for item in items]
    results = [problem_fields(item) if isinstance(item, OpenBrainError) else item for item in answers]
    count = sum(not isinstance(item, OpenBrainError) for item in answers)
    return respond({"results": orjson.Fragment(orjson.dumps(results)), "count": count})


async def _recalled(call: Call[Any, Nothing], items: Sequence[Item]) -> list[Json | OpenBrainError]:
    """Answer and record the questions. Return the members of `Recalled` of each; `took_ms` is the total of all."""
    started = time.perf_counter()
    results = await _found(call, [question for _, question in items])
    answered = [
        (*item, result) for item, result in zip(items, results, strict=True) if isinstance(result, RecallResult)
    ]
    shown = await _shown(call, answered)
    around = await _around(call, answered)
    contents = [
        _content(body, result, shown[question.as_of], beside)
        for (body, question, result), beside in zip(answered, around, strict=True)
    ]
    took_ms = round((time.perf_counter() - started) * 1000, 3)
    for (body, _, result), content in zip(answered, contents, strict=True):
        content["took_ms"] = took_ms
        call.api.recorder.add(await _record(call, body, content, result.now))
    answers = iter(contents)
    return [result if isinstance(result, OpenBrainError) else next(answers) for result in results]


async def _found(call: Call[Any, Any], questions: Sequence[Question]) -> Sequence[RecallResult | OpenBrainError]:
    """Recall current questions together, and each one about the past by itself: it may be refused as too expensive."""
    of_now = [question for question in questions if question.as_of is None]
    recalled = iter(await call.api.recaller.recall(of_now) if of_now else ())
    results: list[RecallResult | OpenBrainError] = []
    for question in questions:
        try:
            past, at = call.api.past_recaller, question.as_of
            results.append(next(recalled) if at is None else await past.recall(question, at))
        except OpenBrainError as error:
            results.append(error)
    return results


async def _shown(call: Call[Any, Any], answered: Sequence[Answered]) -> Mapping[int | None, Mapping[str, Json]]:
    """By time asked about (`as_of`): each memory of the results, rendered once as all viewers may see it, without
    scores."""
    viewers = {question.viewer for _, question, _ in answered}
    shown: dict[int | None, Mapping[str, Json]] = {}
    for at in dict.fromkeys(question.as_of for _, question, _ in answered):
        results = [result for _, question, result in answered if question.as_of == at]
        memories = {hit.memory.id: hit.memory for result in results for hit in result.ranked}
        now = results[0].now if at is None else at
        shown[at] = await memories_json(memories.values(), now, call.api.chains, *viewers)
    return shown


async def _around(call: Call[Any, Any], answered: Sequence[Answered]) -> Sequence[Mapping[str, Sequence[Memory]]]:
    """For each question, the turns around its hits."""
    wanted = [
        Around([hit.memory for hit in result.ranked], body.around, visible(question.viewer, Criteria(), result.now))
        for body, question, result in answered
    ]
    return await read_around(wanted, call.api.store.memories, call.api.clock.now())


def _turn(row: Memory) -> Json:
    return {
        "id": row.id,
        "turn": row.turn,
        "speaker": row.speaker or None,
        "content": row.content[:TURN_CHARS],
        "clipped": len(row.content) > TURN_CHARS,
        "occurred_at": to_iso(row.occurred_at),
    }


def _content(
    body: RecallBody, result: RecallResult, shown: Mapping[str, Json], beside: Mapping[str, Sequence[Memory]]
) -> Json:
    hits = result.ranked if body.order == "relevance" else sorted(result.ranked, key=_when)
    scores = {hit.memory.id: round(hit.score, 4) for hit in hits}
    content: Json = {
        "memories": orjson.Fragment(orjson.dumps([hit_json(hit, shown) for hit in hits])),
        "scores": scores,
        "count": len(scores),
        "folded": {hit.memory.id: hit.folded for hit in result.ranked if hit.folded},
        "nothing_close": result.nothing_close,
        "recall_id": uuid7(result.now),
        "degraded": result.degraded,
    }
    if body.around:
        content["around"] = {hit: [_turn(row) for row in rows] for hit, rows in beside.items()}
    if body.explain:
        content["explained"] = result.explained
        content["times"] = [
            {"words": span.words, "since": to_iso(span.since), "until": to_iso(span.until)} for span in result.times
        ]
    return content


def _when(hit: RankedMemory) -> tuple[int, str]:
    return hit.memory.occurred_at, hit.memory.id


async def _record(call: Call[Any, Nothing], body: RecallBody, content: Mapping[str, Any], at: int) -> RecallRecord:
    actor = call.actor.speaking_as(body.agent_id)
    query = ""
    if call.api.settings.recall.keep_queries:
        await call.api.content_policy.ready()
        admission = call.api.content_policy.of(actor.workspace_id)
        query = admission.admit([("query", body.query)], refusing=False).texts[0]
    return RecallRecord(
        id=content["recall_id"],
        workspace_id=actor.workspace_id,
        agent_id=actor.agent_id,
        query=query,
        results=tuple(content["scores"].items()),
        took_ms=content["took_ms"],
        at=at,
    )


async def _parsed(call: Call[RecallBatchBody, Nothing], item: object) -> Item | OpenBrainError:
    try:
        body = parsing.parse_item(RecallBody, item)
        return body, await _question(call, body)
    except OpenBrainError as error:
        return error


async def _question(call: Call[Any, Nothing], body: RecallBody) -> Question:
    criteria, actor = body.narrowing(), call.actor.speaking_as(body.agent_id)
    actor.may_ask_for(criteria.org)
    boost = body.boost_keywords
    return Question(
        query=body.query,
        top_k=body.limit or body.top_k or limits.TOP_K_DEFAULT,
        viewer=await call.viewer(body.session_id, actor),
        criteria=criteria,
        keywords=body.keywords,
        boost=boost if isinstance(boost, int | float) else KEYWORD_BOOST,
        boost_words=boost if isinstance(boost, tuple) else (),
        match=Match(body.match),
        text_weight=body.text_weight,
        late_weight=body.late_weight,
        neighbours=body.neighbours,
        precision=body.precision and Precision(body.precision),
        min_similarity=body.min_similarity,
        fold=body.fold,
        spread=body.spread,
        time_words=body.time_words,
        asked_at=None if body.asked_at is None else from_datetime(body.asked_at),
        as_of=None if body.as_of is None else from_datetime(body.as_of),
        explain=body.explain,
    )
