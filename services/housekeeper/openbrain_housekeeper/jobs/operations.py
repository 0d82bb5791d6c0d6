"""Works on operations in turn: steps of one, then of the one that has waited longest.

A step may be repeated: whoever takes over an operation repeats the steps that a killed process did not record.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace

import structlog

from openbrain.domain.errors import TryLater, error_text
from openbrain.domain.tasks import cancel
from openbrain.ports.store.operations import Operation, Operations, OperationStatus, Progress

Step = Callable[[Operation], Awaitable[Progress]]
"""Does a bounded piece of an operation and returns the progress. After `TryLater` it is tried again later; any other
error ends the operation as failed, unless its kind is `lasting`."""

HOLD_S = 15.0
"""Time after which another worker takes over the operation of a dead one."""
PACE_S = 0.5
"""Interval at which the progress of small steps is saved."""
WAITS_FOR = "waits_for"
"""Key in the result: why nothing can be done now."""
CleanUp = Callable[[Operation], Awaitable[None]]
"""Removes what a failed or cancelled operation left behind. After `TryLater` it is tried again."""
_log = structlog.get_logger(__name__)


class Worker:
    """Works on operations as one holder. `lasting`: kinds that are retried after every error. `clean_up`: by kind,
    called for failed and cancelled operations."""

    def __init__(
        self,
        operations: Operations,
        kinds: Mapping[str, Step],
        holder: str,
        *,
        lasting: Collection[str] = (),
        clean_up: Mapping[str, CleanUp] | None = None,
        hold_s: float = HOLD_S,
        pace_s: float = PACE_S,
    ) -> None:
        self._operations, self._kinds, self._holder, self._lasting = operations, kinds, holder, lasting
        self._clean_up = clean_up or {}
        self._hold_s, self._pace_s = hold_s, pace_s

    async def round(self) -> int:
        """Work on one operation for a while. Return 1 if it made progress, 0 if there is nothing to do now."""
        held = await self._operations.hold_operation(self._holder, self._hold_s, self._kinds.keys())
        if held is None:
            return 0
        if held.cancel_requested:
            return await self._give_up(held, OperationStatus.CANCELLED)
        async with self._keeping(held) as lost:
            return await self._work(held, lost)

    async def _work(self, held: Operation, lost: asyncio.Event) -> int:
        progress, failure = await self._steps(held, lost)
        if failure is not None:
            # The cleanup needs what the earlier steps of this round recorded, as the name of a new index.
            reached = replace(held, done=progress.done, total=progress.total, result=progress.result)
            return await self._give_up(reached, OperationStatus.FAILED, error_text(failure))
        after = await self._operations.advance_operation(held.id, self._holder, progress)
        if after is not None and after.status.ended:
            _log.info("operation.done", id=held.id, kind=held.kind, done=after.done)
        return 0 if progress.waits else 1

    async def _steps(self, held: Operation, lost: asyncio.Event) -> tuple[Progress, Exception | None]:
        """Return the progress, and the error that ends the operation, if any."""
        step, until = self._kinds[held.kind], time.monotonic() + self._pace_s
        held = replace(held, result={name: result for name, result in held.result.items() if name != WAITS_FOR})
        while True:
            try:
                progress = await step(held)
            except Exception as error:  # noqa: BLE001 - it ends this operation, and no other
                if not isinstance(error, TryLater) and held.kind not in self._lasting:
                    return Progress(done=held.done, total=held.total, result=held.result), error
                why = error_text(error)
                _log.info("operation.waits", id=held.id, kind=held.kind, message=why)
                result = {**held.result, WAITS_FOR: why}
                return Progress(done=held.done, total=held.total, result=result, waits=True), None
            if progress.finished or progress.waits or lost.is_set() or time.monotonic() >= until:
                return progress, None
            held = replace(held, done=progress.done, total=progress.total, result=progress.result)

    @asynccontextmanager
    async def _keeping(self, held: Operation) -> AsyncIterator[asyncio.Event]:
        """Renew the hold while steps run. The yielded event is set when the hold is lost."""
        lost = asyncio.Event()

        async def keep() -> None:
            while not lost.is_set():
                await asyncio.sleep(self._hold_s / 3)
                try:
                    if not await self._operations.keep_operation(held.id, self._holder, self._hold_s):
                        lost.set()
                except TryLater:
                    continue
                except Exception as error:  # noqa: BLE001 - whatever a database says, the next attempt may succeed
                    _log.warning("operation.hold_not_renewed", id=held.id, kind=held.kind, message=error_text(error))

        task = asyncio.create_task(keep(), name=f"keep {held.id}")
        try:
            yield lost
        finally:
            await cancel(task)

    async def _give_up(self, held: Operation, status: OperationStatus, error: str = "") -> int:
        clean_up = self._clean_up.get(held.kind)
        try:
            if clean_up is not None:
                await clean_up(held)
        except TryLater as reason:
            result = {**held.result, WAITS_FOR: f"{error or status.value}; {reason}"}
            waiting = Progress(done=held.done, total=held.total, result=result, waits=True)
            await self._operations.advance_operation(held.id, self._holder, waiting)
            return 0
        await self._operations.end_operation(held.id, self._holder, status, error)
        if status is OperationStatus.FAILED:
            _log.warning("operation.failed", id=held.id, kind=held.kind, message=error)
        else:
            _log.info("operation.cancelled", id=held.id, kind=held.kind)
        return 1
