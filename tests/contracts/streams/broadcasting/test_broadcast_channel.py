"""A workspace's channel in an API process: every number once and in order, whatever the stream server does."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from redis.asyncio import Redis
from sqlalchemy import text

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.errors import TryLater
from openbrain.ports.streams import StreamedBroadcast
from openbrain.settings import Streams
from openbrain.streams.publishing.broadcast_reader import RedisBroadcastStream
from openbrain.streams.publishing.broadcast_writer import stream_of
from openbrain.streams.redis.connection import connect
from openbrain_api.broadcasts import channel as channels
from openbrain_api.broadcasts.channel import Listener
from openbrain_api.broadcasts.hub import Hub
from tests.servers.processes.process import Server
from tests.support.api.brain import NOWHERE
from tests.support.signals.broadcasting import Ear, burn, relay
from tests.support.signals.raising import workspace
from tests.support.store.fixtures import FakeClock, viewer
from tests.support.streams.consumers import scaled
from tests.support.waiting import PATIENCE_S, until

STREAM = stream_of("w1")
NEVER_S = 3600.0
"""The database is polled so rarely that whatever is heard came through the stream."""


@pytest.fixture
async def settings(valkey_server: Server) -> AsyncIterator[Streams]:
    made = scaled(valkey_server.url)
    yield made
    client: Any = connect(made)
    if found := await client.keys(f"{made.prefix}*"):
        await client.delete(*found)
    await client.aclose()


@pytest.fixture
async def redis(settings: Streams) -> AsyncIterator[Redis]:
    client: Any = connect(settings)
    yield client
    await client.aclose()


@pytest.fixture
def database_url(tmp_path: Any) -> str:
    return f"sqlite+aiosqlite:///{tmp_path}/truth.db"


class World:
    """A store, a stream, and hubs that are closed at the end."""

    def __init__(self, store: SqlStore, settings: Streams) -> None:
        self.store, self.settings = store, settings
        self.hubs: list[tuple[Hub, RedisBroadcastStream]] = []

    async def channel(self, *, look_s: float = NEVER_S, streams: Streams | None = None) -> channels.Channel:
        hub = self.hub(look_s=look_s, streams=streams)
        return await hub.channel("w1")

    def hub(self, *, look_s: float = NEVER_S, streams: Streams | None = None, most: int = 1000) -> Hub:
        hearing = RedisBroadcastStream(streams or self.settings)
        hub = Hub(self.store, hearing, most=most, look_s=look_s)
        self.hubs.append((hub, hearing))
        return hub

    async def say(self, *titles: str) -> None:
        await burn(self.store, *titles)
        await relay(self.store, self.settings)

    async def close(self) -> None:
        for hub, hearing in self.hubs:
            await hub.close()
            await hearing.close()


@pytest.fixture
async def world(database: Database, clock: FakeClock, settings: Streams) -> AsyncIterator[World]:
    made = World(SqlStore(database, clock), settings)
    await workspace(made.store)
    yield made
    await made.close()


async def test_what_was_there_and_what_comes(world: World) -> None:
    await world.say("a", "b")
    ear = Ear(await world.channel())
    await ear.hears(1, 2)
    await world.say("c", "d")
    await ear.hears(1, 2, 3, 4)


async def test_a_stream_server_that_is_down_costs_a_look(world: World) -> None:
    ear = Ear(await world.channel(look_s=0.05, streams=Streams(url=NOWHERE)))
    await burn(world.store, "a", "b", "c")
    await ear.hears(1, 2, 3)


async def test_what_the_stream_has_lost_comes_from_the_truth(world: World, redis: Redis) -> None:
    """In its place: before what came after it."""
    ear = Ear(await world.channel())
    await burn(world.store, "a", "b")
    await relay(world.store, world.settings.model_copy(update={"prefix": f"{world.settings.prefix}elsewhere."}))
    await world.say("c")
    await ear.hears(1, 2, 3)


async def test_a_stream_that_lost_everything_goes_on(world: World, redis: Redis) -> None:
    ear = Ear(await world.channel())
    await world.say("a", "b")
    await ear.hears(1, 2)
    await redis.delete(world.settings.prefix + STREAM)
    await world.say("c")
    await ear.hears(1, 2, 3)


@pytest.mark.parametrize("entry", [{"__data__": b"{"}, {"else": b"x"}, {"__data__": b'{"data": {"seq": 7}}'}])
async def test_what_somebody_else_writes_into_the_stream_is_not_heard(world: World, redis: Redis, entry: Any) -> None:
    """Neither in the place of a broadcast, nor far above all of them."""
    ear = Ear(await world.channel(look_s=0.05))
    await burn(world.store, "a")
    await redis.xadd(world.settings.prefix + STREAM, entry, id="1-0")
    await redis.xadd(world.settings.prefix + STREAM, entry, id="99999999-0")
    await ear.hears(1)
    await burn(world.store, "b")
    await ear.hears(1, 2)


async def test_who_is_slow_hears_all_and_nobody_waits_for_him(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of broadcasts kept in memory is bounded; the rest is read from the database."""
    monkeypatch.setattr(channels, "KEPT", 3)
    monkeypatch.setattr(channels, "PAGE", 4)
    channel = await world.channel()
    slow, quick = Ear(channel), Ear(channel)
    for number in range(3):
        await world.say(*(f"{number}.{each}" for each in range(5)))
        await quick.hears(*range(1, 6 + 5 * number))
    assert len(channel._kept) == 3
    assert list(await slow.catch_up()) == list(range(1, 16))


