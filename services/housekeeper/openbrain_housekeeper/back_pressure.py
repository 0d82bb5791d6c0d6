"""Back pressure: work that causes events waits while the backlog is full; walks over memories pause between steps."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import ParamSpec, TypeVar

from openbrain.ports.store.operations import Operation, Progress
from openbrain.usecases.backpressure import Pressure
from openbrain_housekeeper.jobs.operations import Step

LOOKING_REST = 3.0
"""Pause after a dry-run step, in seconds per second of processor time."""
WAITING_REST = 1.0
"""Pause after a dry-run step, in seconds per second of waiting for servers."""
CHANGING_REST, UNDOING_REST = 6.0, 10.0
"""Pause after a step that changes memories, in seconds per second of work. Its changes cause work for relay, embedder
and indexers; an undo causes the most, since it restores entries of both indexes."""
P = ParamSpec("P")
T = TypeVar("T")


def held_back(work: Callable[P, Awaitable[T]], pressure: Pressure) -> Callable[P, Awaitable[T]]:
    """Make a step or round that causes events wait while the backlog of events is full."""

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
    """Make a step pause in proportion to its work, to leave time to live traffic. `processor` returns the processor
    time of this process, in seconds."""

    async def and_rest(operation: Operation) -> Progress:
        began, computed = time(), processor()
        progress = await step(operation)
        worked, computed = time() - began, processor() - computed
        await sleep(_rest(worked, computed) if operation.request.get("dry_run") else changing_rest * worked)
        return progress

    return and_rest


def _rest(worked: float, computed: float) -> float:
    computing = min(worked, computed)  # processor time includes other tasks and threads of this process
    return LOOKING_REST * computing + WAITING_REST * (worked - computing)
