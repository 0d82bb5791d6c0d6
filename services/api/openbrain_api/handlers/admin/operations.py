"""Operations: list, watch, cancel."""

import asyncio
import hashlib
from collections.abc import Mapping
from typing import Any

import orjson

from openbrain.contract.admin.operations import OperationAnswer, OperationList, OperationQuery, OperationsQuery
from openbrain.contract.base import WorkspaceQuery
from openbrain.domain.errors import Forbidden, NotFound, TryLater
from openbrain.domain.ids import is_uuid
from openbrain.domain.permissions import Permission
from openbrain.ports.operations import TRACES, Operation
from openbrain.usecases.auth import OPERATORS
from openbrain_api.http import parsing
from openbrain_api.http.parsing import position
from openbrain_api.http.response import Response, answer
from openbrain_api.http.route import Call, Nothing, Route
from openbrain_api.rendering import Json, to_iso

_FIRST_LOOK_S = 0.02
_LONGEST_PAUSE_S = 0.25


@Route("GET", "/v1/admin/operations", permission=Permission.ADMIN, response=OperationList)
async def operations(call: Call[Nothing, OperationsQuery]) -> Response:
    """The workspace's operations, newest first."""
    query = call.query
    found = await call.api.store.operations.operations(
        _workspace(call, query.workspace_id),
        query.limit,
        kinds=query.kind,
        statuses=query.status,
        before=position(query.cursor),
    )
    data = {"operations": [operation_json(each) for each in found], "count": len(found)}
    last = found[-1] if len(found) == query.limit else None
    return answer({**data, "next_cursor": last and f"{last.created_at}.{last.id}"}, data)


@Route("GET", "/v1/admin/operations/{id}", permission=Permission.ADMIN, response=OperationAnswer, problems=(404,))
async def operation(call: Call[Nothing, OperationQuery]) -> Response:
    """One operation; with wait=N as soon as it has changed."""
    workspace_id, operation_id = _workspace(call, call.query.workspace_id), _id(call)
    found = await call.api.store.operations.operation(workspace_id, operation_id)
    if found is None:
        raise _unknown()
    seen = call.query.seen or mark(found)
    shown = operation_json(await watched(call, found, call.query.wait, seen))
    return answer(shown, shown)


@Route(
    "POST",
    "/v1/admin/operations/{id}:cancel",
    permission=Permission.ADMIN,
    response=OperationAnswer,
    problems=(404, 409),
)
async def cancel_operation(call: Call[Nothing, WorkspaceQuery]) -> Response:
    """Cancel an operation.

    What it has done by then stays done.
    """
    found = await call.api.store.operations.cancel_operation(_workspace(call, call.query.workspace_id), _id(call))
    if found is None:
        raise _unknown()
    shown = operation_json(found)
    return answer(shown, shown)


async def accepted(call: Call[Any, Any], told: Mapping[str, object], operation: Operation) -> Response:
    """202 with the operation; where the caller prefers to wait, as it is once it has ended."""
    after, headers = await awaited(call, operation)
    whole = {**told, "operation": operation_json(after or operation)}
    return answer(whole, whole, status=202, headers=headers)


async def awaited(call: Call[Any, Any], operation: Operation | None) -> tuple[Operation | None, Mapping[str, str]]:
    """The operation, and the headers that tell of the wait, where the caller prefers to wait for its end."""
    seconds = parsing.wait_seconds(call.headers)
    if seconds is None or operation is None:
        return operation, {}
    return await watched(call, operation, seconds, None), {"preference-applied": f"wait={seconds}"}


async def watched(call: Call[Any, Any], found: Operation, seconds: float, seen: str | None) -> Operation:
    """The operation once it differs from what was `seen` (None: once it has ended), or as it is after `seconds`."""
    loop = asyncio.get_running_loop()
    deadline, pause = loop.time() + seconds, _FIRST_LOOK_S
    while not found.status.ended and seen in (None, mark(found)):
        left = deadline - loop.time()
        if left <= 0:
            break
        await asyncio.sleep(min(pause, left))
        pause = min(pause * 1.5, _LONGEST_PAUSE_S)
        try:
            found = await call.api.store.operations.operation(found.workspace_id, found.id) or found
        except TryLater:
            continue
    return found


def mark(found: Operation) -> str:
    """The same for two states that a watcher would not tell apart."""
    state = (found.status, found.done, found.total, found.result, found.error, found.cancel_requested)
    return hashlib.blake2b(orjson.dumps(state), digest_size=8).hexdigest()


def operation_json(found: Operation) -> Json:
    """`OperationAnswer`."""
    return {
        "id": found.id,
        "kind": found.kind,
        "status": found.status,
        "actor": found.actor,
        "request": {name: value for name, value in found.request.items() if name != TRACES},
        "done": found.done,
        "total": found.total,
        "result": found.result,
        "error": found.error or None,
        "cancel_requested": found.cancel_requested,
        "created_at": to_iso(found.created_at),
        "updated_at": to_iso(found.updated_at),
        "finished_at": None if found.finished_at is None else to_iso(found.finished_at),
        "mark": mark(found),
    }


def _id(call: Call[Any, Any]) -> str:
    given = call.path["id"].lower()
    if not is_uuid(given):
        raise _unknown()
    return given


def _unknown() -> NotFound:
    return NotFound("no operation with this id")


def _workspace(call: Call[Any, Any], named: str | None) -> str:
    own = call.actor.workspace_id
    if named and own not in (named, OPERATORS):
        raise Forbidden(f"operations of another workspace need an admin key of the workspace {OPERATORS}")
    return named or own
