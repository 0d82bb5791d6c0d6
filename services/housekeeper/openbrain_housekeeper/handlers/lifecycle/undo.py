"""Operation `undo`: what another archived or rewrote is put back."""

from openbrain.ports.clock import Clock
from openbrain.ports.lifecycle import Lifecycle
from openbrain.ports.store.operations import Operation, Progress
from openbrain.ports.store.outbox import Outbox
from openbrain_housekeeper.handlers.lifecycle.job import announce_end

CHUNK = 200
"""Changes of one transaction."""


class Undoing:
    """Steps of a transaction each; a change that was looked at is not looked at again."""

    def __init__(self, lifecycle: Lifecycle, outbox: Outbox, clock: Clock) -> None:
        self._lifecycle, self._outbox, self._clock = lifecycle, outbox, clock

    async def __call__(self, operation: Operation) -> Progress:
        of = str(operation.request["operation"])
        looked_at = await self._lifecycle.undo(operation, of, CHUNK)
        counts = {what.value: number for what, number in (await self._lifecycle.undone(of)).items()}
        done = sum(counts.values())
        if looked_at:
            return Progress(done=done, total=operation.total, result=counts)
        await announce_end(self._outbox, operation, counts, self._clock.now())
        return Progress(done=done, total=done, result=counts, finished=True)
