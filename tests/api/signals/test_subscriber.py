"""A subscriber receives every signal at least once, by Redis and by the API, and knows whether it must stop."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from openbrain.adapters.redis.broadcasts import BroadcastStream
from openbrain.client.subscriber import FileCursor, MemoryCursor, Subscriber
from openbrain.domain.errors import Halted
from openbrain.domain.signals.values import HaltState, SignalState
from tests.servers.processes.process import Server
from tests.support.signals.agents import Ear, HandApi, Store, Wire, wire
from tests.support.streams.consumers import eventually

OPEN, RESUMED = HaltState.OPEN, HaltState.RESUMED


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture(params=["redis", "valkey"])
async def stream(request: pytest.FixtureRequest) -> AsyncIterator[Wire]:
    server: Server = request.getfixturevalue(f"{request.param}_server")
    made = wire(server.url)
    yield made
    await made.client.delete(made.name)
    await made.client.aclose()


def subscriber(store: Store, ear: Any, stream: Wire | None = None, **more: Any) -> Subscriber:
    reading = BroadcastStream(stream.settings, stream.workspace) if stream else None
    return Subscriber(HandApi(store), ear, stream=reading, **({"beat_s": 60} | more))


@asynccontextmanager
async def hearing(store: Store, stream: Wire | None = None, **more: Any) -> AsyncIterator[tuple[Subscriber, Ear]]:
    ear = Ear()
    async with subscriber(store, ear, stream, **more) as made:
        yield made, ear


async def said(store: Store, stream: Wire | None, count: int) -> None:
    for _ in range(count):
        made = await store.say()
        if stream:
            await stream.publish(made)


async def test_it_hears_by_redis(store: Store, stream: Wire) -> None:
    async with hearing(store, stream) as (_, ear):
        await said(store, stream, 20)
        await eventually(lambda: ear.heard == list(range(1, 21)))


async def test_it_hears_without_redis(store: Store) -> None:
    async with hearing(store) as (_, ear):
        await said(store, None, 120)
        await eventually(lambda: ear.heard == list(range(1, 121)))


async def test_a_late_joiner_hears_what_burns_now_and_then_what_comes(store: Store, stream: Wire) -> None:
    await said(store, stream, 3)
    store.said[1] = store.said[1].model_copy(update={"state": SignalState.RESOLVED})
    async with hearing(store, stream) as (_, ear):
        await eventually(lambda: ear.heard == [1, 3])
        await said(store, stream, 1)
        await eventually(lambda: ear.heard == [1, 3, 4])


async def test_what_came_while_it_was_away_is_heard_also_without_the_stream(store: Store, stream: Wire) -> None:
    """If the entries were trimmed, flushed or never published, the database has them."""
    cursor = MemoryCursor()
    async with hearing(store, stream, cursor=cursor) as (_, ear):
        await said(store, stream, 2)
        await eventually(lambda: ear.heard == [1, 2])
    await said(store, None, 130)
    await stream.publish(*store.said[-2:])

    async with hearing(store, stream, cursor=cursor) as (_, ear):
        await eventually(lambda: ear.heard == list(range(3, 133)))


async def test_a_gap_is_filled_in_order(store: Store, stream: Wire) -> None:
    async with hearing(store, stream) as (_, ear):
        await said(store, stream, 1)
        await said(store, None, 3)
        await said(store, stream, 1)
        await eventually(lambda: ear.heard == [1, 2, 3, 4, 5])


async def test_while_the_api_is_away_what_comes_is_told_and_the_cursor_waits_for_the_rest(
    store: Store, stream: Wire
) -> None:
    cursor = MemoryCursor()
    async with hearing(store, stream, cursor=cursor) as (made, ear):
        await said(store, stream, 1)
        await eventually(lambda: cursor.seq == 1)
        store.away = True
        await said(store, None, 2)
        await said(store, stream, 2)
        await eventually(lambda: ear.heard == [1, 4, 5])
        assert cursor.seq == made.standing.cursor == 1
        store.away = False
        await eventually(lambda: ear.heard == [1, 4, 5, 2, 3])
        await eventually(lambda: cursor.seq == 5)


async def test_a_flushed_server_costs_nothing(store: Store, stream: Wire) -> None:
    """What was being delivered at the flush is fetched from the database."""
    async with hearing(store, stream) as (_, ear):
        await said(store, stream, 2)
        await eventually(lambda: ear.heard == [1, 2])
        await stream.client.delete(stream.name)
        await said(store, None, 1)
        await eventually(lambda: ear.heard == [1, 2, 3])
        await said(store, stream, 1)
        await eventually(lambda: ear.heard == [1, 2, 3, 4])


async def test_a_fleet_that_loses_its_stream_server_asks_the_api_once_each(store: Store) -> None:
    """Its stream begins with all that a poll would return."""
    async with hearing(store, wire("redis://127.0.0.1:1")) as (made, ear):
        await eventually(lambda: not made.standing.by_stream)
        await store.say("h-1", OPEN)
        await eventually(lambda: ear.heard == [1])
        assert store.looks == 2  # both from the start
        assert made.standing.halted


async def test_where_no_stream_is_to_be_had_it_looks(store: Store) -> None:
    store.full = True
    async with hearing(store, wire("redis://127.0.0.1:1")) as (_, ear):
        for heard in ([1, 2], [1, 2, 3, 4]):
            await said(store, None, 2)
            await eventually(lambda heard=heard: ear.heard == heard)  # type: ignore[misc]


async def test_entries_of_others_are_passed_over(store: Store, stream: Wire) -> None:
    async with hearing(store, stream) as (_, ear):
        await store.say()
        await stream.client.xadd(stream.name, {"__data__": b"{}"}, id="1-0")
        await said(store, stream, 1)
        await eventually(lambda: ear.heard == [1, 2])


async def test_what_the_truth_keeps_no_longer_is_told_as_it_stands_now(store: Store) -> None:
    """It was away for longer than broadcasts are kept."""
    await said(store, None, 9)
    store.kept_from = 6
    async with hearing(store, cursor=MemoryCursor(2)) as (_, ear):
        await eventually(lambda: set(ear.heard) == set(range(3, 10)))


async def test_a_truth_that_was_put_back_is_followed(store: Store, stream: Wire) -> None:
    await said(store, None, 9)
    cursor = MemoryCursor(9)
    del store.said[4:]
    async with hearing(store, stream, cursor=cursor) as (_, ear):
        await said(store, stream, 1)
        await eventually(lambda: ear.heard == [1, 2, 3, 4, 5])
        await eventually(lambda: cursor.seq == 5)


async def test_a_state_that_is_a_moment_old_is_no_truth_that_was_put_back(store: Store) -> None:
    await said(store, None, 9)
    store.behind = 3
    async with hearing(store, cursor=MemoryCursor(9)) as (_, ear):
        await said(store, None, 1)
        await eventually(lambda: bool(ear.heard))
        assert ear.heard == [10]


async def test_a_handler_that_raises_is_asked_again_and_holds_nobody_up(store: Store) -> None:
    tries: list[int] = []

    async def moody(signal: Any) -> None:
        tries.append(signal.seq)
        if signal.seq == 1 or tries.count(2) == 1 == signal.seq - 1:
            raise ValueError("not in the mood")

    cursor = MemoryCursor()
    async with subscriber(store, moody, attempts=2, cursor=cursor):
        await said(store, None, 3)
        await eventually(lambda: tries == [1, 1, 2, 2, 3])
        await eventually(lambda: cursor.seq == 3)


async def test_a_signal_that_was_not_handled_to_its_end_comes_again(store: Store, tmp_path: Path) -> None:
    begun = asyncio.Event()

    async def hangs(signal: Any) -> None:
        if signal.seq == 2:
            begun.set()
            await asyncio.Event().wait()

    cursor = FileCursor(tmp_path / "agents" / "ada")
    async with subscriber(store, hangs, cursor=cursor):
        await said(store, None, 3)
        await begun.wait()
    assert (tmp_path / "agents" / "ada").read_text() == "1\n"

    async with hearing(store, cursor=cursor) as (_, ear):
        await eventually(lambda: ear.heard == [2, 3])


async def test_a_cursor_that_is_no_number_counts_as_none(tmp_path: Path) -> None:
    (tmp_path / "cursor").write_bytes(b"\xff\x00")

    assert await FileCursor(tmp_path / "cursor").load() is None
    assert await FileCursor(tmp_path / "none").load() is None


async def test_a_halt_is_known_before_the_handler_and_acknowledged(store: Store, stream: Wire) -> None:
    """Also with a handler that hangs."""

    async def hangs(_: Any) -> None:
        await asyncio.Event().wait()

    async with subscriber(store, hangs, stream) as made:
        await made.guard(wait=False)
        await said(store, stream, 1)
        await stream.publish(await store.say("h", OPEN))
        await eventually(lambda: made.standing.halted)
        with pytest.raises(Halted, match="h"):
            await made.guard(wait=False)
        await eventually(lambda: ("ada", "h") in store.acknowledged)

        waiting = asyncio.create_task(made.guard())
        await said(store, stream, 1)
        assert not waiting.done()
        await stream.publish(await store.say("h", RESUMED))
        await waiting


async def test_a_late_joiner_is_halted_at_once(store: Store) -> None:
    await store.say("h", OPEN)
    async with subscriber(store, Ear()) as made:
        assert made.standing.halted
        await eventually(lambda: ("ada", "h") in store.acknowledged)


async def test_who_comes_back_to_a_halt_that_is_over_goes_on(store: Store) -> None:
    await store.say("h", OPEN)
    await store.say("h", RESUMED)
    async with hearing(store, cursor=MemoryCursor(0)) as (made, ear):
        await eventually(lambda: ear.heard == [1, 2])
        assert not made.standing.halted


async def test_a_halt_is_told_though_something_before_it_is_missing(store: Store, stream: Wire) -> None:
    async with hearing(store, stream) as (made, _):
        store.away = True
        await store.say()
        await stream.publish(await store.say("h", OPEN))
        await eventually(lambda: made.standing.halted)
        assert ("ada", "h") not in store.acknowledged
        store.away = False
        await eventually(lambda: ("ada", "h") in store.acknowledged)


async def test_who_is_cut_off_for_too_long_stands_still_where_it_is_so_configured(store: Store) -> None:
    now = [0.0]
    async with hearing(store, clock=lambda: now[0], halted_when_cut_off_s=30) as (made, _):
        store.away = True
        await eventually(lambda: not made.standing.halted)
        now[0] += 31
        assert made.standing.cut_off
        with pytest.raises(Halted, match="30 s"):
            await made.guard(wait=False)
        waiting = asyncio.create_task(made.guard())
        store.away = False
        await waiting


async def test_who_is_cut_off_goes_on_where_nothing_is_configured(store: Store) -> None:
    now = [0.0]
    async with hearing(store, clock=lambda: now[0]) as (made, _):
        store.away = True
        now[0] += 1e9
        await made.guard(wait=False)


async def test_it_begins_while_the_api_is_away(store: Store, stream: Wire) -> None:
    await said(store, stream, 3)
    store.away = True
    async with hearing(store, stream, cursor=MemoryCursor(1)) as (_, ear):
        await eventually(lambda: ear.heard == [2, 3])


async def test_it_says_that_it_is_there_and_how_far(store: Store) -> None:
    async with hearing(store, cursor=MemoryCursor(0), beat_s=0.05) as (_, ear):
        await said(store, None, 2)
        await eventually(lambda: store.seen["ada"] == 2)
        assert ear.heard == [1, 2]
