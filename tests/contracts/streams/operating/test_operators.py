"""What operators see of streams and can do to them, on every server: lag, replays, pauses, outside readers."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from structlog.testing import capture_logs

from openbrain.domain.errors import NotFound, SetupError, TryLater
from openbrain.domain.events.streams import STORED, replays
from openbrain.ports.streams import OutsideGroup, Readers
from openbrain.settings import Streams
from openbrain.streams.dead_letters.replay import MOST, drop_settled
from openbrain.streams.group.delivery import Delivery
from openbrain.streams.monitoring.gauges import behind
from openbrain.streams.operating.administration import RedisStreams
from openbrain.streams.operating.redelivery import Redelivery
from openbrain.streams.operating.trim import plan, recreate_groups, trim, with_outside_groups
from tests.support.streams.consumers import Seen, eventually, looking, publish, service, started, stored
from tests.support.streams.views import fill, group_of


async def test_lag_is_counted_where_the_server_can_not_tell(settings: Streams, redis: Any, admin: RedisStreams) -> None:
    stream = settings.prefix + STORED.name
    ids = await fill(redis, stream, 5000)
    await redis.xgroup_create(stream, "embedder", ids[99])
    (found,) = await redis.xinfo_groups(stream)
    assert found["lag"] is None, "otherwise this test proves nothing"

    seen = await group_of(admin)

    assert (seen.lag, seen.pending, seen.readers) == (4900, 0, Readers.SERVICE)
    assert seen.oldest_undelivered_s is not None
    assert 0 <= seen.oldest_undelivered_s < 600


async def test_what_a_restarted_server_counts_as_unread_is_no_lag(
    settings: Streams, redis: Any, admin: RedisStreams
) -> None:
    stream = settings.prefix + STORED.name
    ids = await fill(redis, stream, 50)
    # As Redis 7.0 restarts from its log: with the group's position, and its count from when the log was last rewritten.
    await redis.execute_command("XGROUP", "CREATE", stream, "embedder", ids[-1], "ENTRIESREAD", 20)
    (found,) = await redis.xinfo_groups(stream)
    assert found["lag"] == 30, "otherwise this test proves nothing"

    seen = await group_of(admin)
    assert (seen.lag, seen.pending, seen.oldest_undelivered_s) == (0, 0, None)
    assert await behind(redis, stream, ["embedder"]) == 0

    await fill(redis, stream, 1)
    assert (await group_of(admin)).lag > 0


async def test_a_replay_goes_though_a_restarted_server_counts_it_as_unread(redis: Any, settings: Streams) -> None:
    stream = settings.prefix + STORED.name
    replay = replays(stream, "embedder")
    ids = await fill(redis, replay, 50)
    await redis.execute_command("XGROUP", "CREATE", replay, "embedder", ids[-2], "ENTRIESREAD", 20)
    assert await drop_settled(redis, stream, "embedder") > 0
    await redis.execute_command("XGROUP", "SETID", replay, "embedder", ids[-1], "ENTRIESREAD", 20)

    assert await drop_settled(redis, stream, "embedder") == 0
    assert not await redis.exists(replay)


async def test_a_replay_of_the_last_possible_id_goes_once_it_is_settled(redis: Any, settings: Streams) -> None:
    stream = settings.prefix + STORED.name
    replay, last = replays(stream, "embedder"), f"{2**64 - 1}-{2**64 - 1}"
    await redis.xadd(replay, {"a": "b"}, id=last)
    await redis.xgroup_create(replay, "embedder", last)

    assert await drop_settled(redis, stream, "embedder") == 0
    assert not await redis.exists(replay)


async def test_a_group_that_never_came_lags_by_the_whole_stream(
    settings: Streams, redis: Any, admin: RedisStreams
) -> None:
    stream = settings.prefix + STORED.name
    ids = await fill(redis, stream, 7)
    await redis.xgroup_create(stream, "mystery", "0")
    (seen,) = await admin.look(STORED.name, [(STORED.name, "warehouse")])

    assert (seen.length, seen.first_id, seen.last_id) == (7, ids[0].decode(), ids[-1].decode())
    assert [(each.name, each.readers, each.exists, each.lag) for each in seen.groups] == [
        ("embedder", Readers.SERVICE, False, 7),
        ("indexer-text", Readers.SERVICE, False, 7),
        ("warehouse", Readers.OUTSIDE, False, 7),
        ("mystery", Readers.UNREGISTERED, True, 7),
    ]


async def test_parked_entries_are_shown_with_when_they_are_due(settings: Streams, admin: RedisStreams) -> None:
    slow = settings.model_copy(update={"backoff_s": (30.0, 60.0)})
    admin = RedisStreams(slow)

    async def fail(_: Sequence[Delivery[Any]]) -> None:
        raise LookupError

    async with started(service(slow, Seen(fail))), looking(slow) as looks:
        await publish(slow, stored(1))
        await eventually(looks.parked)
        seen = await group_of(admin)
        await admin.close()

    assert (seen.parked, seen.pending, len(seen.due)) == (1, 1, 1)
    assert 0 < seen.due[0].due_in_s <= 30
    assert seen.oldest_pending_s is not None


async def test_a_replay_is_read_by_its_group_and_disturbs_no_other(
    settings: Streams, redis: Any, admin: RedisStreams, work: Redelivery
) -> None:
    stream = settings.prefix + STORED.name
    ours, theirs = Seen(), Seen()
    async with started(service(settings, ours), service(settings, theirs, "indexer-text")), looking(settings) as looks:
        await publish(settings, *map(stored, range(20)))
        await eventually(looks.idle)
        before = await redis.xinfo_groups(stream)
        span = await admin.span(STORED.name, "-", "+")
        handed = await work.hand_over(STORED.name, "embedder", "-", span.to_id, 1000)
        assert (span.entries, handed.entries, handed.more) == (20, 20, False)
        await eventually(lambda: len(ours.all) == 40)

        async def settled() -> bool:
            return await work.unsettled(STORED.name, "embedder") == 0

        await eventually(settled)
        after = await redis.xinfo_groups(stream)

    assert sorted(ours.all) == sorted([*range(20), *range(20)])
    assert sorted(theirs.all) == list(range(20))
    assert [each["lag"] for each in after] == [0, 0]
    assert [each["last-delivered-id"] for each in before] == [each["last-delivered-id"] for each in after]
    assert not await redis.exists(replays(stream, "embedder"), f"{replays(stream, 'embedder')}.embedder.retries")


async def test_a_replay_that_nobody_reads_does_not_grow(settings: Streams, redis: Any, work: Redelivery) -> None:
    stream = settings.prefix + STORED.name
    ids = await fill(redis, stream, MOST + 300)
    place, handed = "-", 0
    for _ in range(20):
        step = await work.hand_over(STORED.name, "embedder", place, "+", 200)
        handed += step.entries
        place = f"({step.last_id}" if step.last_id else place

    assert (handed, step.more, step.waiting) == (MOST, True, MOST)
    assert place == f"({ids[MOST - 1].decode()}"
    replay = replays(stream, "embedder")
    await redis.xreadgroup("embedder", "c", {replay: ">"}, count=500)
    read: Any = await redis.xpending_range(replay, "embedder", "-", "+", 500)
    await redis.xack(replay, "embedder", *(each["message_id"] for each in read))
    step = await work.hand_over(STORED.name, "embedder", place, "+", 200)
    assert step.entries == 200
    assert await redis.xlen(replay) == MOST - 500 + 1 + 200, "settled entries were trimmed"


async def test_an_entry_of_very_many_fields_does_not_stop_a_replay(
    settings: Streams, redis: Any, work: Redelivery
) -> None:
    """Lua can't pass that many values to a command. What a reader looks at is kept."""
    stream = settings.prefix + STORED.name
    await fill(redis, stream, 1)
    many = {f"field {number}": b"x" for number in range(5000)}
    await redis.xadd(stream, {**many, "__data__": stored(1)})
    await redis.xadd(stream, many)
    await fill(redis, stream, 1)

    step = await work.hand_over(STORED.name, "embedder", "-", "+", 200)

    assert (step.entries, step.more) == (4, False)
    copied = [fields for _, fields in await redis.xrange(replays(stream, "embedder"))]
    assert [fields.get(b"__data__") for fields in copied] == [stored(0), stored(1), None, stored(0)]


