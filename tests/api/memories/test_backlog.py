"""If too much waits behind the writes, they are refused for a while, and everything else continues."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any, cast

import httpx
import pytest
from redis.asyncio import Redis
from structlog.testing import capture_logs

from openbrain.client import OpenBrain
from openbrain.domain.errors import Backlogged
from openbrain.settings import Streams
from openbrain.streams.redis.memory import StreamMemory
from openbrain.usecases.backpressure import FRESH_S, Pressure
from openbrain_api.handlers import ROUTES
from tests.servers.plugin import Starter
from tests.servers.processes.process import ServerProcess
from tests.support.api.brain import Brain, http, offer, refused, remembered
from tests.support.api.transfer import NDJSON, admin, export, take_in
from tests.support.store.fixtures import rows
from tests.support.waiting import until

LIMIT = 4
REMEMBER = "/v1/brain/remember"


@pytest.fixture(params=("sqlite", "mariadb"))
def brain_database_url(request: pytest.FixtureRequest, tmp_path: Any) -> str:
    if request.param == "mariadb":
        return str(request.getfixturevalue("mariadb_tables_url"))
    return f"sqlite+aiosqlite:///{tmp_path}/truth.db"


class Ticking:
    """The clock of the pressure checks."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Ticking:
    return Ticking()


@pytest.fixture
async def pressure(brain: Brain, clock: Ticking) -> AsyncIterator[Pressure]:
    made = Pressure(brain.store.outbox, None, outbox_limit=LIMIT, memory_share=1, clock=clock)
    yield made
    await made.close()


def writes() -> list[tuple[str, str]]:
    return [(route.method, route.path) for route in ROUTES if route.stores]


def test_every_route_that_writes_memories_asks_first() -> None:
    assert sorted(writes()) == [
        ("DELETE", "/v1/brain/forget/{id}"),
        ("DELETE", "/v1/brain/memories/{id}"),
        ("DELETE", "/v1/thoughts/{id}"),
        ("PATCH", "/v1/brain/memories/{id}"),
        ("PATCH", "/v1/thoughts/{id}"),
        ("POST", "/index_artifact"),
        ("POST", "/v1/brain/import"),
        ("POST", "/v1/brain/memories/{id}:restore"),
        ("POST", "/v1/brain/recall/{id}/feedback"),
        ("POST", "/v1/brain/remember"),
        ("POST", "/v1/brain/remember:batch"),
        ("POST", "/v1/brain/sessions"),
        ("POST", "/v1/brain/sessions/{id}/append"),
        ("POST", "/v1/brain/sessions/{id}/end"),
        ("POST", "/v1/thoughts"),
        ("POST", "/v1/thoughts:batch"),
    ]


async def test_at_the_limit_writes_are_refused_and_reading_goes_on(
    brain: Brain, clock: Ticking, pressure: Pressure
) -> None:
    async with http(brain.app(pressure=pressure), await brain.key()) as client:
        (first, *_) = await remembered(client, *(f"memory {number}" for number in range(LIMIT)))
        await _again(clock, pressure)
        before = await _counts(brain)

        for method, path in writes():
            response = await client.request(method, path.replace("{id}", first), json=offer("one more"))
            problem = refused(response, 503)
            assert problem["error"] == "backlog_full", path
            assert response.headers["retry-after"] == "5"
            assert "reads still work" in problem["detail"]
        assert await _counts(brain) == before, "nothing was stored"

        found = await client.post("/v1/brain/recall", json={"query": "memory 1"})
        listed, one = await client.get("/v1/brain/list"), await client.get(f"/v1/brain/memories/{first}")
        assert [response.status_code for response in (found, listed, one)] == [200, 200, 200]
        assert found.json()["count"] > 0
        ready, health = await client.get("/ready"), await client.get("/v1/health")
        assert (ready.status_code, ready.json()["ready"]) == (200, True)
        assert "4 events or more wait to be published" in ready.json()["writes"]
        assert (health.status_code, health.json()["status"]) == (200, "degraded")

        await brain.settle()
        await _again(clock, pressure)
        assert (await client.post(REMEMBER, json=offer("one more"))).status_code == 201
        assert (await client.get("/v1/health")).json()["writes"] is None


async def test_it_is_looked_at_once_a_second_and_said_once(brain: Brain, clock: Ticking) -> None:
    asked = 0

    class Counting:
        async def waiting(self, limit: int) -> int:
            nonlocal asked
            asked += 1
            return await brain.store.outbox.waiting(limit)

    pressure = Pressure(cast("Any", Counting()), None, outbox_limit=LIMIT, memory_share=1, clock=clock)
    with capture_logs() as logs:
        async with http(brain.app(pressure=pressure), await brain.key()) as client:
            await remembered(client, *(f"memory {number}" for number in range(20)))
            assert asked == 1, "writes within a second share a check"
            await _again(clock, pressure)
            for _ in range(5):
                assert (await client.post(REMEMBER, json=offer("x"))).status_code == 503
            assert asked == 2
    assert [line["what"] for line in logs if line["event"] == "backlog.full"] == ["outbox"]


class Filling:
    """An outbox that is full after `looks` checks."""

    def __init__(self, looks: int) -> None:
        self.looks = looks

    async def waiting(self, limit: int) -> int:
        self.looks -= 1
        return limit if self.looks < 0 else 0


