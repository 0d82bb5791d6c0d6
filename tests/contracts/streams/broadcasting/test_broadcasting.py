"""Broadcast streams and the store: in order under their numbers, whatever either side loses or repeats."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
from redis.asyncio import Redis

from openbrain.adapters.redis.broadcasts import BroadcastStream
from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.errors import TryLater
from openbrain.domain.events.envelope import FIELD
from openbrain.domain.memory import DAY
from openbrain.domain.signals.values import Raise, Severity
from openbrain.ports.store.tenants import Workspace
from openbrain.settings import Streams
from openbrain.streams.publishing.broadcast_reader import RedisBroadcastStream
from openbrain.streams.publishing.broadcast_writer import number_of, stream_of
from openbrain.streams.publishing.publisher import Publisher
from openbrain_housekeeper.jobs.broadcasts import Broadcasting
from openbrain_housekeeper.jobs.relay import relay
from tests.support.store.fixtures import START, FakeClock
from tests.support.streams.consumers import scaled


@pytest.fixture(params=["sqlite"])
def database_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """SQLite is enough: the store's contract tests cover what all databases do alike."""
    return f"sqlite+aiosqlite:///{tmp_path_factory.mktemp('truth')}/store.db"


@dataclass
class Scene:
    """A store, a server, and the publisher from one to the other."""

    store: SqlStore
    clock: FakeClock
    client: Redis
    settings: Streams
    publisher: Publisher
    broadcasting: Broadcasting

    @property
    def stream(self) -> str:
        return self.settings.prefix + stream_of("w1")

    async def raise_(self, *numbers: int) -> None:
        """Signals of these numbers, each broadcast once."""
        raises = [
            Raise(
                workspace_id="w1",
                source="disk",
                severity=Severity.WARNING,
                title=f"disk {number}",
                content="",
                actor="probe",
                at=self.clock.now(),
            )
            for number in numbers
        ]
        assert {outcome.status for outcome in await self.store.signals.raise_signals(raises)} == {"created"}

    async def relay(self) -> int:
        return await relay(self.store.outbox, self.publisher, 500, self.broadcasting.settle)

    async def held(self) -> dict[int, bytes]:
        """The stream: number to event."""
        entries: Any = await self.client.xrange(self.stream)
        found = {int(entry.partition(b"-")[0]): fields[FIELD.encode()] for entry, fields in entries}
        assert [number_of(event) for event in found.values()] == list(found)
        return found

    async def kept(self) -> dict[int, bytes]:
        """The store: number to event."""
        return {row.seq: row.body for row in await self.store.broadcasts.broadcasts_after("w1", 0, 1000)}


@pytest.fixture(params=("valkey", "redis"))
async def scene(request: pytest.FixtureRequest, store: SqlStore, clock: FakeClock) -> AsyncIterator[Scene]:
    settings = scaled(str(request.getfixturevalue(f"{request.param}_server").url))
    await store.workspaces.create_workspace(Workspace(id="w1", name="w1", created_at=START))
    async with Redis.from_url(settings.url) as client:
        publisher = Publisher(settings)
        yield Scene(
            store, clock, client, settings, publisher, Broadcasting(store.broadcasts, client, publisher, settings)
        )
        await publisher.close()


async def test_a_relay_that_dies_before_it_deletes_publishes_nothing_twice(scene: Scene) -> None:
    await scene.raise_(1, 2, 3)
    entries = await scene.store.outbox.take(500)
    assert await scene.publisher.publish([(entry.stream, entry.body) for entry in entries]) == [None] * 3

    assert await scene.relay() == 3
    assert await scene.store.outbox.take(500) == []
    assert await scene.held() == await scene.kept()
    assert list(await scene.held()) == [1, 2, 3]


async def test_what_was_trimmed_from_the_stream_meanwhile_counts_as_published(scene: Scene) -> None:
    await scene.raise_(1, 2, 3)
    entries = await scene.store.outbox.take(500)
    await scene.publisher.publish([(entry.stream, entry.body) for entry in entries])
    await scene.client.xtrim(scene.stream, maxlen=0, approximate=False)

    assert await scene.relay() == 3
    assert await scene.held() == {}
    await scene.raise_(4)
    assert await scene.relay() == 1
    assert list(await scene.held()) == [4]


async def test_numbers_go_on_above_the_stream_of_a_truth_that_was_put_back(scene: Scene) -> None:
    """No number that agents have heard is given to anything else."""
    for number in range(1, 8):
        await scene.client.xadd(scene.stream, {FIELD: f'{{"data":{{"seq":{number}}}}}'}, id=f"{number}-0")
    await scene.raise_(1, 2, 3)
    while await scene.relay():
        pass

    held, kept = await scene.held(), await scene.kept()
    assert list(held) == list(range(1, 11))
    assert list(kept) == [8, 9, 10]
    assert {number: held[number] for number in kept} == kept
    assert await scene.store.broadcasts.last_seq("w1") == 10
    await scene.raise_(4)
    await scene.relay()
    assert list(await scene.held())[-1] == 11


