"""Retention of dead letters by age and size: a warning is logged before any is dropped."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import structlog
from redis.asyncio import Redis

from openbrain.observability import metrics
from openbrain.settings import Streams
from openbrain.streams.dead_letters.listing import Box, boxes
from openbrain.streams.operating.eviction import shrink, sizes
from openbrain.streams.operating.trim import remove
from openbrain.streams.redis.connection import ask, server_time
from openbrain.streams.redis.entry_ids import age_s
from openbrain.streams.redis.memory import memory_of

ALARM_AT = 0.8
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxUsage:
    """One box that contains letters."""

    box: Box
    letters: int
    bytes: int
    age_s: float
    """Age of the oldest letter."""
    time: float
    """Age of the oldest letter as a share of the retention: from 1 on it is removed."""
    space: float
    """Size of all boxes as a share of the budget for dead letters."""

    @property
    def share(self) -> float:
        """The larger of the two shares."""
        return max(self.time, self.space)


async def survey(client: Redis, settings: Streams) -> Sequence[BoxUsage]:
    """Return every box that contains letters. Raises redis-py's errors."""
    known = {box.key: box for box in boxes(settings)}
    used = await sizes(client, known)
    budget = settings.tuning.dead_share * (await memory_of(client, settings)).limit
    now = await server_time(client)
    filled = []
    for key, size in used.items():
        first = await ask(client, "XRANGE", key, "-", "+", "COUNT", 1)
        if not first:
            continue
        age = age_s(first[0][0], now)
        filled.append(
            BoxUsage(
                box=known[key],
                letters=await client.xlen(key),
                bytes=size,
                age_s=age,
                time=age / settings.dead_retention_s,
                space=sum(used.values()) / budget,
            )
        )
    return filled


class DeadLetterRetention:
    """Checks all dead-letter streams. Warnings are kept in memory: a new leader warns again, and waits again."""

    def __init__(self, settings: Streams, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings, self._clock = settings, clock
        self._reported: dict[str, float] = {}
        """Time of the warning, by box."""

    async def round(self, client: Redis) -> int:
        """Warn, and drop dead letters whose warning is old enough. Return how many were dropped. Raises redis-py's
        errors."""
        filled = await survey(client, self._settings)
        self._warn(filled)
        overdue = [item for item in filled if item.share >= 1 and self._warned_in_time(item.box.key)]
        removed = await self._drop(client, overdue)
        for key, number in removed.items():
            _log.error("streams.dead_letters_dropped", dead_letters=key, number=number)
        return sum(removed.values())

    def _warn(self, filled: Sequence[BoxUsage]) -> None:
        for box in boxes(self._settings):
            metrics.STREAM_DEAD_LETTERS_FILLED.labels(self._settings.prefix + box.stream, box.group).set(0)
        near = {item.box.key: item for item in filled if item.share >= ALARM_AT}
        for item in filled:
            labels = (self._settings.prefix + item.box.stream, item.box.group)
            metrics.STREAM_DEAD_LETTERS_FILLED.labels(*labels).set(item.share)
        for key, item in near.items():
            if key not in self._reported:
                _log.error(
                    "streams.dead_letters_near_limit",
                    dead_letters=key,
                    number=item.letters,
                    bytes=item.bytes,
                    oldest_days=round(item.age_s / 86_400, 1),
                    filled=round(item.share, 2),
                )
        self._reported = {key: self._reported.get(key, self._clock()) for key in near}

    def _warned_in_time(self, key: str) -> bool:
        return self._clock() - self._reported[key] >= self._settings.tuning.dead_alarm_s

    async def _drop(self, client: Redis, overdue: Sequence[BoxUsage]) -> dict[str, int]:
        """Drop letters that are too old, then the oldest until the budget is met."""
        if not overdue:
            return {}
        oldest = (await server_time(client) // 1000 - round(self._settings.dead_retention_s * 1000), 0)
        removed = {item.box.key: await remove(client, item.box.key, oldest) for item in overdue}
        others = [box.key for box in boxes(self._settings) if box.key not in removed]
        used = sum((await sizes(client, others)).values())
        budget = self._settings.tuning.dead_share * (await memory_of(client, self._settings)).limit
        more = await shrink(client, {item.box.key: () for item in overdue}, max(0, round(budget) - used))
        return {key: total for key in removed if (total := removed[key] + more.get(key, 0))}
