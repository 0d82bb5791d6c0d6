"""A rolling upgrade of events: two versions on one stream, and an old and a new service in one group."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from openbrain.domain.events.envelope import encode
from openbrain.domain.events.streams import STORED
from openbrain.domain.events.versions import Older
from openbrain.settings import Streams
from openbrain.streams.group.delivery import Delivery
from openbrain.streams.group.subscription import Subscription
from openbrain.streams.reading.service import Service
from tests.support.streams.consumers import eventually, looking, memory_id, publish, scaled, started, stored
from tests.unit.signals.test_versions import StoredV2, lift

NEXT = replace(STORED, data=StoredV2, version=2, older=(Older(version=1, data=STORED.data, lift=lift),))
"""The stream as code after the upgrade declares it."""


@pytest.fixture(params=("valkey", "redis"))
def url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(f"{request.param}_server").url)


class Code:
    """A service of one version of the code, which records what it was given."""

    def __init__(self, settings: Streams, spec: Any) -> None:
        self.seen: list[int] = []
        self.data: list[Any] = []
        self.service = Service("embedder", [Subscription(spec=spec, handler=self.handle)], settings)

    async def handle(self, batch: Sequence[Delivery[Any]]) -> None:
        self.seen += [int(delivery.event.id) for delivery in batch]
        self.data += [delivery.event.data for delivery in batch]
        await asyncio.sleep(0.005)  # so that the other service gets its share


def second(number: int) -> bytes:
    data = {"memory_id": memory_id(number), "state": "1/1"}
    return encode(STORED.name, data, event_id=str(number), at=0, version=2)


async def test_a_room_that_knows_both_versions_reads_both(url: str) -> None:
    settings = scaled(url)
    new = Code(settings, NEXT)
    await publish(settings, *(stored(number) if number % 2 else second(number) for number in range(20)))
    async with looking(settings) as looks, started(new.service):
        await eventually(looks.idle)
        assert await looks.dead() == []

    assert sorted(new.seen) == list(range(20))
    assert {each.state for each in new.data} == {"1/1"}


async def test_old_and_new_rooms_at_once_take_everything_between_them(url: str) -> None:
    """Events that an old service can't read wait for their next attempt, and a new service takes them."""
    settings = scaled(url, batch=4, backoff_s=(0.3,) * 30)
    old, new = Code(settings, STORED), Code(settings, NEXT)
    async with looking(settings) as looks, started(new.service):
        async with started(old.service):  # when most are of the new version it stops, and holds some until it ends
            for start in range(0, 200, 10):
                await publish(settings, *(stored(n) if n % 3 else second(n) for n in range(start, start + 10)))
            await eventually(lambda: old.seen)
        await eventually(looks.idle)
        assert await looks.dead() == []
        assert await looks.state() == {}

    assert sorted(old.seen + new.seen) == list(range(200))
    assert not [number for number in old.seen if number % 3 == 0]
    assert old.seen
    assert set(range(0, 200, 3)) <= set(new.seen)


async def test_an_old_room_alone_loses_no_new_version(url: str) -> None:
    """It continues with what it can read; the rest becomes complete dead letters, which new code accepts when they
    are replayed."""
    settings = scaled(url, backoff_s=(0.05, 0.05, 0.05))
    old, new = Code(settings, STORED), Code(settings, NEXT)
    async with looking(settings) as looks:
        async with started(old.service):
            await publish(settings, *(stored(number) for number in range(30)), second(99))
            await eventually(looks.dead)
            await eventually(looks.idle)
        assert sorted(old.seen) == list(range(30))
        (letter,) = await looks.dead()
        assert (letter["error"], letter["attempts"]) == ("UnknownVersion", "4")
        assert "upgrade this service, then replay" in letter["message"]
        assert letter["__data__"].encode() == second(99)

        await publish(settings, letter["__data__"].encode())
        async with started(new.service):
            await eventually(looks.idle)
    assert new.seen == [99]


async def test_where_producers_were_upgraded_first_old_rooms_stop_and_new_ones_take_all_of_it(url: str) -> None:
    settings = scaled(url, backoff_s=(0.2, 0.2, 0.2))
    old, new = Code(settings, STORED), Code(settings, NEXT)
    await publish(settings, *(second(number) for number in range(60)))
    async with looking(settings) as looks:
        async with started(old.service):
            await eventually(lambda: _unready(old.service))
            assert await looks.dead() == [], "nothing is discarded"
        async with started(new.service):
            await eventually(looks.idle)
        assert await looks.dead() == []

    assert sorted(new.seen) == list(range(60))
    assert old.seen == []


async def _unready(service: Service) -> bool:
    return bool(await service.unready())
