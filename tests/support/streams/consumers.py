"""Helpers for the stream layer: short times, events, services that stop themselves, waiting for conditions."""

import asyncio
import json
import os
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisConnectionError

from openbrain.domain.events.data import MemoryStored
from openbrain.domain.events.envelope import encode
from openbrain.domain.events.streams import STORED, dead_letters
from openbrain.domain.memory import Change
from openbrain.settings import Streams
from openbrain.streams.group.delivery import Delivery, Results
from openbrain.streams.group.subscription import Subscription
from openbrain.streams.publishing.publisher import Publisher
from openbrain.streams.reading.service import Service
from tests.support.processes.settings import group_of
from tests.support.waiting import PATIENCE_S

Answer = Callable[[Sequence[Delivery[Any]]], Awaitable[Results]]


def scaled(url: str, **other: Any) -> Streams:
    """Return settings much faster than the defaults, with a unique prefix. A lease outlasts a short stall of the
    machine; tests that wait for its end set a shorter one."""
    fast: dict[str, Any] = {
        "url": url,
        "prefix": f"t{uuid.uuid4().hex[:12]}.",
        "lease_s": 5,
        "backoff_s": (0.1, 0.3, 0.5),
        "poll_s": 0.1,
        "reap_s": 0.05,
        "breaker_s": 0.05,
        "breaker_max_s": 0.2,
        "reconnect_max_s": 0.3,
        "shutdown_s": 3,
    }
    return group_of(Streams, **(fast | other))


def memory_id(number: int) -> str:
    """Return the memory id of event `number`."""
    return str(uuid.UUID(int=number))


def stored(number: int, *, traceparent: str | None = None) -> bytes:
    """Return a memory.stored event; its CloudEvents id is the number."""
    data = MemoryStored(memory_id=memory_id(number), workspace_id="w", version=1, revision=1, change=Change.CREATED)
    return encode(STORED.name, data, event_id=str(number), at=0, subject=memory_id(number), traceparent=traceparent)


def numbers(batch: Sequence[Delivery[Any]]) -> list[int]:
    """Return the numbers of these events."""
    return [int(delivery.event.id) for delivery in batch]


async def eventually(
    holds: Callable[[], Any], *, within: float = PATIENCE_S, why: str = "", every: float = 0.01
) -> None:
    """Wait until `holds()` (or its awaited result) is true, at most `within` seconds."""
    until = time.monotonic() + within
    while True:
        found = holds()
        if isinstance(found, Awaitable):
            found = await found
        if found:
            return
        if time.monotonic() > until:
            raise AssertionError(f"not within {within} s: {why or holds}")
        await asyncio.sleep(every)


async def renewed(scenario: Callable[[float], Awaitable[None]]) -> None:
    """Run a scenario in which leases of the given seconds must be renewed in time. If it fails and this process was
    stalled for a quarter of a lease or more, when it could not renew, retry with longer leases."""
    for lease_s in (0.6, 3, 12):
        stood_still = [0.0]
        watching = asyncio.create_task(_watch(stood_still))
        try:
            await scenario(lease_s)
        except AssertionError:
            if lease_s == 12 or stood_still[0] < lease_s / 4:
                raise
        else:
            return
        finally:
            watching.cancel()
            await asyncio.wait({watching})


async def _watch(stood_still: list[float]) -> None:
    while True:
        began = time.monotonic()
        await asyncio.sleep(0.01)
        stood_still[0] = max(stood_still[0], time.monotonic() - began - 0.01)


@dataclass
class Seen:
    """A handler that records its events and gives scripted answers."""

    answer: Answer | None = None
    batches: list[list[int]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    deliveries: list[Delivery[Any]] = field(default_factory=list)

    async def __call__(self, batch: Sequence[Delivery[Any]]) -> Results:
        self.batches.append(numbers(batch))
        self.times.append(time.monotonic())
        self.deliveries.extend(batch)
        return await self.answer(batch) if self.answer else None

    @property
    def all(self) -> list[int]:
        """Return every event it received, in order, repetitions included."""
        return [number for batch in self.batches for number in batch]


def service(settings: Streams, handler: Answer, group: str = "embedder", **other: Any) -> Service:
    """Return a service that reads memory.stored."""
    subscription = {name: other.pop(name) for name in ("on_dead",) if name in other}
    return Service(group, [Subscription(spec=STORED, handler=handler, **subscription)], settings, **other)


@asynccontextmanager
async def started(*services: Service) -> AsyncIterator[None]:
    """Start these services and stop them at the end, whatever happens."""
    try:
        await asyncio.gather(*(each.start() for each in services))
        yield
    finally:
        await asyncio.gather(*(each.stop() for each in services))


async def publish(settings: Streams, *events: bytes, stream: str = STORED.name) -> None:
    """Append events."""
    publisher = Publisher(settings)
    try:
        assert await publisher.publish([(stream, event) for event in events]) == [None] * len(events)
    finally:
        await publisher.close()


@dataclass
class Looks:
    """An outside view of one stream and group."""

    client: Any
    stream: str
    group: str = "embedder"

    async def pending(self) -> int:
        """Return the number of unacknowledged entries; -1 without a group."""
        with suppress(Exception):
            return int((await self.client.xpending(self.stream, self.group))["pending"])
        return -1

    async def parked(self) -> list[dict[str, Any]]:
        """Return the entries of the retry consumer: message_id, time_since_delivered (ms), ..."""
        return list(await self.client.xpending_range(self.stream, self.group, "-", "+", 1000, "__retry__"))

    async def dead(self) -> list[dict[str, str]]:
        """Return the dead letters."""
        entries = await self.client.xrange(dead_letters(self.stream, self.group))
        return [{name.decode(): _text(value) for name, value in fields.items()} for _, fields in entries]

    async def state(self) -> dict[str, str]:
        """Return the retry counts kept in a hash beside the stream, by entry."""
        found = await self.client.hgetall(f"{self.stream}.{self.group}.retries")
        return {key.decode(): value.decode() for key, value in found.items()}

    async def idle(self) -> bool:
        """Whether every entry was delivered and acknowledged; False if the server does not answer."""
        try:
            groups = await self.client.xinfo_groups(self.stream)
        except RedisConnectionError:
            return False
        return bool(groups) and all(group["lag"] == 0 and group["pending"] == 0 for group in groups)

    async def calls(self, command: str) -> int:
        """Return how often the server ran a command since it started."""
        stats = await self.client.info("commandstats")
        return int(stats.get(f"cmdstat_{command}", {}).get("calls", 0))


def _text(value: bytes) -> str:
    return value.decode(errors="backslashreplace")


@asynccontextmanager
async def looking(settings: Streams, stream: str = STORED.name, group: str = "embedder") -> AsyncIterator[Looks]:
    """Yield a view with a client of its own."""
    client: Any = Redis.from_url(settings.url)
    try:
        yield Looks(client, settings.prefix + stream, group)
    finally:
        await client.aclose()


def environment(settings: Streams, **other: str) -> dict[str, str]:
    """Return the environment of a process that reads these settings."""
    values = settings.model_dump(mode="json")
    streams = {
        f"OPENBRAIN_STREAMS__{name.upper()}": value if isinstance(value, str) else json.dumps(value)
        for name, value in values.items()
    }
    return os.environ | streams | other
