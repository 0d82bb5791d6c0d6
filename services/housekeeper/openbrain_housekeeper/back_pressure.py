"""Work that causes events waits while too many wait already."""

from collections.abc import Awaitable, Callable

from openbrain.ports.store.operations import Operation, Progress
from openbrain.usecases.backpressure import Pressure
from openbrain_housekeeper.jobs.operations import Step

LOOKING_REST, CHANGING_REST = 3.0, 6.0
"""Seconds of rest for each second of work. A change makes work for relay, embedder and indexers as well: they need
more of the time."""


def held_back(step: Step, pressure: Pressure) -> Step:
    """A step that causes events: it waits while too many wait already."""

    async def when_there_is_room(operation: Operation) -> Progress:
        await pressure.admit_events()
        return await step(operation)

    return when_there_is_room


def paced(step: Step, time: Callable[[], float], sleep: Callable[[float], Awaitable[None]]) -> Step:
    """A step that rests in proportion to its work: the rest of the time belongs to what is live."""

    async def and_rest(operation: Operation) -> Progress:
        began = time()
        progress = await step(operation)
        rest = LOOKING_REST if operation.request.get("dry_run") else CHANGING_REST
        await sleep(rest * (time() - began))
        return progress

    return and_rest


def when_room(round_: Callable[[], Awaitable[int]], pressure: Pressure) -> Callable[[], Awaitable[int]]:
    """A periodic job that works only while there is room."""

    async def when_there_is_room() -> int:
        await pressure.admit_events()
        return await round_()

    return when_there_is_room
