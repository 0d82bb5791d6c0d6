"""Operation `forget`: end everything that a filter matches, as the one who asked for it sees it."""

from openbrain import criteria
from openbrain.ports.clock import Clock
from openbrain.ports.erasing import Bulk, Erasing
from openbrain.ports.operations import Operation, Progress
from openbrain.ports.truth import Origin

CHUNK = 200
"""Memories of one transaction."""


class Forgetting:
    """Steps of a transaction each; what has ended matches no more, so that a repeated step goes on where it was."""

    def __init__(self, truth: Erasing, clock: Clock) -> None:
        self._truth, self._clock = truth, clock

    async def __call__(self, operation: Operation) -> Progress:
        """When it has ended, `done` counts all that matched, also what a killed worker did not write down."""
        asked = operation.request
        bulk = Bulk(condition=criteria.condition(asked, self._clock.now()), made_by=int(asked["made_by"]))
        erase = bool(asked["erase"])
        origin = Origin(actor=operation.actor)
        ended = await self._truth.end_living(bulk, CHUNK, origin, str(asked["reason"]), erase=erase)
        done = operation.done + ended
        total = max(operation.total or 0, done)
        told = {"erased" if erase else "forgotten": total if ended == 0 else done}
        return Progress(done=done if ended else total, total=total, result=told, finished=ended == 0)
