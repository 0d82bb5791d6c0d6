"""Thoughts: turns of conversations, each stored once, found again by meaning, order and metadata."""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from openbrain.contract.thoughts import (
    BatchThoughtBody,
    EndThoughtQuery,
    EndThoughtsQuery,
    ThoughtAnswer,
    ThoughtBatchBody,
    ThoughtBatchStored,
    ThoughtBody,
    ThoughtEnded,
    ThoughtList,
    ThoughtPatchBody,
    ThoughtQuery,
    ThoughtSearchBody,
    ThoughtsEnded,
    ThoughtsQuery,
    ThoughtStats,
    ThoughtStored,
)
from openbrain.domain import limits
from openbrain.domain.access.permissions import Permission
from openbrain.domain.access.visibility import Viewer, visible
from openbrain.domain.errors import Invalid, OpenBrainError
from openbrain.domain.memory import Memory
from openbrain.ports.store.writes import Outcome, Status, Write
from openbrain.usecases import stored_criteria
from openbrain.usecases.remember import Change, prepare_edit
from openbrain_api.handlers.admin.operations import awaited
from openbrain_api.handlers.brain.forgetting import start_forgetting
from openbrain_api.http import parsing
from openbrain_api.http.response import Response, plain, problem_fields, to_json
from openbrain_api.http.route import Call, Nothing, Route
from openbrain_api.memories.chains import require_visible
from openbrain_api.memories.thoughts import (
    in_order,
    parts_of,
    session_of,
    shown_thought,
    thought,
    thought_criteria,
    thought_writes,
)
from openbrain_api.recall.comparing.similarity import Precision
from openbrain_api.recall.order import RankedMemory
from openbrain_api.recall.question import Question

SOURCES = 100


@Route(
    "POST",
    "/v1/thoughts",
    permission=Permission.BRAIN_WRITE,
    response=ThoughtStored,
    statuses=(200, 201),
    problems=(409,),
    keyed=True,
    body_bytes=4 * limits.ONE_BODY_BYTES,
    gated=False,
    stores=True,
)
async def add_thought(call: Call[ThoughtBody, Nothing]) -> Response:
    """Store one thought verbatim.

    If the turn was already stored, that one is returned.
    """
    writes = thought_writes(call, call.body, parsing.idempotency_key(call.headers))
    outcomes = await _stored(call, writes)
    first, now = outcomes[0], call.api.clock.now()
    if first.memory is None:
        raise first.error or AssertionError("a refused write carries its error")
    duplicate = first.status is Status.DUPLICATE
    if duplicate:
        require_visible(writes[0].viewer, first.memory)
    parts = [outcome.memory for outcome in outcomes if outcome.memory is not None]
    if duplicate and first.memory.alive(now):  # it may have been stored with another text
        parts = [*await parts_of(first.memory, writes[0].viewer, call.api.store.memories, now)]
    whole = "".join(part.content for part in parts)
    return plain(thought(parts[0], whole, duplicate=duplicate), status=200 if duplicate else 201)


@Route(
    "POST",
    "/v1/thoughts:batch",
    permission=Permission.BRAIN_WRITE,
    response=ThoughtBatchStored,
    keyed=True,
    cost=10,
    body_bytes=limits.BODY_BYTES,
    gated=False,
    stores=True,
)
async def add_thoughts(call: Call[ThoughtBatchBody, Nothing]) -> Response:
    """Store up to 500 thoughts in order; each succeeds or fails on its own."""
    key = parsing.idempotency_key(call.headers)
    prepared, last = [], 0
    for number, given in enumerate(call.body.thoughts):
        item = _prepared(call, given, parsing.part_key(key, number))
        if not isinstance(item, OpenBrainError):
            item = in_order(item, last)
            last = item[-1].memory.created_at
        prepared.append(item)
        await asyncio.sleep(0)  # a long text takes milliseconds: let other requests run
    short = [item[0] for item in prepared if not isinstance(item, OpenBrainError) and len(item) == 1]
    stored = iter(await call.api.committer.remember_all(short))
    results: list[Mapping[str, object]] = []
    for item in prepared:
        if isinstance(item, OpenBrainError):
            results.append({"status": Status.REFUSED, **problem_fields(item)})
        else:
            results.append(_item([next(stored)] if len(item) == 1 else await _stored(call, item)))
    return plain({"results": results, "count": sum(result["status"] is not Status.REFUSED for result in results)})