class Leaping:
    """A clock by which every check, however long it took, is too old for the next write."""

    now = 1.0

    def __call__(self) -> float:
        self.now *= 100
        return self.now


async def test_an_import_is_told_to_come_again_in_the_middle_of_its_file_and_then_does_the_rest(brain: Brain) -> None:
    filling = Pressure(cast("Any", Filling(3)), None, outbox_limit=LIMIT, memory_share=1, clock=Leaping())
    contents = [offer(f"memory {number}") for number in range(350)]
    async with http(brain.app(), await admin(brain)) as source:
        await source.post("/v1/brain/remember:batch", json={"memories": contents})
        file = await export(source)
    async with http(brain.app(pressure=filling), await admin(brain, "w2")) as target:
        response = await target.post("/v1/brain/import", content=file, headers=NDJSON)
        assert refused(response, 503)["error"] == "backlog_full"
    async with http(brain.app(), await admin(brain, "w2")) as target:
        again = await take_in(target, file)
    assert (again["complete"], again["refused"]) == (True, 0)
    assert again["created"] + again["present"] == 350
    assert 0 < again["created"] < 350, "what was stored remains"


class Hasty(httpx.ASGITransport):
    """A transport to the in-process app that shortens a retry delay of 5 s to 0."""

    asked = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.asked += 1
        response = await super().handle_async_request(request)
        if response.status_code == 503:
            assert response.headers["retry-after"] == "5"
            response.headers["retry-after"] = "0"
        return response


async def test_the_client_waits_repeats_and_goes_on_asking(brain: Brain, clock: Ticking, pressure: Pressure) -> None:
    transport = Hasty(brain.app(pressure=pressure))
    client = OpenBrain("http://brain", await brain.key(), breaker_failures=2, transport=transport)
    for number in range(LIMIT):
        await client.remember(offer(f"memory {number}"))
    await _again(clock, pressure)
    transport.asked = 0
    with pytest.raises(Backlogged, match="wait 5 s") as told:
        await client.remember(offer("too much"))
    assert transport.asked == 3
    assert str(told.value).count("wait 5 s") == 1
    for _ in range(3):  # the client's breaker stays closed, because the server is well
        with pytest.raises(Backlogged):
            await client.remember(offer("too much"))
    assert (await client.recall("memory 1")).memories

    async def room_again() -> None:
        await brain.settle()
        await _again(clock, pressure)

    later, _ = await asyncio.gather(_insisting(client), room_again())
    assert later == "later"
    await client.close()


async def _insisting(client: OpenBrain) -> str:
    while True:
        with contextlib.suppress(Backlogged):
            return (await client.remember(offer("later"))).content


@pytest.fixture(params=("valkey", "redis"))
def server(request: pytest.FixtureRequest, private_server: Starter) -> ServerProcess:
    return private_server(request.param)


@pytest.mark.parametrize("brain_database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("own_limit", [True, False])
async def test_a_full_stream_server_refuses_writes_until_there_is_room(
    brain: Brain, clock: Ticking, server: ServerProcess, *, own_limit: bool
) -> None:
    """The limit is 85 % of its maxmemory, or of the setting if it has none; above it even `noeviction` accepts
    nothing more."""
    streams = Streams(url=server.url, memory_mb=16)
    memory = StreamMemory(streams)
    pressure = Pressure(
        brain.store.outbox,
        memory,
        outbox_limit=1000,
        memory_share=streams.memory_share,
        close=memory.close,
        clock=clock,
    )
    redis: Any = Redis.from_url(server.url)
    if own_limit:
        await redis.config_set("maxmemory", "16mb")
        await redis.config_set("maxmemory-policy", "noeviction")
    async with http(brain.app(pressure=pressure), await brain.key()) as client:
        await remembered(client, "while there is room")
        while (await memory()).used < 0.9 * 16 * 1024 * 1024:
            await redis.xadd("filling", {"body": b"x" * 100_000})
        await _again(clock, pressure)
        response = await client.post(REMEMBER, json=offer("no room"))
        assert "of its memory; the limit is 85%" in refused(response, 503)["detail"]
        assert (await client.get("/v1/brain/list")).status_code == 200
        await pressure.admit_events()  # stream readers go on: they empty the streams

        await redis.delete("filling")

        async def freed() -> bool:
            return bool((await memory()).used < 0.5 * 16 * 1024 * 1024)

        await until(freed)  # it frees memory in the background
        await _again(clock, pressure)
        await remembered(client, "room again")

        server.kill()
        await _again(clock, pressure)
        await remembered(client, "it is away: the outbox takes it")
    await pressure.close()
    await redis.aclose()


async def _again(clock: Ticking, pressure: Pressure) -> None:
    """Let the next check become due, and wait until it was made."""
    clock.now += 60 * FRESH_S
    await pressure.refusal()
    if pressure._looking is not None:
        await pressure._looking


async def _counts(brain: Brain) -> list[int]:
    tables = ("memories", "memory_history", "outbox", "idempotency_keys")
    return [(await rows(brain.store._database, f"SELECT count(*) AS n FROM {table}"))[0]["n"] for table in tables]
