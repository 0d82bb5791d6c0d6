"""A whole pipeline on a Redis or Valkey that only one test uses, and what its database and both indexes hold."""

import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from redis.asyncio import Redis

from openbrain.domain.events.streams import EMBEDDED, REINDEX, STORED, SUBMITTED, SUPERSEDED, dead_letters
from openbrain.domain.ids import point_id
from openbrain.domain.memory import Memory
from openbrain.ports.index import Standing
from openbrain.runtime.container import Container
from openbrain.settings import Settings, Streams
from openbrain_cli.system.embedded.pipeline import running
from tests.flow.conftest import PATIENT, Brain
from tests.support.processes.settings import group_of
from tests.support.store.fixtures import rows
from tests.support.waiting import until

SERVERS = ("redis", "valkey")
READ = (SUBMITTED, STORED, EMBEDDED, SUPERSEDED, REINDEX)
FOREVER_S = 600.0
"""A pause longer than any test: an entry that comes again was therefore not counted as a failure."""
HOUR = 3_600_000_000


def quick(url: str, **other: Any) -> Streams:
    """Stream settings with short leases and pauses, and long retries."""
    values: dict[str, Any] = {
        "url": url,
        "lease_s": 1.5,
        "reap_s": 0.2,
        "poll_s": 0.5,
        "backoff_s": (FOREVER_S,),
        "breaker_s": 0.2,
        "breaker_max_s": 1,
        "reconnect_max_s": 1,
    }
    return group_of(Streams, **(values | other))


@asynccontextmanager
async def living(settings: Settings, make_parts: Callable[[Settings], Container] | None = None) -> AsyncIterator[Brain]:
    """Run every service and the API in this process, with the streams on the server that the settings name."""
    async with running(settings, make_parts) as system:
        key = system.key_file.read_text(encoding="utf-8").strip()
        transport = httpx.ASGITransport(system.api())
        async with (
            httpx.AsyncClient(
                transport=transport, base_url="http://brain", headers={"Authorization": f"Bearer {key}"}, timeout=300
            ) as http,
            Redis.from_url(settings.streams.url) as redis,
        ):
            yield Brain(system, http, redis)


def at(folder: Path, url: str, **groups: Any) -> Settings:
    """Settings with embedded indexes and SQLite in `folder`, unless a group says otherwise."""
    return Settings(data_dir=folder / "data", **({"streams": quick(url), "recall": PATIENT} | groups))


def services(brain: Brain, *groups: str) -> list[Any]:
    """The services that read as these groups."""
    return [service for service in brain.system.services if getattr(service, "group", "") in groups]


async def ids_of(container: Any) -> list[str]:
    """The ids of all memories that were ever stored."""
    return [row["id"] for row in await rows(container.store._database, "SELECT id FROM memories ORDER BY id")]


async def all_indexed(brain: Brain, count: int) -> None:
    """Wait until there are `count` memories, each with its current revision indexed, and nothing is on its way."""

    async def done() -> bool:
        database: Any = brain.container.store
        (found,) = await rows(database._database, "SELECT COUNT(*) AS n, COUNT(indexed_at) AS done FROM memories")
        return bool(found["n"] == found["done"] == count)

    await until(done, pause=0.1)
    await brain.settled()


async def count_indexed(brain: Brain) -> int:
    """The number of memories whose current revision is in every index that should hold it."""
    database: Any = brain.container.store
    (found,) = await rows(database._database, "SELECT COUNT(indexed_at) AS done FROM memories")
    return int(found["done"])


async def differences(container: Container) -> list[str]:
    """How the text and vector indexes differ from the database; empty if they agree."""
    found: list[str] = []
    ids = await ids_of(container)
    store = await container.store.memories.rows(ids)
    text = await container.text.read((await container.text_generation()).name, ids)
    for memory_id, row in store.items():
        found += _unlike(f"text {memory_id}", text.get(memory_id), row.revision, tombstone=row.reason is not None)
    wanted = [row for row in store.values() if row.wants_vector]
    return found + (await _vector_differences(container, wanted) if wanted else [])


async def _vector_differences(container: Container, wanted: Sequence[Memory]) -> list[str]:
    found: list[str] = []
    generation = await container.existing_vector_generation()
    passages = await container.store.vectors.passages([row.id for row in wanted], generation.model)
    points = [point_id(row.id, number) for row in wanted for number in range(max(1, row.passages_high))]
    vectors = await container.vectors.read(generation.name, points)
    for row in wanted:
        living = row.reason is None and row.id in passages
        count = len(passages[row.id].vectors) if living else 0
        for number in range(max(1, row.passages_high)):
            standing = vectors.get(point_id(row.id, number))
            found += _unlike(f"vector {row.id} {number}", standing, row.revision, tombstone=number >= count)
    return found


def _unlike(what: str, standing: Standing | None, revision: int, *, tombstone: bool) -> list[str]:
    if standing is None:
        return [f"{what} is missing"]
    if (standing.revision, standing.tombstone) != (revision, tombstone):
        return [f"{what} is {standing.revision} tombstone={standing.tombstone}, not {revision} tombstone={tombstone}"]
    return []


async def nothing_failed(brain: Brain) -> None:
    """Check that no failed attempt was counted anywhere, and nothing is a dead letter."""
    for spec in READ:
        for group in spec.groups:
            stream = brain.container.settings.streams.prefix + spec.name
            assert await brain.redis.xlen(dead_letters(stream, group)) == 0, (stream, group)
            assert await brain.redis.hlen(f"{stream}.{group}.retries") == 0, (stream, group)


async def everything(brain: Brain) -> dict[str, Any]:
    """The final state: rows without the times of their index marks, their history, and both indexes."""
    database: Any = brain.container.store
    ids = await ids_of(brain.container)
    stood = await rows(
        database._database,
        "SELECT id, content, version, revision, reason, text_revision, vector_revision, passages_high FROM memories",
    )
    told = await rows(database._database, "SELECT memory_id, version, revision, action FROM memory_history")
    vectors = await rows(database._database, "SELECT COUNT(*) AS n FROM embeddings")
    text = await brain.container.text.read((await brain.container.text_generation()).name, ids)
    points = await brain.container.vectors.read((await brain.container.existing_vector_generation()).name, ids)
    return {
        "rows": sorted(tuple(row.values()) for row in stood),
        "history": sorted(tuple(row.values()) for row in told),
        "vectors": vectors,
        "text": sorted((each.id, each.revision, each.digest, each.tombstone) for each in text.values()),
        "points": sorted((each.id, each.revision, each.digest, each.tombstone) for each in points.values()),
    }


async def published(brain: Brain, names: Sequence[str]) -> list[tuple[str, dict[bytes, bytes]]]:
    """All entries of these streams."""
    return [(name, fields) for name in names for fields in await brain.entries(name)]


async def deliver(brain: Brain, entries: Sequence[tuple[str, dict[bytes, bytes]]], chance: random.Random) -> None:
    """Append them in random order."""
    shuffled = list(entries)
    chance.shuffle(shuffled)
    for name, fields in shuffled:
        await brain.redis.xadd(name, fields)  # type: ignore[arg-type]  # bytes as they came
