"""Operation `workspace-delete`: removes all data of a tenant, its own row last."""

from dataclasses import asdict, replace
from typing import Any, Protocol

from openbrain.domain.memory import MICROSECONDS
from openbrain.ports.clock import Clock
from openbrain.ports.store.operations import Operation, OperationStatus, Progress
from openbrain.ports.store.store import Store
from openbrain.ports.store.writes import PURGE
from openbrain.ports.streams import Doomed, Swept
from openbrain.usecases import purge_traces
from openbrain_housekeeper.handlers.purge import purge_after

CHUNK = 200
REACHED = "reached"
"""Member of a result: creation time of the last memory ended so far, from which the next step continues."""
OPEN = frozenset(status for status in OperationStatus if not status.ended)
SETTLE_S = 5.0
"""Seconds after its end in which a process that has just looked up the workspace may still write to it."""


class Streams(Protocol):
    """Access to the streams that `workspace-delete` needs."""

    async def sweep(self, doomed: Doomed) -> Swept: ...

    async def drop(self, workspace_id: str) -> int: ...


class Closing:
    """First blanks and announces the memories, so that they are removed from the indexes; then deletes rows and
    streams, and queues a purge for traces in files."""

    def __init__(self, store: Store, streams: Streams, clock: Clock, settle_s: float = SETTLE_S) -> None:
        self._store, self._streams, self._clock = store, streams, clock
        self._settle = round(settle_s * MICROSECONDS)

    async def __call__(self, operation: Operation) -> Progress:
        """`done` counts memories twice, blanked and removed."""
        workspace_id, result = str(operation.request["workspace"]), dict(operation.result)
        step = Progress(done=operation.done, total=operation.total, result=result)
        if "blanked" not in result:
            return await self._blank(operation, step, workspace_id)
        dropped = await self._store.workspaces.drop_rows(workspace_id, CHUNK)
        done = operation.done + dropped.rows
        step = replace(step, done=done, total=max(operation.total or 0, done + dropped.waiting))
        if dropped.rows:
            return step
        if dropped.waiting:
            # Rows still wait for the indexes, or a memory was written after all: blank that one too.
            return replace(step, waits=True, result={name: item for name, item in result.items() if name != "blanked"})
        return await self._rest(operation, step, workspace_id)

    async def _blank(self, operation: Operation, step: Progress, workspace_id: str) -> Progress:
        result = {name: value for name, value in step.result.items() if name != REACHED}
        since = step.result.get(REACHED)
        ended = await self._store.workspaces.erase_all(workspace_id, CHUNK, since)
        if ended.rows:
            done = step.done + ended.rows
            result[REACHED] = ended.reached
            return replace(step, done=done, total=max(step.total or 0, done), result=result)
        if since is not None:
            # Memories may have been written meanwhile, with any time: go through all once more.
            return replace(step, result=result)
        if self._clock.now() - operation.created_at < self._settle:
            return replace(step, waits=True)
        return replace(step, result={**step.result, "blanked": True})

    async def _rest(self, operation: Operation, step: Progress, workspace_id: str) -> Progress:
        result: dict[str, Any] = dict(step.result)
        if "streams" not in result:
            swept = await self._streams.sweep(purge_traces.of_workspace(workspace_id))
            result["streams"] = {**asdict(swept), "dropped": await self._streams.drop(workspace_id)}
            return replace(step, result=result)
        if await self._store.operations.operations(workspace_id, 1, kinds={PURGE}, statuses=OPEN):
            # Wait for open purges: only they name the traces that earlier erasures left elsewhere.
            return replace(step, waits=True)
        rows = await self._store.workspaces.drop_workspace(workspace_id, operation.id)
        purge = await self._store.operations.start_operation(purge_after(operation))
        result |= {"rows": dict(rows), "purge": purge.id}
        return replace(step, total=step.done, result=result, finished=True)
