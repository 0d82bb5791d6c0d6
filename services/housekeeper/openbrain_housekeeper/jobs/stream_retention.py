"""Job `trim`: trim streams and dead letters, by age and by the memory of the stream server."""

from collections.abc import Sequence

import structlog
from redis.asyncio import Redis

from openbrain.ports.store.store import Store
from openbrain.ports.streams import OutsideGroup
from openbrain.settings import Streams
from openbrain.streams.operating.dead_letter_retention import DeadLetterRetention
from openbrain.streams.operating.eviction import shrink
from openbrain.streams.operating.redelivery import Redelivery
from openbrain.streams.operating.trim import plan, recreate_groups, trim, with_outside_groups
from openbrain.streams.redis.memory import memory_of
from openbrain_housekeeper.jobs.broadcasts import Broadcasting

_log = structlog.get_logger(__name__)


class StreamRetention:
    def __init__(self, client: Redis, settings: Streams) -> None:
        self._client, self._settings = client, settings
        self._dead = DeadLetterRetention(settings)

    async def trim_streams(self, store: Store, redelivery: Redelivery, broadcasting: Broadcasting) -> int:
        """Do one round over streams, replays and broadcasts. Return the number of removed entries."""
        outside = await store.groups.outside_groups()
        await recreate_groups(self._client, self._settings, outside)
        await redelivery.tidy()
        return await self.round(outside) + await broadcasting.trim(await store.time())

    async def round(self, outside: Sequence[OutsideGroup]) -> int:
        """Return the number of removed entries. Raises errors of redis-py."""
        client, settings = self._client, self._settings
        streams = with_outside_groups(plan(settings), settings, outside)
        removed = sum(report.removed for report in await trim(client, streams, settings.retention_s))
        budget = settings.tuning.retention_share * (await memory_of(client, settings)).limit
        for stream, number in (await shrink(client, streams, round(budget))).items():
            _log.warning("streams.history_given_up", stream=stream, number=number)
            removed += number
        return removed + await self._dead.round(client)