async def test_live_entries_go_before_a_replay(settings: Streams, redis: Any, work: Redelivery) -> None:
    """Each batch of live entries is handled before the waiting replay."""
    gate, order = asyncio.Event(), list[str]()

    async def note(batch: Sequence[Delivery[Any]]) -> None:
        await gate.wait()
        order.extend("again" if delivery.stream.endswith(".replay") else "live" for delivery in batch)

    stream = settings.prefix + STORED.name
    await fill(redis, stream, 3)
    await work.hand_over(STORED.name, "embedder", "-", "+", 10)
    await publish(settings, *map(stored, range(3, 9)))
    reading = service(settings.model_copy(update={"batch": 3}), Seen(note))  # full batches: more entries wait
    async with started(reading):
        await eventually(lambda: reading._session and reading._session.runtime.replaying)
        gate.set()
        await eventually(lambda: len(order) == 12)

    assert order == ["live"] * 9 + ["again"] * 3


async def test_a_paused_room_takes_nothing_up_and_resumes(settings: Streams) -> None:
    wanted, seen = {"paused": True}, Seen()

    async def paused() -> bool:
        return wanted["paused"]

    resting = service(settings, seen, paused=paused)
    async with started(resting), looking(settings) as looks:
        await publish(settings, *map(stored, range(3)))
        await eventually(lambda: resting.paused)
        assert (seen.all, await resting.unready(), resting.stuck()) == ([], {}, [])
        wanted["paused"] = False
        await eventually(lambda: len(seen.all) == 3)
        wanted["paused"] = True
        await eventually(lambda: resting.paused)
        await publish(settings, stored(3))
        admin = RedisStreams(settings)
        await asyncio.sleep(3 * settings.tuning.poll_s)
        state = await group_of(admin)
        await admin.close()
        assert (seen.all, state.lag + state.pending) == ([0, 1, 2], 1)
        wanted["paused"] = False
        await eventually(looks.idle)
    assert seen.all == [0, 1, 2, 3]