@pytest.mark.parametrize("forged", [2**33, 2**53, 2**63 - 1, 2**64 - 1])
async def test_a_forged_number_lifts_none(scene: Scene, forged: int) -> None:
    """Neither when the next broadcast is published nor when none is; and readers skip it."""
    await scene.raise_(1, 2)
    await scene.relay()
    readers = RedisBroadcastStream(scene.settings), BroadcastStream(scene.settings, "w1")
    for numbers in ((3,), ()):
        known = await scene.store.broadcasts.last_seq("w1")
        await scene.client.xadd(scene.stream, {FIELD: b"{}"}, id=f"{forged}-0")
        assert await readers[0].read("w1", known, 0.01) == []
        assert await readers[1].after(known) == []
        if numbers:
            await scene.raise_(*numbers)
        await scene.relay()
        for _ in range(2):
            await scene.broadcasting.mend()

        assert await scene.held() == await scene.kept()
        assert [each.seq for each in await readers[0].read("w1", known, 0.01)] == list(numbers)
    assert await scene.store.broadcasts.last_seq("w1") == 3
    for reader in readers:
        await reader.close()


async def test_what_somebody_put_between_two_numbers_does_not_come_again(scene: Scene) -> None:
    """Otherwise a listener would poll without a pause until the next broadcast is published."""
    await scene.raise_(1)
    await scene.relay()
    await scene.client.xadd(scene.stream, {FIELD: b"{}"}, id="1-1")
    hearing, subscribed = RedisBroadcastStream(scene.settings), BroadcastStream(scene.settings, "w1")
    assert await hearing.read("w1", 1, 0.01) == []
    assert await subscribed.after(1) == ()
    await scene.raise_(2)
    await scene.relay()
    assert [each.seq for each in await hearing.read("w1", 1, 5)] == [2]
    assert [number for number, _ in await subscribed.after(1)] == [2]
    await hearing.close()
    await subscribed.close()


async def test_also_where_more_was_raised_since_than_the_stream_knows(scene: Scene) -> None:
    """Then the highest number in the database proves nothing, but the stream's entry under that number does."""
    for number in (1, 2):
        await scene.client.xadd(scene.stream, {FIELD: f'{{"data":{{"seq":{number}}}}}'}, id=f"{number}-0")
    await scene.raise_(1, 2, 3)
    while await scene.relay():
        pass

    kept = await scene.kept()
    assert len(kept) == 3
    assert kept.items() <= (await scene.held()).items()


async def test_what_a_server_lost_is_published_again_in_two_rounds(scene: Scene) -> None:
    await scene.raise_(1, 2, 3)
    await scene.relay()
    await scene.client.delete(scene.stream)

    assert await scene.broadcasting.mend() == 0, "it might still be on its way"
    assert await scene.broadcasting.mend() == 3
    assert await scene.broadcasting.mend() == 0
    assert await scene.held() == await scene.kept()


async def test_what_a_server_lost_at_its_end_follows_what_it_kept(scene: Scene) -> None:
    await scene.raise_(1)
    await scene.relay()
    await scene.raise_(2, 3)
    await scene.store.outbox.delete([entry.id for entry in await scene.store.outbox.take(500)])

    for _ in range(2):
        await scene.broadcasting.mend()
    assert await scene.held() == await scene.kept()
    assert list(await scene.held()) == [1, 2, 3]


async def test_an_alarm_does_not_wait_behind_a_backlog(scene: Scene) -> None:
    await scene.raise_(1, 2)

    assert await scene.broadcasting.ahead() == 2
    assert list(await scene.held()) == [1, 2]
    assert await scene.relay() == 2, "the entries that waited are found to be published already"
    assert list(await scene.held()) == [1, 2]


async def test_a_server_that_takes_no_writes_keeps_the_order(scene: Scene) -> None:
    await scene.raise_(1, 2)
    await scene.client.set(scene.stream, "no stream")

    with pytest.raises(TryLater, match="keeps it"):
        await scene.relay()
    await scene.client.delete(scene.stream)
    assert await scene.relay() == 2
    assert list(await scene.held()) == [1, 2]


async def test_streams_keep_as_much_as_their_time_says(scene: Scene) -> None:
    """By the times in the database: stream ids are not times."""
    await scene.client.config_set("stream-node-max-entries", 1)
    try:
        await scene.raise_(*range(1, 21))
        await scene.relay()
        scene.clock.advance(8 * DAY)
        await scene.raise_(21)
        await scene.relay()

        assert await scene.broadcasting.trim(scene.clock.now()) == 20
        assert list(await scene.held()) == [21]
        await scene.store.signals.purge_signals(
            500, broadcasts_before=scene.clock.now() - 7 * DAY, ended_before=0, now=scene.clock.now()
        )
        assert await scene.broadcasting.trim(scene.clock.now()) == 0
        assert list(await scene.held()) == [21]
        scene.clock.advance(8 * DAY)
        await scene.store.signals.purge_signals(
            500, broadcasts_before=scene.clock.now(), ended_before=0, now=scene.clock.now()
        )
        assert await scene.broadcasting.trim(scene.clock.now()) == 1, "also if the store has deleted its rows first"
        assert await scene.broadcasting.mend() == 0
    finally:
        await scene.client.config_set("stream-node-max-entries", 100)