@Route("POST", "/v1/search", permission=Permission.BRAIN_READ, response=ThoughtList)
async def search_thoughts(call: Call[ThoughtSearchBody, Nothing]) -> Response:
    """Find the thoughts nearest to a question."""
    body, actor = call.body, call.actor.speaking_as(call.body.agent_id)
    question = Question(
        query=body.query,
        top_k=body.limit,
        viewer=await call.viewer(session_of(body.session_id, body.metadata), actor),
        criteria=thought_criteria(body.source, body.metadata, project=body.project),
        precision=Precision.RECALL,
        min_similarity=body.min_similarity,
    )
    (result,) = await call.api.recaller.recall([question])
    return Response(200, to_json([_found(hit) for hit in result.ranked]))


def _found(hit: RankedMemory) -> Mapping[str, object]:
    similarity = None if hit.similarity is None else round(hit.similarity, 4)
    shown = thought(hit.memory, score=round(hit.score, 4), similarity=similarity)
    return {**shown, "folded": hit.folded} if hit.folded else shown


@Route("GET", "/v1/thoughts/recent", permission=Permission.BRAIN_READ, response=ThoughtList)
async def recent_thoughts(call: Call[Nothing, ThoughtsQuery]) -> Response:
    """List the newest thoughts."""
    return await _listed(call)


@Route("GET", "/v1/thoughts", permission=Permission.BRAIN_READ, response=ThoughtList)
async def list_thoughts(call: Call[Nothing, ThoughtsQuery]) -> Response:
    """List thoughts by source and metadata, newest first."""
    return await _listed(call)


@Route("GET", "/v1/thoughts/{id}", permission=Permission.BRAIN_READ, response=ThoughtAnswer, problems=(404,))
async def get_thought(call: Call[Nothing, ThoughtQuery]) -> Response:
    """One thought; one that is stored in parts is joined."""
    parts = await _parts(call, await call.viewer(call.query.session_id))
    return plain(thought(parts[0], "".join(part.content for part in parts)))


@Route(
    "PATCH",
    "/v1/thoughts/{id}",
    permission=Permission.BRAIN_WRITE,
    response=ThoughtAnswer,
    problems=(404, 409),
    gated=False,
    stores=True,
)
async def update_thought(call: Call[ThoughtPatchBody, ThoughtQuery]) -> Response:
    """Change one thought: its content, or all of its metadata."""
    session_id = call.query.session_id or ""
    parts = await _parts(call, call.actor.viewer(session_id))
    if len(parts) > 1:
        raise Invalid("id", f"is a turn that is stored in {len(parts)} parts: delete it, and store it again")
    edit = prepare_edit(
        parts[0].id,
        Change(content=call.body.content, metadata=call.body.metadata),
        actor=call.actor,
        session_id=session_id,
        origin=call.origin(),
        clock=call.api.clock,
        content_policy=call.api.content_policy,
        verbatim=True,
    )
    memory = await call.api.store.writes.update(edit)
    call.api.committer.hint()
    return plain(thought(memory))


@Route(
    "DELETE",
    "/v1/thoughts/{id}",
    permission=Permission.BRAIN_WRITE,
    response=ThoughtEnded,
    problems=(404,),
    stores=True,
)
async def end_thought(call: Call[Nothing, EndThoughtQuery]) -> Response:
    """Delete one thought with all its parts; its history stays unless it is erased.

    One that was deleted before can still be erased.
    """
    viewer, origin, erase = call.actor.viewer(call.query.session_id or ""), call.origin(), call.query.erase
    parts, writes = await _parts(call, viewer, ended=erase), call.api.store.writes
    named = parsing.id_in(call.path, "thought")
    # The named part last: if this fails on the way, a repeated request still finds the others by it.
    for part in sorted(parts, key=lambda part: part.id == named):
        if erase:
            await writes.erase(part.id, viewer, origin, "")
        else:
            await writes.forget(part.id, viewer, origin, "")
    if erase:
        call.api.erasure_watch.clear()
    call.api.committer.hint()
    return plain({"id": parts[0].id, "deleted": True, "erased": erase})


