"""Back pressure for work that causes events, and pacing for operations that go through all memories."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import ParamSpec, TypeVar

from openbrain.ports.store.operations import Operation, Progress
from openbrain.usecases.backpressure import Pressure
from openbrain_housekeeper.jobs.operations import Step

LOOKING_REST = 3.0
"""Rest after a dry-run step, in seconds per second of processor time."""
WAITING_REST = 1.0
"""Rest after a dry-run step, in seconds per second of waiting for servers."""
CHANGING_REST, UNDOING_REST = 6.0, 10.0
"""Rest after a step that changes memories, in seconds per second of work: relay, embedder and indexers have work from
it, the most from an undo, which restores entries of both indexes."""
P = ParamSpec("P")
T = TypeVar("T")


def held_back(work: Callable[P, Awaitable[T]], pressure: Pressure) -> Callable[P, Awaitable[T]]:
    """Wrap a step or round that causes events: it raises `TryLater` while too many events wait already."""

    async def when_there_is_room(*args: P.args, **kwargs: P.kwargs) -> T:
        await pressure.admit_events()
        return await work(*args, **kwargs)

    return when_there_is_room


def paced(
    step: Step,
    changing_rest: float = CHANGING_REST,
    *,
    time: Callable[[], float] = time.monotonic,
    processor: Callable[[], float] = time.process_time,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> Step:
    """Wrap a step: it sleeps in proportion to its work, to leave time for live traffic. `processor`: processor time of
    this process, in seconds."""

    async def and_rest(operation: Operation) -> Progress:
        began, computed = time(), processor()
        progress = await step(operation)
        worked, computed = time() - began, processor() - computed
        await sleep(_rest(worked, computed) if operation.request.get("dry_run") else changing_rest * worked)
        return progress

    return and_rest


def _rest(worked: float, computed: float) -> float:
    computing = min(worked, computed)  # other tasks of this process used the processor too
    return LOOKING_REST * computing + WAITING_REST * (worked - computing)
