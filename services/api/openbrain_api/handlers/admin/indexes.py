"""The indexes, for operators: list, switch and drop generations, reindex, verify."""

import asyncio
from dataclasses import asdict
from typing import Any

from openbrain.contract.admin.indexes import (
    DropQuery,
    GenerationAnswer,
    GenerationDropped,
    GenerationList,
    GenerationsQuery,
    ReindexBody,
    Reindexed,
    VerifyBody,
)
from openbrain.contract.admin.operations import OperationAnswer
from openbrain.domain.access.permissions import Permission
from openbrain.domain.errors import Conflict, Forbidden, NotFound, TryLater
from openbrain.domain.times import from_datetime, to_datetime
from openbrain.ports.store.generations import Generation, GenerationStatus, IndexKind
from openbrain.ports.store.index_entries import REINDEX, VERIFY, Extent
from openbrain.ports.store.operations import Operation, OperationStatus
from openbrain.usecases.auth import OPERATORS
from openbrain.usecases.indexes.index_writers import LEASE_S, drop_generation
from openbrain_api.handlers.admin.operations import operators_only, planned, shown_operation, start_operation
from openbrain_api.http.response import Response, respond
from openbrain_api.http.route import Call, Nothing, Route

HOW = ("re_embed", "rate", "max_failures")
REBUILDING = frozenset({REINDEX, "model-change"})
"""Kinds of operations that rebuild an index; the second always rebuilds the vector index."""
OPEN = (OperationStatus.QUEUED, OperationStatus.RUNNING)
_PAUSE_S = 0.2


@Route("GET", "/v1/admin/generations", permission=Permission.ADMIN, response=GenerationList)
async def generations(call: Call[Nothing, GenerationsQuery]) -> Response:
    """List the generations of the indexes."""
    operators_only(call, "indexes are shared by all workspaces: this needs")
    shown = tuple(shown_generation(row) for row in await call.api.store.generations.generations(call.query.index))
    return respond(GenerationList(generations=shown, count=len(shown)))


@Route(
    "POST",
    "/v1/admin/generations/{index}/{name}:switch",
    permission=Permission.ADMIN,
    response=GenerationAnswer,
    problems=(404, 409),
)
async def switch(call: Call[Nothing, Nothing]) -> Response:
    """Make a kept generation the serving one.

    The previous one is kept.
    """
    generation = await _named(call)
    if generation.status == GenerationStatus.BUILDING:
        raise Conflict(f"{generation.name} is being built: it will serve by itself when it is complete")
    serving = await call.api.store.generations.serving(generation.kind)
    if serving is not None and serving.builder != generation.builder:
        raise Conflict(f"{generation.name} is of another version and was not kept current: run `openbrain reindex`")
    swapped = await call.api.store.generations.swap(generation.kind, generation.name)
    await call.api.indexes[generation.kind].expose(generation.name)
    return respond(shown_generation(swapped))


@Route(
    "DELETE",
    "/v1/admin/generations/{index}/{name}",
    permission=Permission.ADMIN,
    response=GenerationDropped,
    problems=(404, 409),
)
async def drop(call: Call[Nothing, DropQuery]) -> Response:
    """Remove a generation that does not serve."""
    generation = await _named(call)
    if generation.status == GenerationStatus.SERVING:
        raise Conflict(f"{generation.name} serves: let another serve first")
    if generation.status == GenerationStatus.BUILDING and await running(call, generation.kind):
        raise Conflict(f"{generation.name} is being built: cancel its operation, which removes it")
    if not call.query.dry_run:
        await _dropped(call, generation)
    return respond(GenerationDropped(dry_run=call.query.dry_run, generation=shown_generation(generation)))


