"""Duty `trim`: what streams and dead letters keep, by time and by the service that they have."""

from collections.abc import Awaitable, Callable, Sequence

import structlog
from redis.asyncio import Redis

from openbrain.ports.operations import Operation, Progress
from openbrain.ports.streams import OutsideGroup
from openbrain.settings import Streams
from openbrain.streams.operating.dead_letter_retention import DeadKeeping
from openbrain.streams.operating.eviction import shrink
from openbrain.streams.operating.trim import plan, trim, waited_for
from openbrain.streams.redis.memory import memory_of
from openbrain.usecases.backpressure import Pressure
from openbrain_housekeeper.operating import Step

_log = structlog.get_logger(__name__)


class StreamKeeping:
    """Of all streams."""

    def __init__(self, client: Redis, settings: Streams) -> None:
        self._client, self._settings = client, settings
        self._dead = DeadKeeping(settings)

    async def round(self, outside: Sequence[OutsideGroup]) -> int:
        """How many entries went. Raises what redis-py raises."""
        client, settings = self._client, self._settings
        streams = waited_for(plan(settings), settings, outside)
        removed = sum(report.removed for report in await trim(client, streams, settings.retention_s))
        budget = settings.retention_share * (await memory_of(client, settings)).limit
        for stream, number in (await shrink(client, streams, round(budget))).items():
            _log.warning("streams.history_given_up", stream=stream, number=number)
            removed += number
        return removed + await self._dead.round(client)


def held_back(step: Step, pressure: Pressure) -> Step:
    """A step that causes events: it waits while too many wait already."""

    async def when_there_is_room(operation: Operation) -> Progress:
        await pressure.admit_events()
        return await step(operation)

    return when_there_is_room


def when_room(round_: Callable[[], Awaitable[int]], pressure: Pressure) -> Callable[[], Awaitable[int]]:
    """The same for a duty."""

    async def when_there_is_room() -> int:
        await pressure.admit_events()
        return await round_()

    return when_there_is_room
