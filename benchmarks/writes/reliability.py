"""Cost of reliability for a stage: indexing full text with and without lease, fence and parked retries.

Both sides read the same events from the same server and the same rows from the database, write them into a new text
index and mark them. With: the service as in production (FastStream reads; leases are renewed, only their owner
acknowledges, retries and abandoned entries are claimed, failures are limited; the index checks revisions). Without: a
bare redis-py loop that acknowledges, and an index that accepts every write. Measured is the CPU time of the process.
"""

import argparse
import asyncio
import tempfile
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvloop
from redis.asyncio import Redis

from benchmarks.support.report import Report, Row
from benchmarks.support.texts import texts
from openbrain.adapters.sql.schema.commands import upgrade
from openbrain.adapters.sql.store import store_url
from openbrain.adapters.tantivy import TantivyText
from openbrain.adapters.tantivy.generation import Generation as TextOnDisk
from openbrain.domain.events.data import MemoryStored
from openbrain.domain.events.envelope import FIELD, CloudEvent, decode
from openbrain.domain.events.streams import STORED
from openbrain.domain.events.submission import Submission
from openbrain.domain.memory import MemoryType
from openbrain.ports.store.generations import Generation, IndexKind
from openbrain.ports.store.store import Store
from openbrain.ports.store.tenants import Workspace
from openbrain.ports.store.writes import Origin
from openbrain.runtime import adapters
from openbrain.settings import Settings, Streams
from openbrain.settings.tuning import StreamTuning
from openbrain.streams.group.delivery import Delivery
from openbrain.streams.group.subscription import Subscription
from openbrain.streams.reading.service import Service
from openbrain.usecases.auth import Actor
from openbrain.usecases.remember import Offer, remember
from openbrain_indexer.handlers.text import project_text
from tests.servers.processes.running import running

NAME = "reliability"
COST = 0.15
"""Largest acceptable share of throughput."""
BATCH = 512
Project = Callable[[Sequence[str]], Awaitable[None]]
Side = Callable[[str, Sequence[bytes], Project], Awaitable[float]]
"""Takes a server's URL, events and the handler of a batch; returns CPU seconds."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Sizes and repeats."""
    parser.add_argument("--reliability-events", type=int, default=10_000, help="memories indexed by each side")
    parser.add_argument("--reliability-repeats", type=int, default=5)
    parser.add_argument("--reliability-server", choices=("valkey", "redis"), default="valkey")


def run(options: argparse.Namespace) -> Report:
    """Measure both sides alternately, several times."""
    name = options.reliability_server
    with running(name) as servers, tempfile.TemporaryDirectory(prefix="openbrain-bench-") as folder:
        sizes = (options.reliability_events, options.reliability_repeats)
        return uvloop.run(_measure(servers[name].url, Path(folder), *sizes))


async def _measure(url: str, folder: Path, events: int, repeats: int) -> Report:
    settings = Settings(_env_file=None, data_dir=folder)
    await asyncio.to_thread(upgrade, store_url(settings.truth.url, folder))
    store = adapters.store(settings, adapters.clock())
    sides: dict[str, Side] = {"with": _with, "without": _without}
    spent: dict[str, list[float]] = {name: [] for name in sides}
    try:
        bodies = await _remembered(store, events)
        for turn in range(repeats + 1):
            for name, side in sides.items():
                seconds = await _indexed(side, url, folder, store, bodies, fenced=name == "with")
                if turn:  # the first one is a warm-up
                    spent[name].append(seconds / events * 1e6)
    finally:
        await store.close()
    rows = [Row(name, "µs a memory", tuple(values)) for name, values in spent.items()]
    costs = tuple(1 - bare / whole for whole, bare in zip(spent["with"], spent["without"], strict=True))
    rows.append(Row("cost of reliability, of throughput", "", (), "without", costs, COST, at_most=True))
    return Report(NAME, tuple(rows), (f"{events:,} memories, {repeats} repeats, processor time",))