@Route(
    "POST",
    "/v1/admin/reindex",
    permission=Permission.ADMIN,
    response=Reindexed,
    statuses=(200, 202),
    problems=(404, 409),
)
async def reindex(call: Call[ReindexBody, Nothing]) -> Response:
    """Rebuild an index while the current one serves, or rewrite entries in place."""
    body, operator = call.body, call.actor.workspace_id == OPERATORS
    own = call.actor.workspace_id
    if not operator and not body.narrowed:
        raise Forbidden(
            f"a rebuild needs an admin key of the workspace {OPERATORS}; use in_place to rewrite your own workspace"
        )
    if not operator and body.workspace_id not in (None, own):
        raise Forbidden(f"memories of another workspace need an admin key of the workspace {OPERATORS}")
    known = await call.api.store.workspaces.workspaces() if body.workspace_id else ()
    if body.workspace_id and body.workspace_id not in {workspace.id for workspace in known}:
        raise NotFound("no workspace with this id")
    extent = Extent(
        kind=body.index,
        workspace_id=(body.workspace_id or "") if operator else own,
        org=body.org or "",
        project=body.project or "",
        since=0 if body.since is None else from_datetime(body.since),
        stale=body.stale,
    )
    serving = await call.api.store.generations.serving(body.index)
    if serving is None:
        raise Conflict(f"there is no {body.index.value} index yet: its indexer makes it when it starts")
    if not body.narrowed and (other := await running(call, body.index)):
        raise Conflict(f"this index is already being rebuilt, by the operation {other.id}")
    total = await call.api.store.expected_entries.count_extent(extent)
    plan = {
        "dry_run": body.dry_run,
        "index": body.index.value,
        "in_place": body.narrowed,
        "total": total,
        "serving": serving.name if operator else "",
    }
    if body.dry_run:
        return planned(plan)
    narrowed = {name: value for name, value in asdict(extent).items() if name != "kind" and value}
    how = {name: value for name in HOW if (value := getattr(body, name))}
    request = {"index": body.index.value, "in_place": body.narrowed, **narrowed, **how}
    operation = shown_operation(await start_operation(call, REINDEX, request, total))
    return respond({**plan, "operation": operation}, status=202)


async def running(call: Call[Any, Any], kind: IndexKind) -> Operation | None:
    """The queued or running operation that rebuilds this index, if there is one."""
    open_ones = await call.api.store.operations.operations(OPERATORS, 100, kinds=REBUILDING, statuses=OPEN)
    return next(
        (
            operation
            for operation in open_ones
            if not operation.request.get("in_place") and operation.request.get("index", IndexKind.VECTOR) == kind
        ),
        None,
    )


async def _dropped(call: Call[Any, Any], generation: Generation) -> None:
    """Drop the generation once nobody writes it, within two lease times: a writer rereads its indexes once a lease."""
    until = asyncio.get_running_loop().time() + 2 * LEASE_S
    while True:
        try:
            await drop_generation(call.api.store, call.api.indexes[generation.kind], generation)
        except TryLater:
            if asyncio.get_running_loop().time() > until:
                raise
            await asyncio.sleep(_PAUSE_S)
        else:
            return


async def _named(call: Call[Any, Any]) -> Generation:
    operators_only(call, "indexes are shared by all workspaces: this needs")
    index, name = call.path["index"], call.path["name"]
    for generation in await call.api.store.generations.generations():
        if (generation.kind, generation.name) == (index, name):
            return generation
    raise NotFound("no generation of this index has this name")


def shown_generation(row: Generation) -> GenerationAnswer:
    """The answer about one generation."""
    return GenerationAnswer.of(
        row,
        index=row.kind,
        model=row.model_name,
        model_identity=row.model,
        updated_at=to_datetime(row.updated_at or row.created_at),
    )


@Route("POST", "/v1/admin/verify", permission=Permission.ADMIN, response=OperationAnswer, statuses=(202,))
async def verify(call: Call[VerifyBody, Nothing]) -> Response:
    """Compare every index with the database, and repair the differences on request."""
    operators_only(call, "indexes are shared by all workspaces: this needs")
    body = call.body
    request = {"full": body.full, "repair": body.repair or body.restored, "restored": body.restored}
    return respond(shown_operation(await start_operation(call, VERIFY, request)), status=202)
