"""The parts of a fleet on real servers; its services run in this process or in processes that die."""

import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redis.asyncio import Redis

from openbrain.adapters.sql.schema.commands import upgrade
from openbrain.domain.events.envelope import FIELD, encode
from openbrain.domain.events.streams import STORED, SUBMITTED
from openbrain.domain.events.submission import MemorySubmitted
from openbrain.domain.memory import MemoryType
from openbrain.ports.store.tenants import Workspace
from openbrain.runtime.container import Container
from openbrain.settings import Embedding, Housekeeping, Settings, Text, Truth, Vectors
from openbrain.settings.tuning import HousekeepingTuning, TextTuning
from tests.properties.doomed import ROOMS
from tests.properties.world import READ, ids_of, quick
from tests.servers.processes.process import Server
from tests.support.store.fixtures import rows
from tests.support.streams.stillness import Stillness
from tests.support.waiting import until


@dataclass(frozen=True, slots=True)
class Fleet:
    """The settings of every process, and access to database and streams."""

    settings: Settings
    container: Container
    redis: Redis

    def name(self, stream: str) -> str:
        return self.settings.streams.prefix + stream

    async def submit(self, first: int, count: int, **more: Any) -> None:
        """Submit these by XADD."""
        for number in range(first, first + count):
            values = {"type": MemoryType.FACT, "workspace_id": "default", "content": f"Ship {number} sails.", **more}
            body = encode(SUBMITTED.name, MemorySubmitted(**values), event_id=f"s-{number}", at=0)
            await self.redis.xadd(self.name(SUBMITTED.name), {FIELD: body})

    @asynccontextmanager
    async def services(self, *names: str) -> AsyncIterator[list[Any]]:
        """Start these services, each with separate parts, as in a separate process."""
        async with AsyncExitStack() as stack:
            made = []
            for name in names:
                container = await stack.enter_async_context(Container(self.settings))
                service = ROOMS[name](container)
                stack.push_async_callback(service.stop)
                await service.start()
                made.append(service)
            yield made

    async def indexed(self, count: int) -> None:
        """Wait until `count` memories are in both indexes and nothing is on its way."""
        still = self._stillness()

        async def done() -> bool:
            query = "SELECT COUNT(*) AS n, COUNT(indexed_at) AS done FROM memories"
            database: Any = self.container.store
            (found,) = await rows(database._database, query)
            if found["n"] > count:
                raise AssertionError(f"{found['n']} memories of {count} submissions")
            return bool(found["n"] == found["done"] == count) and await still()

        await until(done, pause=0.1)

    async def caught_up(self, groups: Sequence[str]) -> None:
        """Wait until these groups have acknowledged everything, and what they announced is published."""
        await until(self._stillness(groups), pause=0.1)

    def _stillness(self, groups: Sequence[str] = ()) -> Stillness:
        streams = [self.name(spec.name) for spec in READ]
        return Stillness(
            self.container.store.outbox, self.redis, streams=streams, wanted=lambda group: not groups or group in groups
        )

    async def acknowledged(self) -> set[str]:
        """The submissions that entries of memory.stored name as their cause."""
        entries: Any = await self.redis.xrange(self.name(STORED.name))
        decode = STORED.decoder()
        return {str(decode(fields[FIELD.encode()]).causationid) for _, fields in entries}

    async def once_each(self) -> None:
        """Check that every memory was made once: one history line, no failed attempt, no dead letter."""
        database: Any = self.container.store
        ids = await ids_of(self.container)
        told = await rows(database._database, "SELECT memory_id FROM memory_history")
        assert sorted(line["memory_id"] for line in told) == ids
        for spec in READ:
            for group in spec.groups:
                assert await self.redis.xlen(f"{self.name(spec.name)}.{group}.dead") == 0, (spec.name, group)


@asynccontextmanager
async def fleet(redis_url: str, mariadb_url: str, elasticsearch: Server, folder: Path) -> AsyncIterator[Fleet]:
    """Streams, database and indexes under names that only this test uses; the embedded model."""
    settings = Settings(
        data_dir=folder,
        streams=quick(redis_url, prefix=f"t{uuid.uuid4().hex[:10]}."),
        truth=Truth(url=mariadb_url),
        text=Text(url=elasticsearch.url, tuning=TextTuning(refresh_ms=100)),
        vectors=Vectors(url=f"elasticsearch+{elasticsearch.url}"),
        embedding=Embedding(url="embedded"),
        housekeeping=Housekeeping(tuning=HousekeepingTuning(lease_s=1.5)),
    )
    upgrade(mariadb_url)
    async with Container(settings) as container, Redis.from_url(redis_url) as redis:
        await container.store.workspaces.create_workspace(
            Workspace(id="default", name="default", created_at=container.clock.now())
        )
        yield Fleet(settings, container, redis)
