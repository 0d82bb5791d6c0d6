"""Cost of the stream layer: a no-op handler compared with a bare redis-py loop and with taskiq-redis.

All sides read the same events from the same server in this process and parse each with the same model. Measured is the
CPU time of the process (not the server's) per event.
"""

import argparse
import asyncio
import logging
import time
import uuid
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import uvloop
from redis.asyncio import Redis
from taskiq import TaskiqMessage
from taskiq.receiver import Receiver
from taskiq_redis import RedisStreamBroker

from benchmarks.support.report import Report, Row
from openbrain.domain.events.data import MemoryStored
from openbrain.domain.events.envelope import FIELD, CloudEvent, decode, encode
from openbrain.domain.events.streams import STORED
from openbrain.domain.memory import Change
from openbrain.settings import Streams
from openbrain.streams.group.delivery import Delivery
from openbrain.streams.group.subscription import Subscription
from openbrain.streams.reading.service import Service
from tests.servers.processes.running import running

NAME = "streams"
BATCHES = (64, 256)
OF_RAW, OF_TASKIQ = 0.5, 10.0
MODEL = CloudEvent[MemoryStored]

Side = Callable[[str, int], Awaitable[float]]
"""Takes a server's URL and a number of events; returns CPU seconds per event."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Sizes and repeats."""
    parser.add_argument("--stream-events", type=int, default=50_000, help="events read by each side (taskiq: a tenth)")
    parser.add_argument("--stream-repeats", type=int, default=7)
    parser.add_argument("--stream-server", choices=("valkey", "redis"), default="valkey")


def run(options: argparse.Namespace) -> Report:
    """Measure all sides alternately, several times."""
    with running(options.stream_server) as servers:
        url = servers[options.stream_server].url
        return uvloop.run(_measure(url, options.stream_events, options.stream_repeats))


async def _measure(url: str, events: int, repeats: int) -> Report:
    sides: dict[str, tuple[Side, int]] = {"taskiq-redis": (_taskiq, max(events // 10, 100))}
    for batch in BATCHES:
        sides[f"redis-py loop, {batch}"] = (_raw(batch), events)
        sides[f"stream layer, {batch}"] = (_ours(batch), events)
    for side, number in sides.values():
        await side(url, number // 10)  # warm
    spent: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(repeats):
        for name, (side, number) in sides.items():
            spent[name].append(await side(url, number))
    return Report(NAME, tuple(_rows(spent)), (f"{events:,} events, {repeats} repeats, processor time",))


def _rows(spent: dict[str, list[float]]) -> Sequence[Row]:
    micros = {name: tuple(seconds * 1e6 for seconds in values) for name, values in spent.items()}
    rows = [Row(name, "µs an event", values) for name, values in micros.items()]
    for batch in BATCHES:
        ours = micros[f"stream layer, {batch}"]
        for other, goal in ((f"redis-py loop, {batch}", OF_RAW), ("taskiq-redis", OF_TASKIQ)):
            ratios = tuple(theirs / mine for theirs, mine in zip(micros[other], ours, strict=True))
            rows.append(Row(f"throughput of the stream layer, {batch}", "", (), other, ratios, goal))
    return rows


def _event(number: int) -> bytes:
    memory = str(uuid.UUID(int=number))
    data = MemoryStored(memory_id=memory, workspace_id="bench", version=1, revision=1, change=Change.CREATED)
    return encode(STORED.name, data, event_id=str(uuid.UUID(int=number + 1)), at=number, subject=memory)


async def _fill(client: Redis, stream: str, field: str, values: Sequence[bytes]) -> None:
    for start in range(0, len(values), 1000):
        pipeline = client.pipeline(transaction=False)
        for value in values[start : start + 1000]:
            pipeline.xadd(stream, {field: value})
        await pipeline.execute()


def _raw(batch: int) -> Side:
    """XREADGROUP, parse, one XACK: nothing else."""

    async def side(url: str, number: int) -> float:
        client: Any = Redis.from_url(url)
        stream = f"bench.{uuid.uuid4().hex}"
        await _fill(client, stream, FIELD, [_event(each) for each in range(number)])
        await client.xgroup_create(stream, "bench", id="0")
        left, field, expected = number, FIELD.encode(), STORED.type
        started = time.process_time()
        while left:
            for _, entries in await client.xreadgroup("bench", "me", {stream: ">"}, count=batch, block=2000):
                parsed = [decode(MODEL, fields[field], expected) for _, fields in entries]
                await client.xack(stream, "bench", *[entry for entry, _ in entries])
                left -= len(parsed)
        spent = time.process_time() - started
        await client.delete(stream)
        await client.aclose()
        return spent / number

    return side


def _ours(batch: int) -> Side:
    """A service as in production: FastStream reads, with leases, metrics and background loops."""

    async def side(url: str, number: int) -> float:
        client = Redis.from_url(url)
        settings = Streams(url=url, batch=batch, prefix=f"bench.{uuid.uuid4().hex}.")
        stream = settings.prefix + STORED.name
        await _fill(client, stream, FIELD, [_event(each) for each in range(number)])
        left, done, started, first = number, asyncio.Event(), 0.0, 0

        async def handle(batch: Sequence[Delivery[MemoryStored]]) -> None:
            nonlocal left, started, first
            if not started:  # the cost of starting a process is not measured
                started, first = time.process_time(), len(batch)
            left -= len(batch)
            if left <= 0:
                done.set()

        service = Service("bench", [Subscription(spec=STORED, handler=handle)], settings)
        await service.start()
        await done.wait()
        await asyncio.sleep(0.05)  # for the last acknowledgement; waiting costs no CPU time
        spent = time.process_time() - started
        pending = await client.xpending(stream, "bench")
        await service.stop()
        if pending["pending"]:
            raise RuntimeError(f"{pending['pending']} entries were not acknowledged")
        await client.delete(stream)
        await client.aclose()
        return spent / (number - first)

    return side


async def _taskiq(url: str, number: int) -> float:
    """Its stream broker and receiver with 100 concurrent tasks, its default."""
    logging.getLogger("taskiq").setLevel(logging.ERROR)  # it logs each task
    queue = f"bench.{uuid.uuid4().hex}"
    broker = RedisStreamBroker(url, queue_name=queue, consumer_id="0")
    broker.is_worker_process = True
    left, done = number, asyncio.Event()

    async def handle(event: str) -> None:
        nonlocal left
        decode(MODEL, event.encode(), STORED.type)
        left -= 1
        if not left:
            done.set()

    broker.register_task(handle, task_name="handle")
    client = Redis.from_url(url)
    await _fill(client, queue, "data", [_taskiq_message(broker, each) for each in range(number)])
    receiver = Receiver(broker, max_async_tasks=100)
    finish = asyncio.Event()
    started = time.process_time()
    listening = asyncio.create_task(receiver.listen(finish))
    await done.wait()
    await asyncio.sleep(0.05)
    spent = time.process_time() - started
    finish.set()
    await listening
    await broker.shutdown()
    await client.delete(queue)
    await client.aclose()
    return spent / number


def _taskiq_message(broker: Any, number: int) -> bytes:
    message = TaskiqMessage(
        task_id=str(number), task_name="handle", labels={}, args=[_event(number).decode()], kwargs={}
    )
    return bytes(broker.formatter.dumps(message).message)
