"""Forget or erase one memory, or all memories that a filter matches."""

from collections.abc import Mapping
from typing import Any

from openbrain.contract.brain.memories import BulkBody, BulkEnded, Ended, EndQuery, ForgetBody, ForgetQuery, Forgotten
from openbrain.domain.access.permissions import Permission
from openbrain.ports.store.operations import TRACES, Operation
from openbrain.ports.store.writes import FORGET, Bulk, Living
from openbrain.usecases import stored_criteria
from openbrain.usecases.content.admission import texts_of
from openbrain_api.handlers.admin.operations import accepted, awaited, planned, start_operation
from openbrain_api.handlers.brain.memories import changed, shown_memory
from openbrain_api.http import parsing
from openbrain_api.http.response import Response, respond
from openbrain_api.http.route import Call, Nothing, Route
from openbrain_api.memories.rendering import tagged


@Route(
    "DELETE",
    "/v1/brain/forget/{id}",
    permission=Permission.BRAIN_WRITE,
    response=Forgotten,
    problems=(404, 409),
    waits=True,
    matched=True,
    stores=True,
)
async def forget(call: Call[ForgetBody, ForgetQuery]) -> Response:
    """Forget one memory; its history stays.

    A repeated request gets the same answer.
    """
    memory = await call.api.store.writes.forget(
        parsing.id_in(call.path, "memory"),
        call.actor.viewer(call.query.session_id or ""),
        call.origin(),
        call.body.reason or call.query.reason or "",
        parsing.expected_versions(call.headers),
    )
    return await changed(call, memory, forgotten=True)


SAMPLE = 20


@Route(
    "DELETE",
    "/v1/brain/memories/{id}",
    permission=Permission.BRAIN_WRITE,
    response=Ended,
    problems=(404, 409),
    waits=True,
    matched=True,
    stores=True,
)
async def end_memory(call: Call[ForgetBody, EndQuery]) -> Response:
    """Forget one memory, or erase it with all its traces.

    A repeated request gets the same answer.
    """
    query = call.query
    store, memory_id = call.api.store, parsing.id_in(call.path, "memory")
    viewer, origin = call.actor.viewer(query.session_id or ""), call.origin()
    note, expected_versions = call.body.reason or query.reason or "", parsing.expected_versions(call.headers)
    if not query.erase:
        memory = await store.writes.forget(memory_id, viewer, origin, note, expected_versions)
        return await changed(call, memory, forgotten=True, erased=False, operation_id=None)
    erased = await store.writes.erase(memory_id, viewer, origin, note, expected_versions)
    call.api.committer.hint()
    call.api.erasure_watch.clear()
    operation, headers = await awaited(call, erased.operation)
    memory = (await store.memories.rows((memory_id,))).get(memory_id, erased.memory) if headers else erased.memory
    shown = await shown_memory(call, memory, viewer)
    content = {**shown, "forgotten": True, "erased": True, "operation_id": None if operation is None else operation.id}
    content["merged"] = erased.merged
    return respond(content, headers=tagged(memory, shown, headers))


@Route(
    "POST",
    "/v1/brain/forget",
    permission=Permission.BRAIN_WRITE,
    response=BulkEnded,
    statuses=(200, 202),
    waits=True,
    cost=10,
)
async def forget_matching(call: Call[BulkBody, Nothing]) -> Response:
    """Forget all memories that a filter matches, except those under a legal hold.

    The default is a dry run, which only reports what would be forgotten.
    """
    body, now = call.body, call.api.clock.now()
    call.actor.may_ask_for(body.org or "")
    if body.whole:
        call.actor.require(Permission.ADMIN)
    criteria = stored_criteria.kept(call.actor.viewer(body.session_id or ""), body.criteria(), whole=body.whole)
    condition = stored_criteria.condition(criteria, now)
    living = await call.api.store.writes.measure_living(condition, ended=body.whole)
    # The time of the newest row, not of this clock: a replica whose clock is ahead may have stored counted rows.
    seen = stored_criteria.all_seen(criteria) if body.erase else None
    bulk = Bulk(condition=condition, made_by=living.newest, ended=body.whole, merged=seen)
    merged = await call.api.store.cleansing.merged_beside(bulk)
    party = stored_criteria.erased_party(criteria)
    beside = 0 if party is None else await call.api.store.cleansing.count_beside(call.actor.workspace_id, party)
    plan = {
        "dry_run": body.dry_run,
        "erase": body.erase,
        "count": living.free,
        "held": living.held,
        "sample": await call.api.store.writes.sample_living(bulk, SAMPLE),
        "beside": beside,
        "merged": len(merged),
        "merged_sample": merged[:SAMPLE],
    }
    if body.dry_run or not (living.free or beside):
        return planned(plan)
    reason = body.reason or ""
    operation = await start_forgetting(call, criteria, living, erase=body.erase, reason=reason, merged=body.merged)
    return await accepted(call, plan, operation)


async def start_forgetting(
    call: Call[Any, Any], criteria: Mapping[str, Any], living: Living, *, erase: bool, reason: str, merged: bool = False
) -> Operation:
    """Queue the operation that forgets or erases what these criteria matched."""
    more = {"made_by": living.newest, "erase": erase, "reason": reason, **({"merged": True} if merged else {})}
    # A filter may quote text that must leave no trace, or that the content policy does not store: it is kept apart.
    apart = erase or not call.api.content_policy.of(call.actor.workspace_id).passes(texts_of(criteria))
    request = {TRACES: criteria, **more} if apart else {**criteria, **more}
    if erase:
        call.api.erasure_watch.clear()
    return await start_operation(call, FORGET, request, living.free)
