"""An operator of streams: the API on a real stream server, and the housekeeper's worker."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from openbrain.domain.access.permissions import Permission
from openbrain.domain.events.streams import STORED, dead_letters
from openbrain.domain.memory import MICROSECONDS
from openbrain.settings import Streams
from openbrain.streams.operating.administration import RedisStreams
from openbrain.streams.operating.redelivery import Redelivery
from openbrain.streams.redis.connection import connect
from openbrain_housekeeper.handlers.redelivery import steps
from openbrain_housekeeper.jobs.operations import Worker
from tests.support.api.brain import Brain, http
from tests.support.store.fixtures import age_holds
from tests.support.streams.consumers import scaled

WORDS = "the vault opens at Xyzzyqwertz"


@dataclass
class Operator:
    """An operator's client, the server below it, and the housekeeper's worker."""

    brain: Brain
    client: httpx.AsyncClient
    redis: Any
    settings: Streams

    @property
    def stream(self) -> str:
        return self.settings.prefix + STORED.name

    def worker(self, name: str = "one") -> Worker:
        made = steps(Redelivery(self.redis, self.settings), self.brain.store.index_marks, at_once)
        return Worker(self.brain.store.operations, made, name, hold_s=30, pace_s=0)

    async def work(self, operation_id: str, rounds: int = 50) -> dict[str, Any]:
        """Run the operation to its end with one worker; return it."""
        worker = self.worker()
        for _ in range(rounds):
            found = await self.operation(operation_id)
            if found["finished_at"]:
                return found
            await worker.round()
            await age_holds(self.brain.store, 1)
            self.brain.clock.advance(MICROSECONDS)
        return await self.operation(operation_id)

    async def operation(self, operation_id: str) -> dict[str, Any]:
        return dict((await self.client.get(f"/v1/admin/operations/{operation_id}")).json())

    async def post(self, path: str, **body: Any) -> dict[str, Any]:
        answer = await self.client.post(f"/v1/admin/{path}", json=body)
        assert answer.status_code in (200, 202), answer.text
        return dict(answer.json())

    async def die(self, body: bytes, group: str = "embedder", stream: str = STORED.name, error: str = "Refused") -> str:
        """Add a dead letter; return its id."""
        fields = {"__data__": body, "stream": stream, "group": group, "entry": "1-0", "error": error, "attempts": 4}
        entry = await self.redis.xadd(dead_letters(self.settings.prefix + stream, group), fields)
        return f"{stream}.{group}.{entry.decode()}"


async def at_once(_: float) -> None:
    """Do not wait: other tests check the rate limit."""


@pytest.fixture(params=("valkey", "redis"))
async def operator(request: pytest.FixtureRequest, brain: Brain) -> AsyncIterator[Operator]:
    settings = scaled(str(request.getfixturevalue(f"{request.param}_server").url))
    redis: Redis = connect(settings)
    key = await brain.key("system", permissions=frozenset(Permission))
    async with http(brain.app(streams=RedisStreams(settings, redis)), key) as client:
        yield Operator(brain, client, redis, settings)
    keys: Any = await redis.keys(f"{settings.prefix}*")
    if keys:
        await redis.delete(*keys)
    await redis.aclose()


def submission() -> bytes:
    """Return what a producer put on a stream, with words that nobody else may read."""
    return json.dumps({"data": {"content": WORDS, "type": "fact"}}).encode()