async def test_while_nobody_can_tell_what_is_missing_nothing_is_told_out_of_order(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ear = Ear(await world.channel())
    await burn(world.store, "a")
    await relay(world.store, world.settings.model_copy(update={"prefix": f"{world.settings.prefix}elsewhere."}))
    asked = world.store.broadcasts.broadcasts_after
    down = True

    async def broadcasts_after(workspace_id: str, seq: int, limit: int) -> Any:
        if down:
            raise TryLater("the truth is down")
        return await asked(workspace_id, seq, limit)

    monkeypatch.setattr(world.store.broadcasts, "broadcasts_after", broadcasts_after)
    await burn(world.store, "b")
    await relay(world.store, world.settings)
    await asyncio.sleep(0)
    assert list(await ear.catch_up()) == []
    down = False
    await ear.hears(1, 2)


async def test_a_truth_that_was_put_back_ends_who_listens(world: World, database: Database) -> None:
    """The listener reconnects, and begins with the state."""
    await world.say("a", "b")
    ear = Ear(await world.channel(look_s=0.05))
    await ear.hears(1, 2)
    for statement in ("DELETE FROM broadcasts WHERE seq > 1", "UPDATE workspaces SET signal_seq = 1"):
        await database.write(lambda connection, said=statement: connection.execute(text(said)))  # type: ignore[misc]

    async def ended() -> bool:
        return ear.listener.ended

    await until(ended)


async def test_a_thousand_listeners_cost_one_reader(world: World, redis: Redis) -> None:
    named = world.settings.model_copy(update={"url": f"{world.settings.url}?client_name=the-api"})
    hub = world.hub(streams=named)
    listeners = [Listener() for _ in range(1000)]
    channel = await hub.channel("w1")
    for listener in listeners:
        hub.admit(listener)
        channel.join(listener)
    await world.say("a")
    heard = await asyncio.gather(*(listener.wait(PATIENCE_S) for listener in listeners))
    readers = [each for each in await redis.client_list() if each["name"] == "the-api"]

    assert all(heard)
    assert hub.listening == 1000
    assert len(readers) == 1
    with pytest.raises(TryLater):
        hub.admit(Listener())


async def test_a_channel_that_nobody_listens_to_ends(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channels, "LINGER_S", 0.0)
    channel = await world.channel(look_s=0.01)

    async def ended() -> bool:
        return not channel.open

    await until(ended)
    again = await world.hubs[0][0].channel("w1")
    assert again.open
    assert again is not channel


async def test_the_present_state_is_shared_by_those_who_come_at_once(world: World) -> None:
    hub = world.hub()
    await world.say("a")
    found = await asyncio.gather(*(hub.present(viewer()) for _ in range(50)))

    assert {id(each) for each in found} == {id(found[0])}
    assert found[0].seq == 1


async def test_the_present_state_is_never_older_than_the_question(world: World) -> None:
    hub = world.hub()
    before = await hub.present(viewer())
    await burn(world.store, "a")
    after = await hub.present(viewer())

    assert (before.seq, after.seq) == (0, 1)
    assert len(after.signals) == 1


async def test_hearing_reads_what_stands_behind_a_number(world: World) -> None:
    hearing = RedisBroadcastStream(world.settings)
    await world.say("a", "b", "c")
    try:
        found = await hearing.read("w1", 1, 5)
        assert [each.seq for each in found] == [2, 3]
        assert isinstance(found[0], StreamedBroadcast)
        assert await hearing.read("w1", 3, 0.01) == []
        assert await hearing.read("another", 0, 0.01) == []
    finally:
        await hearing.close()


async def test_hearing_says_that_the_server_is_away() -> None:
    hearing = RedisBroadcastStream(Streams(url=NOWHERE))
    with pytest.raises(TryLater):
        await hearing.read("w1", 0, 0.1)
    await hearing.close()