@pytest.mark.parametrize("error", [TryLater("it is down"), SetupError("it refuses the password")])
async def test_a_database_that_does_not_say_is_no_defect_and_hides_no_replay(
    settings: Streams, redis: Any, work: Redelivery, error: Exception
) -> None:
    async def paused() -> bool:
        raise error

    await fill(redis, settings.prefix + STORED.name, 1)
    await work.hand_over(STORED.name, "embedder", "-", "+", 10)
    resting = service(settings, Seen(), paused=paused)
    with capture_logs() as logs:
        async with started(resting):
            await eventually(lambda: resting._session and resting._session.runtime.replaying)
    assert "streams.controls_failed" not in {line["event"] for line in logs}


async def test_a_reader_from_outside_holds_its_stream(settings: Streams, redis: Any, admin: RedisStreams) -> None:
    stream = settings.prefix + STORED.name
    await fill(redis, stream, 5)
    assert await admin.make_group(STORED.name, "warehouse", at_end=True)
    assert not await admin.make_group(STORED.name, "warehouse", at_end=False)
    await fill(redis, stream, 3)
    outside = [OutsideGroup(stream=STORED.name, name="warehouse", actor="ada", reason="", created_at=0)]
    (found,) = await redis.xinfo_groups(stream)
    assert found["lag"] == 3

    for name in ("embedder", "indexer-text"):
        await redis.xgroup_create(stream, name, "$")
    kept = with_outside_groups(plan(settings), settings, outside)
    report = next(each for each in await trim(redis, kept, -60) if each.stream == stream)
    assert (report.held_back_by, report.unregistered) == ("warehouse", ())
    (seen,) = await admin.look(STORED.name, [(STORED.name, "warehouse")])
    assert next(each for each in seen.groups if each.name == "warehouse").lag == 3

    report = next(each for each in await trim(redis, plan(settings), -60) if each.stream == stream)
    assert (report.held_back_by, report.unregistered) == ("embedder", ("warehouse",)), "it has read everything"
    await redis.delete(stream)
    assert await recreate_groups(redis, settings, outside) == 1
    assert await recreate_groups(redis, settings, outside) == 0
    assert await admin.drop_group(STORED.name, "warehouse") == 0
    with pytest.raises(NotFound):
        await admin.drop_group(STORED.name, "warehouse")
