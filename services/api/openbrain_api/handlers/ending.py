"""What ends for good: a memory and its traces, all that a filter matches, a workspace."""

from collections.abc import Mapping
from typing import Any

from openbrain.domain.errors import Conflict, Forbidden, Invalid
from openbrain.domain.ids import uuid7
from openbrain.ports.erasing import CLOSE, FORGET, Bulk
from openbrain.ports.operations import TRACES, Operation
from openbrain.usecases import stored_criteria
from openbrain.usecases.auth import OPERATORS
from openbrain_api.chains import NOTHING
from openbrain_api.handlers.operations import operation_json, watched
from openbrain_api.handlers.writing import changed, origin_of
from openbrain_api.http import reading
from openbrain_api.http.entity_tags import tagged
from openbrain_api.http.reply import Reply, answer
from openbrain_api.http.route import Call, Nothing
from openbrain_api.rendering import memory_json
from openbrain_api.requests.ending import BulkBody, DeleteWorkspaceQuery, EndQuery
from openbrain_api.requests.memories import ForgetBody

SAMPLE = 20


async def end_memory(call: Call[ForgetBody, EndQuery]) -> Reply:
    """Forget or erase one memory; again gives the same answer."""
    query = call.query
    truth, memory_id = call.api.truth, reading.memory_id(call.path)
    viewer, origin = call.actor.viewer(query.session_id or ""), origin_of(call, call.actor)
    note, editions = call.body.reason or query.reason or "", reading.editions(call.headers)
    if not query.erase:
        memory = await truth.forget(memory_id, viewer, origin, note, editions)
        return await changed(call, memory, forgotten=True, erased=False, operation_id=None)
    erased = await truth.erase(memory_id, viewer, origin, note, editions)
    call.api.committer.hint()
    call.api.recaller.forget_queries()
    operation, headers = await _awaited(call, erased.operation)
    memory = (await truth.rows((memory_id,))).get(memory_id, erased.memory) if headers else erased.memory
    behind = await call.api.chains.behind((memory,), viewer)
    shown = memory_json(memory, call.api.clock.now(), behind.get(memory.id, NOTHING))
    told = {**shown, "forgotten": True, "erased": True, "operation_id": None if operation is None else operation.id}
    return answer(told, told, headers=tagged(memory, shown, headers))


async def forget_matching(call: Call[BulkBody, Nothing]) -> Reply:
    """Forget or erase all that a filter matches; by default only tell what that would be."""
    body, now = call.body, call.api.clock.now()
    call.actor.may_ask_for(body.org or "")
    asked = stored_criteria.kept(call.actor.viewer(body.session_id or ""), body.criteria())
    condition = stored_criteria.condition(asked, now)
    found = await call.api.truth.measure_living(condition)
    # Not now: another replica, whose clock is ahead, may have stored what is seen here.
    bulk = Bulk(condition=condition, made_by=found.newest)
    told = {
        "dry_run": body.dry_run,
        "erase": body.erase,
        "count": found.rows,
        "sample": await call.api.truth.sample_living(bulk, SAMPLE),
    }
    if body.dry_run or not found.rows:
        return answer({**told, "operation": None}, told)
    more = {"made_by": found.newest, "erase": body.erase, "reason": body.reason or ""}
    operation = Operation(
        id=uuid7(now),
        workspace_id=call.actor.workspace_id,
        kind=FORGET,
        actor=call.actor.label,
        # A filter may quote what is to leave no trace.
        request={TRACES: asked, **more} if body.erase else {**asked, **more},
        total=found.rows,
    )
    if body.erase:
        call.api.recaller.forget_queries()
    return await _accepted(call, told, await call.api.truth.start_operation(operation))


async def delete_workspace(call: Call[Nothing, DeleteWorkspaceQuery]) -> Reply:
    """End a tenant: its keys at once, everything that it has soon."""
    if call.actor.workspace_id != OPERATORS:
        raise Forbidden(f"workspaces are deleted with an admin key of the workspace {OPERATORS}")
    workspace_id, now = call.path["id"], call.api.clock.now()
    counts = dict(await call.api.truth.workspace_counts(workspace_id))
    told = {"id": workspace_id, "dry_run": call.query.dry_run, "counts": counts}
    if call.query.dry_run:
        return answer({**told, "operation": None}, told)
    if workspace_id == OPERATORS:
        raise Conflict(f"the workspace {OPERATORS} holds the keys that make all others: it can't be deleted")
    if call.query.confirm != workspace_id:
        raise Invalid("confirm", "must be the workspace's id; dry_run=1 tells what would be deleted")
    operation = Operation(
        id=uuid7(now),
        workspace_id=OPERATORS,
        kind=CLOSE,
        actor=call.actor.label,
        request={"workspace": workspace_id},
        total=2 * counts["memories"],
    )
    queued = await call.api.truth.close_workspace(workspace_id, operation)
    call.api.keyring.look_again()
    return await _accepted(call, told, queued)


async def _accepted(call: Call[Any, Any], told: Mapping[str, object], operation: Operation) -> Reply:
    after, headers = await _awaited(call, operation)
    whole = {**told, "operation": operation_json(after or operation)}
    return answer(whole, whole, status=202, headers=headers)


async def _awaited(call: Call[Any, Any], operation: Operation | None) -> tuple[Operation | None, Mapping[str, str]]:
    """The operation once it has ended, for who prefers to wait."""
    seconds = reading.wait_seconds(call.headers)
    if seconds is None or operation is None:
        return operation, {}
    return await watched(call, operation, seconds, None), {"preference-applied": f"wait={seconds}"}