@Route(
    "DELETE",
    "/v1/thoughts",
    permission=Permission.BRAIN_WRITE,
    response=ThoughtsEnded,
    statuses=(200, 202),
    waits=True,
    cost=10,
)
async def end_thoughts(call: Call[Nothing, EndThoughtsQuery]) -> Response:
    """Delete all thoughts of a source, or with given metadata, except those under a legal hold."""
    query, now = call.query, call.api.clock.now()
    viewer = call.actor.viewer(session_of(query.session_id, query.metadata))
    kept = stored_criteria.kept(viewer, thought_criteria(query.source, query.metadata, query.metadata_id))
    living = await call.api.store.writes.measure_living(stored_criteria.condition(kept, now))
    held = {"held": living.held} if living.held else {}
    if not living.free:
        return plain({"deleted": 0, "operation_id": None, **held})
    started = await start_forgetting(call, kept, living, erase=query.erase, reason="")
    _, headers = await awaited(call, started)
    ending = {"deleted": living.free, "operation_id": started.id, **held}
    return Response(202, to_json(ending), headers=headers)


@Route("GET", "/v1/stats", permission=Permission.BRAIN_READ, response=ThoughtStats, cost=5)
async def thought_stats(call: Call[Nothing, ThoughtQuery]) -> Response:
    """The number of thoughts, by source."""
    condition = visible(await call.viewer(call.query.session_id), thought_criteria(), call.api.clock.now())
    memories, writes = call.api.store.memories, call.api.store.writes
    living, embedded, (sources, _) = await asyncio.gather(
        writes.measure_living(condition),
        memories.count_embedded(condition),
        call.api.discovery.counts(("source",), condition, SOURCES),
    )
    by_source = {source.value: source.count for source in sources}
    return plain({"total": living.rows, "embedded": embedded, "by_source": by_source})


async def _listed(call: Call[Nothing, ThoughtsQuery]) -> Response:
    query = call.query
    viewer = await call.viewer(session_of(query.session_id, query.metadata))
    criteria = thought_criteria(query.source, query.metadata, query.metadata_id)
    condition = visible(viewer, criteria, call.api.clock.now())
    rows = await call.api.store.memories.listing(condition, query.limit + 1, parsing.position(query.cursor))
    rows, following = parsing.page_of(rows, query.limit)
    headers = {"x-next-cursor": following} if following else {}
    return Response(200, to_json([thought(row) for row in rows]), headers=headers)


async def _parts(call: Call[Any, Any], viewer: Viewer, *, ended: bool = False) -> Sequence[Memory]:
    thought_id, now = parsing.id_in(call.path, "thought"), call.api.clock.now()
    return await shown_thought(thought_id, viewer, call.api.store.memories, now, ended=ended)


async def _stored(call: Call[Any, Any], writes: Sequence[Write]) -> Sequence[Outcome]:
    if len(writes) == 1:
        return (await call.api.committer.remember(writes[0]),)
    return await call.api.committer.may_wait(partial(call.api.store.writes.remember, writes, whole=True))


def _prepared(call: Call[Any, Any], item: object, key: str) -> Sequence[Write] | OpenBrainError:
    try:
        body = parsing.parse_item(BatchThoughtBody, item)
        return thought_writes(call, body, body.idempotency_key or key)
    except OpenBrainError as error:
        return error


def _item(outcomes: Sequence[Outcome]) -> Mapping[str, object]:
    refused = next((outcome for outcome in outcomes if outcome.memory is None), None)
    first = outcomes[0].memory
    if refused is not None or first is None:
        return {"status": Status.REFUSED, **problem_fields((refused and refused.error) or AssertionError())}
    return {"status": outcomes[0].status, "id": first.id}
