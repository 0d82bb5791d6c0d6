"""Operation `undo`: revert what another operation archived or rewrote."""

from openbrain.ports.clock import Clock
from openbrain.ports.lifecycle import Action, Lifecycle
from openbrain.ports.store.operations import Operation, Operations, Progress
from openbrain.ports.store.outbox import Outbox
from openbrain_housekeeper.handlers.lifecycle.job import CURSOR, announce_end, overtaken

CHUNK = 50
"""Changes per transaction."""


class Undoing:
    """One transaction per step; the cursor moves past every change that was looked at."""

    def __init__(self, lifecycle: Lifecycle, operations: Operations, outbox: Outbox, clock: Clock) -> None:
        self._lifecycle, self._operations = lifecycle, operations
        self._outbox, self._clock = outbox, clock

    async def __call__(self, operation: Operation) -> Progress:
        of, cursor = str(operation.request["operation"]), operation.result.get(CURSOR)
        after = None if cursor is None else (Action(cursor[0]), str(cursor[1]))
        place = await self._lifecycle.undo(operation, of, CHUNK, after)
        if place is not None:
            done = min(operation.done + CHUNK, operation.total or 0)
            return Progress(done=done, total=operation.total, result={CURSOR: [place[0].value, place[1]]})
        if not await self._operations.runs(operation):
            return overtaken(operation)
        counts = {what.value: number for what, number in (await self._lifecycle.undone(of)).items()}
        await announce_end(self._outbox, operation, counts, self._clock.now())
        done = sum(counts.values())
        return Progress(done=done, total=done, result=counts, finished=True)
