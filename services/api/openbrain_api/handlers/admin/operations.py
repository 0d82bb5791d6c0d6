"""Operations: list, watch, cancel."""

import asyncio
import hashlib
from collections.abc import Mapping
from typing import Any

import orjson

from openbrain.contract.admin.operations import OperationAnswer, OperationList, OperationQuery, OperationsQuery
from openbrain.contract.base import WorkspaceQuery
from openbrain.domain.access.permissions import Permission
from openbrain.domain.errors import Forbidden, TryLater
from openbrain.domain.ids import uuid7
from openbrain.ports.store.operations import TRACES, Operation
from openbrain.usecases.auth import OPERATORS
from openbrain_api.broadcasts.channel import Listener
from openbrain_api.http import parsing
from openbrain_api.http.response import Response, respond, respond_page
from openbrain_api.http.route import Call, Nothing, Route

_FIRST_LOOK_S = 0.02
_LONGEST_PAUSE_S = 0.25


@Route("GET", "/v1/admin/operations", permission=Permission.ADMIN, response=OperationList)
async def operations(call: Call[Nothing, OperationsQuery]) -> Response:
    """List the workspace's operations, newest first."""
    query = call.query
    rows = await call.api.store.operations.operations(
        workspace_of(call, query.workspace_id, "operations"),
        query.limit + 1,
        kinds=query.kind,
        statuses=query.status,
        before=parsing.position(query.cursor),
    )
    rows, following = parsing.page_of(rows, query.limit)
    shown = tuple(shown_operation(row) for row in rows)
    return respond_page(OperationList(operations=shown, count=len(shown), next_cursor=following))


@Route("GET", "/v1/admin/operations/{id}", permission=Permission.ADMIN, response=OperationAnswer, problems=(404,))
async def operation(call: Call[Nothing, OperationQuery]) -> Response:
    """One operation; with wait=N, answer as soon as it has changed."""
    workspace_id = workspace_of(call, call.query.workspace_id, "operations")
    operation_id = parsing.id_in(call.path, "operation")
    operation = parsing.found(await call.api.store.operations.operation(workspace_id, operation_id), "operation")
    seen, listener = call.query.seen or mark(operation), Listener(workspace_id)
    with call.api.listening.listens(call.actor.key_id, listener):
        changed = await watched(call, operation, call.query.wait, seen, listener)
        call.api.listening.require(listener)
    return respond(shown_operation(changed))


@Route(
    "POST",
    "/v1/admin/operations/{id}:cancel",
    permission=Permission.ADMIN,
    response=OperationAnswer,
    problems=(404, 409),
)
async def cancel_operation(call: Call[Nothing, WorkspaceQuery]) -> Response:
    """Cancel an operation.

    What it has already done is kept.
    """
    workspace_id = workspace_of(call, call.query.workspace_id, "operations")
    operation_id = parsing.id_in(call.path, "operation")
    cancelled = await call.api.store.operations.cancel_operation(workspace_id, operation_id)
    return respond(shown_operation(parsing.found(cancelled, "operation")))


def planned(plan: Mapping[str, object]) -> Response:
    """The response of a dry run: the plan of an operation."""
    return respond({**plan, "operation": None}, plan)


def new_operation(call: Call[Any, Any], kind: str, request: Mapping[str, Any], total: int | None = None) -> Operation:
    """Make an operation of the caller's workspace, without queueing it."""
    return Operation(
        id=uuid7(call.api.clock.now()),
        workspace_id=call.actor.workspace_id,
        kind=kind,
        actor=call.actor.label,
        request=request,
        total=total,
    )


async def start_operation(
    call: Call[Any, Any], kind: str, request: Mapping[str, Any], total: int | None = None
) -> Operation:
    """Make and queue an operation."""
    return await call.api.store.operations.start_operation(new_operation(call, kind, request, total))


async def accepted(call: Call[Any, Any], plan: Mapping[str, object], operation: Operation) -> Response:
    """Respond 202 with the operation. If the caller prefers to wait, first wait for its end."""
    after, headers = await awaited(call, operation)
    return respond({**plan, "operation": shown_operation(after or operation)}, status=202, headers=headers)


async def awaited(call: Call[Any, Any], operation: Operation | None) -> tuple[Operation | None, Mapping[str, str]]:
    """Wait for the operation's end if the caller prefers that. Return it, and the headers that confirm the wait."""
    seconds = parsing.wait_seconds(call.headers)
    if seconds is None or operation is None:
        return operation, {}
    return await watched(call, operation, seconds, None), {"preference-applied": f"wait={seconds}"}


async def watched(
    call: Call[Any, Any], operation: Operation, seconds: float, seen: str | None, listener: Listener | None = None
) -> Operation:
    """Return the operation once its mark differs from `seen` (None: once it has ended), after `seconds`, or when the
    listener has ended."""
    loop = asyncio.get_running_loop()
    deadline, pause = loop.time() + seconds, _FIRST_LOOK_S
    while not operation.status.ended and seen in (None, mark(operation)):
        left = deadline - loop.time()
        if left <= 0 or (listener is not None and listener.ended):
            break
        await asyncio.sleep(min(pause, left))
        pause = min(pause * 1.5, _LONGEST_PAUSE_S)
        try:
            operation = await call.api.store.operations.operation(operation.workspace_id, operation.id) or operation
        except TryLater:
            continue
    return operation


def mark(operation: Operation) -> str:
    """A digest of all that a watcher sees of the operation's state."""
    state = (
        *(operation.status, operation.done, operation.total),
        *(operation.result, operation.error, operation.cancel_requested),
    )
    return hashlib.blake2b(orjson.dumps(state), digest_size=8).hexdigest()


def shown_operation(operation: Operation) -> OperationAnswer:
    """The answer about an operation, without criteria that may quote erased text."""
    request = {name: value for name, value in operation.request.items() if name != TRACES}
    return OperationAnswer.of(operation, request=request, mark=mark(operation))


def operators_only(call: Call[Any, Any], need: str) -> None:
    """Raise `Forbidden` for keys of other workspaces; `need` begins the message."""
    if call.actor.workspace_id != OPERATORS:
        raise Forbidden(f"{need} an admin key of the workspace {OPERATORS}")


def workspace_of(call: Call[Any, Any], named: str | None, what: str) -> str:
    """The workspace that a request is about. Only operators may name another than the key's own."""
    own = call.actor.workspace_id
    if named and own not in (named, OPERATORS):
        raise Forbidden(f"{what} of another workspace need an admin key of the workspace {OPERATORS}")
    return named or own
