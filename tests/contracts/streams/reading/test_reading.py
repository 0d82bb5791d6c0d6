"""Reading: every entry arrives, whatever else is in the stream and whenever the group was made."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from openbrain.domain.errors import NeverRetry, SetupError
from openbrain.domain.events.streams import STORED, SUBMITTED
from openbrain.streams.group.delivery import Delivery, Results
from openbrain.streams.group.subscription import Subscription
from openbrain.streams.reading.service import Service
from tests.servers.plugin import Starter
from tests.support.streams.consumers import (
    Seen,
    eventually,
    looking,
    memory_id,
    publish,
    scaled,
    service,
    started,
    stored,
)
from tests.support.waiting import PATIENCE_S

SERVERS = ("valkey", "redis")


@pytest.fixture(params=SERVERS)
def url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(f"{request.param}_server").url)


async def test_what_was_there_before_the_group_and_what_comes_later_arrives(url: str) -> None:
    settings, seen = scaled(url), Seen()
    await publish(settings, stored(1), stored(2))
    async with looking(settings) as looks, started(service(settings, seen)):
        await eventually(lambda: seen.all == [1, 2])
        await publish(settings, stored(3))
        await eventually(lambda: seen.all == [1, 2, 3])
        await eventually(looks.idle)


async def test_a_delivery_carries_its_event_and_its_place(url: str) -> None:
    settings, seen = scaled(url), Seen()
    await publish(settings, stored(7))
    async with started(service(settings, seen)):
        await eventually(lambda: seen.deliveries)

    (delivery,) = seen.deliveries
    assert delivery.stream == settings.prefix + "memory.stored"
    assert delivery.event.data.memory_id == memory_id(7)
    assert delivery.raw == stored(7)
    assert (delivery.workspace, delivery.failures, delivery.abandonments) == (None, 0, 0)
    assert delivery.id.count("-") == 1


async def test_batches_are_bounded(url: str) -> None:
    settings, seen = scaled(url, batch=4), Seen()
    await publish(settings, *(stored(number) for number in range(10)))
    async with started(service(settings, seen)):
        await eventually(lambda: len(seen.all) == 10)

    assert [len(batch) for batch in seen.batches] == [4, 4, 2]


async def test_a_room_that_starts_again_goes_on_where_it_was(url: str) -> None:
    settings, seen = scaled(url), Seen()
    again = service(settings, seen)
    for number in range(3):
        await publish(settings, stored(number))
        async with looking(settings) as looks, started(again):
            await eventually(lambda: len(seen.all) == number + 1)  # noqa: B023 - awaited within the turn
            await eventually(looks.idle)

    assert seen.all == [0, 1, 2]


async def test_malformed_entries_are_dead_letters_and_their_neighbours_are_handled(url: str) -> None:
    settings, seen = scaled(url), Seen()
    wrong_type = stored(5).replace(b"openbrain.memory.stored.v1", b"openbrain.memory.embedded.v1")
    wrong_data = stored(6).replace(b'"revision":1', b'"revision":"none"')
    await publish(settings, stored(1), b"\xff\xfe", stored(2), wrong_type, wrong_data, b"[]", stored(3))
    async with looking(settings) as looks:
        await looks.client.xadd(looks.stream, {"body": "no such field", "stream": "mine"})
        await publish(settings, stored(4))
        async with started(service(settings, seen)):
            await eventually(looks.idle)
        dead = await looks.dead()

    assert sorted(seen.all) == [1, 2, 3, 4]
    assert [letter["error"] for letter in dead] == ["Invalid"] * 5
    assert dead[1]["message"] == "type: must be openbrain.memory.stored.v1 on this stream"
    assert dead[2]["message"].startswith("data.revision: ")
    assert dead[4]["message"] == "__data__: the entry has no such field"
    assert dead[4]["body"] == "no such field"
    assert (dead[4]["entry.stream"], dead[4]["stream"]) == ("mine", settings.prefix + "memory.stored")


async def test_an_entry_of_very_many_fields_is_a_dead_letter_too(url: str) -> None:
    settings, seen = scaled(url), Seen()
    async with looking(settings) as looks:
        await looks.client.xadd(looks.stream, {f"field{number}": "x" for number in range(5000)})
        await publish(settings, stored(1))
        async with started(service(settings, seen)):
            await eventually(looks.idle)
        (letter,) = await looks.dead()

    assert seen.all == [1]
    assert '"field4999"' in letter["entry.fields"]


async def test_one_bad_item_never_harms_its_neighbours(url: str) -> None:
    async def fail_on_3(batch: Sequence[Delivery[Any]]) -> None:
        if any(delivery.event.id == "3" for delivery in batch):
            raise RuntimeError

    settings, seen = scaled(url, backoff_s=(60,)), Seen(fail_on_3)
    await publish(settings, *(stored(number) for number in range(6)))
    async with looking(settings) as looks, started(service(settings, seen)):
        await eventually(lambda: len(seen.batches) == 7)
        await eventually(looks.parked)

        async def one_is_left() -> bool:
            return await looks.pending() == 1

        await eventually(one_is_left)

    assert seen.batches == [[0, 1, 2, 3, 4, 5], [0], [1], [2], [3], [4], [5]]


async def test_results_speak_for_each_item(url: str) -> None:
    async def some(batch: Sequence[Delivery[Any]]) -> Results:
        errors = {"1": ValueError("again"), "2": NeverRetry("refused for good")}
        return [errors.get(delivery.event.id) for delivery in batch]

    settings, seen = scaled(url, backoff_s=(60,)), Seen(some)
    await publish(settings, *(stored(number) for number in range(4)))
    async with looking(settings) as looks, started(service(settings, seen)):
        await eventually(looks.parked)
        await eventually(looks.dead)
        assert await looks.pending() == 1
        (letter,) = await looks.dead()

    assert seen.batches == [[0, 1, 2, 3]]
    assert (letter["error"], letter["message"], letter["attempts"]) == ("NeverRetry", "refused for good", "1")


async def test_a_wrong_number_of_results_acknowledges_nothing(url: str) -> None:
    async def too_few(batch: Sequence[Delivery[Any]]) -> Results:
        return [None] * (len(batch) - 1)

    settings, seen = scaled(url, backoff_s=(60,)), Seen(too_few)
    await publish(settings, stored(1), stored(2))
    async with looking(settings) as looks, started(service(settings, seen)):
        await eventually(lambda: len(seen.batches) == 3)

        async def both_parked() -> bool:
            return len(await looks.parked()) == 2

        await eventually(both_parked)


async def test_a_stream_bound_to_a_workspace_is_read_beside_the_shared_one(url: str) -> None:
    settings = scaled(url, bound_workspaces=("acme",))
    heard: list[tuple[str | None, str | None]] = []

    async def note(batch: Sequence[Delivery[Any]]) -> None:
        heard.extend((delivery.workspace, delivery.event.data.workspace_id) for delivery in batch)

    both = [Subscription(spec=SUBMITTED, handler=note, workspace=each) for each in (None, "acme")]
    body = (
        b'{"specversion":"1.0","id":"1","source":"/x","type":"openbrain.memory.submitted.v1",'
        b'"data":{"content":"c","type":"fact","agent_id":"a","workspace_id":"other"}}'
    )
    async with started(Service("ingest", both, settings)):
        await publish(settings, body, stream="memory.submitted")
        await eventually(lambda: len(heard) == 1)
        await publish(settings, body, stream="memory.submitted.acme")
        await eventually(lambda: len(heard) == 2)

    assert heard == [(None, "other"), ("acme", "other")]


async def test_handlers_of_one_room_never_run_at_the_same_time(url: str) -> None:
    running, most = 0, 0

    async def slow(_: Sequence[Delivery[Any]]) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.02)
        running -= 1

    settings, lock = scaled(url, batch=1), asyncio.Lock()
    seen = Seen(slow)
    await publish(settings, *(stored(number) for number in range(8)))
    async with started(service(settings, seen, "one", lock=lock), service(settings, seen, "two", lock=lock)):
        await eventually(lambda: len(seen.all) == 16)

    assert most == 1


@pytest.mark.parametrize("gone", ["DEL", "XGROUP DESTROY"])
async def test_a_group_that_vanished_is_made_again_at_the_beginning(url: str, gone: str) -> None:
    settings, seen = scaled(url), Seen()
    await publish(settings, stored(1))
    async with looking(settings) as looks, started(service(settings, seen)):
        await eventually(looks.idle)
        if gone == "DEL":
            await looks.client.delete(looks.stream)
        else:
            await looks.client.xgroup_destroy(looks.stream, looks.group)
        await publish(settings, stored(2))
        await eventually(lambda: 2 in seen.all)
        await eventually(looks.idle)


@pytest.mark.parametrize("name", SERVERS)
async def test_a_flushed_server_is_read_on(private_server: Starter, name: str) -> None:
    settings, seen = scaled(private_server(name).url), Seen()
    reading = service(settings, seen)
    await publish(settings, stored(1))
    async with looking(settings) as looks, started(reading):
        await eventually(looks.idle)
        await looks.client.flushall()
        await publish(settings, stored(2), stored(3))
        await eventually(lambda: seen.all == [1, 2, 3])
        await eventually(looks.idle)
        assert reading.stuck() == []


@pytest.mark.parametrize("name", SERVERS)
async def test_a_room_waits_for_redis_and_can_be_stopped_while_it_waits(private_server: Starter, name: str) -> None:
    server = private_server(name)
    settings, seen = scaled(server.url), Seen()
    await publish(settings, stored(1))
    server.stop()
    patient, hasty = service(settings, seen), service(settings, Seen(), "other")
    starting = asyncio.create_task(patient.start())
    given_up = asyncio.create_task(hasty.start())
    await asyncio.sleep(0.3)
    assert not starting.done()
    assert "redis" in await patient.unready()
    await hasty.broker.stop()
    await asyncio.wait_for(given_up, PATIENCE_S)
    await hasty.stop()
    server.start()
    try:
        await asyncio.wait_for(starting, PATIENCE_S)
        await eventually(lambda: seen.all == [1])
        assert await patient.unready() == {}
    finally:
        await patient.stop()


async def test_a_room_must_read_each_stream_once() -> None:
    twice = [Subscription(spec=STORED, handler=Seen())] * 2
    with pytest.raises(SetupError, match="each once"):
        Service("embedder", twice, scaled("redis://localhost"))
    with pytest.raises(SetupError, match="at least one"):
        Service("embedder", [], scaled("redis://localhost"))


async def test_nothing_connects_before_the_room_starts() -> None:
    nowhere = scaled("redis://127.0.0.1:1")
    made = service(nowhere, Seen())
    assert made.app() is not None
    assert made.stuck() == []
    await made.measure()
    await made.stop()