async def _remembered(store: Store, count: int) -> Sequence[bytes]:
    """Store memories; return their events, taken from the outbox."""
    clock, content_policy = adapters.clock(), adapters.content_policy(Settings())
    await store.workspaces.create_workspace(Workspace(id="bench", name="bench", created_at=clock.now()))
    actor = Actor(key_id="k", name="bench", workspace_id="bench", agent_id="a", permissions=frozenset())
    contents = texts(count)
    for start in range(0, count, 500):
        offers = [
            Offer(
                submission=Submission(content=text, type=MemoryType.FACT, allow_duplicate=True),
                actor=actor,
                origin=Origin(actor="a"),
            )
            for text in contents[start : start + 500]
        ]
        await remember(offers, writes=store.writes, clock=clock, content_policy=content_policy)
    bodies: list[bytes] = []
    while entries := await store.outbox.take(5000):
        bodies += [entry.body for entry in entries]
        await store.outbox.delete([entry.id for entry in entries])
    return bodies


async def _indexed(side: Side, url: str, folder: Path, store: Store, bodies: Sequence[bytes], *, fenced: bool) -> float:
    """Measure one side, from the first event to the last mark, with its own index."""
    index = TantivyText(folder / uuid.uuid4().hex, commit_ms=200)
    generation = Generation(
        kind=IndexKind.TEXT, name="t", model="", dimensions=0, builder=index.builder, status="serving"
    )
    await index.prepare(generation.name)

    async def project(ids: Sequence[str]) -> None:
        failed = await project_text(ids, store=store, index=index, generations=[generation])
        if failed:
            raise RuntimeError(f"{len(failed)} were not indexed")

    with _taking_what_comes(unless=fenced):
        seconds = await side(url, bodies, project)
    await index.close()
    return seconds


@contextmanager
def _taking_what_comes(*, unless: bool) -> Iterator[None]:
    """Without the fence, let the index write without checking revisions."""
    if unless:
        yield
        return
    asking = TextOnDisk._revisions
    setattr(TextOnDisk, "_revisions", lambda *_: {})  # noqa: B010 - a plain assignment is no method to mypy
    try:
        yield
    finally:
        setattr(TextOnDisk, "_revisions", asking)  # noqa: B010 - the same


async def _filled(client: Any, stream: str, bodies: Sequence[bytes]) -> None:
    for start in range(0, len(bodies), 1000):
        pipeline = client.pipeline(transaction=False)
        for body in bodies[start : start + 1000]:
            pipeline.xadd(stream, {FIELD: body})
        await pipeline.execute()


async def _with(url: str, bodies: Sequence[bytes], project: Project) -> float:
    client = Redis.from_url(url)
    settings = Streams(url=url, batch=BATCH, prefix=f"bench.{uuid.uuid4().hex}.", tuning=StreamTuning(batch_s=2))
    await _filled(client, settings.prefix + STORED.name, bodies)
    left, done = len(bodies), asyncio.Event()

    async def handle(batch: Sequence[Delivery[MemoryStored]]) -> None:
        nonlocal left
        await project([delivery.event.data.memory_id for delivery in batch])
        left -= len(batch)
        if left <= 0:
            done.set()

    service = Service("bench", [Subscription(spec=STORED, handler=handle)], settings)
    started = time.process_time()
    await service.start()
    await done.wait()
    await asyncio.sleep(0.05)  # for the last acknowledgement; waiting costs no CPU time
    spent = time.process_time() - started
    await service.stop()
    await client.delete(settings.prefix + STORED.name)
    await client.aclose()
    return spent


async def _without(url: str, bodies: Sequence[bytes], project: Project) -> float:
    client: Any = Redis.from_url(url)
    stream, model, field = f"bench.{uuid.uuid4().hex}", CloudEvent[MemoryStored], FIELD.encode()
    await _filled(client, stream, bodies)
    left, started = len(bodies), time.process_time()
    await client.xgroup_create(stream, "bench", id="0")
    while left:
        for _, entries in await client.xreadgroup("bench", "me", {stream: ">"}, count=BATCH, block=2000):
            events = [decode(model, fields[field], STORED.type) for _, fields in entries]
            await project([event.data.memory_id for event in events])
            await client.xack(stream, "bench", *[entry for entry, _ in entries])
            left -= len(entries)
    spent = time.process_time() - started
    await client.delete(stream)
    await client.aclose()
    return spent
