"""Dead letters on every server: listed, replayed, discarded, and created by hand."""

from collections.abc import Sequence
from typing import Any

from openbrain.domain.errors import NeverRetry
from openbrain.domain.events.streams import STORED, dead_letters, replays
from openbrain.ports.streams import Burial, DeadFilter, DeadLetter, Revival
from openbrain.settings import Streams
from openbrain.streams.group.delivery import Delivery
from openbrain.streams.operating.administration import RedisStreams
from openbrain.streams.operating.redelivery import Redelivery
from tests.support.streams.consumers import Seen, eventually, looking, publish, service, started, stored
from tests.support.streams.views import fill, group_of


async def test_a_dead_letter_is_one_until_it_is_delivered_again(
    settings: Streams, redis: Any, admin: RedisStreams, work: Redelivery
) -> None:
    refuse = {1, 2}

    async def handle(batch: Sequence[Delivery[Any]]) -> list[Exception | None]:
        return [NeverRetry("no") if int(each.event.id) in refuse else None for each in batch]

    seen = Seen(handle)
    async with started(service(settings, seen)), looking(settings) as looks:
        await publish(settings, *map(stored, range(4)))
        await eventually(looks.idle)
        letters, after = await admin.dead(DeadFilter(group="embedder", error="NeverRetry"), 10)
        assert (len(letters), after) == (2, None)
        assert await admin.count_dead(DeadFilter(error="NeverRetry")) == 2
        assert await admin.count_dead(DeadFilter(error="Other")) == 0
        assert await admin.count_dead(DeadFilter(until=letters[0].last_at)) == 0
        assert await admin.count_dead(DeadFilter(since=letters[0].last_at)) == 2
        assert [await admin.count_dead(DeadFilter(until=before)) for before in (0, -1, -(10**15))] == [0, 0, 0]
        assert await admin.count_dead(DeadFilter(since=-(10**15))) == 2
        first = await admin.dead_letter(letters[0].id)
        assert first is not None
        assert first.fields["__data__"].encode() in (stored(1), stored(2))
        assert (first.attempts, first.stream, first.group) == (1, STORED.name, "embedder")

        refuse.remove(1)
        ids = [each.id for each in letters]
        assert await work.revive(ids) == [Revival.DELIVERED] * 2
        assert await work.revive(ids) == [Revival.GONE] * 2
        await eventually(lambda: seen.all.count(1) == seen.all.count(2) == 2)

        async def again() -> bool:
            found, _ = await admin.dead(DeadFilter(), 10)
            return [each.fields["__data__"] for each in found] == [stored(2).decode()]

        await eventually(again, why="what was refused again is a dead letter again")
        (last,), _ = await admin.dead(DeadFilter(), 10)
        assert await work.discard([last.id, last.id]) == 1
        assert await admin.dead_letter(last.id) is None


async def test_a_revived_entry_is_as_it_was(settings: Streams, redis: Any, work: Redelivery) -> None:
    """Also if its fields have the names of a dead letter's fields."""
    stream = settings.prefix + STORED.name
    await redis.xgroup_create(stream, "embedder", "0", mkstream=True)
    entry = await redis.xadd(stream, {"__data__": stored(1), "stream": "mine", b"\xff": b"\xfe", "error": ""})
    await redis.xreadgroup("embedder", "c", {stream: ">"})
    assert await work.bury(STORED.name, "embedder", entry.decode(), "ada: looks odd") is Burial.BURIED
    ((letter, _),) = await redis.xrange(dead_letters(stream, "embedder"))

    assert await work.revive([f"{STORED.name}.embedder.{letter.decode()}"]) == [Revival.DELIVERED]
    ((_, fields),) = await redis.xrange(replays(stream, "embedder"))
    assert fields == {b"__data__": stored(1), b"stream": b"mine", b"\xff": b"\xfe", b"error": b""}


async def test_what_was_put_into_one_field_is_kept(settings: Streams, redis: Any, work: Redelivery) -> None:
    stream = settings.prefix + STORED.name
    await redis.xgroup_create(stream, "embedder", "0", mkstream=True)
    entry = await redis.xadd(stream, {f"field {number}": number for number in range(1200)})
    await redis.xreadgroup("embedder", "c", {stream: ">"})
    assert await work.bury(STORED.name, "embedder", entry.decode(), "ada: too wide") is Burial.BURIED
    ((letter, _),) = await redis.xrange(dead_letters(stream, "embedder"))

    name = f"{STORED.name}.embedder.{letter.decode()}"
    assert await work.revive([name]) == [Revival.NOT_WHOLE]
    assert len(await work.letters([name])) == 1


async def test_only_what_a_group_has_in_hand_is_buried(
    settings: Streams, redis: Any, admin: RedisStreams, work: Redelivery
) -> None:
    stream = settings.prefix + STORED.name
    first, second = await fill(redis, stream, 2)
    await redis.xgroup_create(stream, "embedder", "0")
    await redis.xreadgroup("embedder", "stuck", {stream: ">"}, count=1)

    assert await work.bury(STORED.name, "embedder", second.decode(), "x") is Burial.NOT_IN_HAND
    for _ in range(2):
        assert await work.bury(STORED.name, "embedder", first.decode(), "ada: it hangs") is Burial.BURIED
    seen = await group_of(admin)
    assert (seen.lag, seen.pending, seen.dead_letters) == (1, 0, 1)
    (letter,), _ = await admin.dead(DeadFilter(), 10)
    assert (letter.error, letter.message, letter.entry) == ("Buried", "ada: it hangs", first.decode())

    third = (await fill(redis, stream, 1))[0]
    await redis.xreadgroup("embedder", "stuck", {stream: ">"})
    await redis.xtrim(stream, maxlen=0, approximate=False)
    assert await work.bury(STORED.name, "embedder", third.decode(), "x") is Burial.GONE


async def test_a_list_goes_on_where_it_ended(settings: Streams, redis: Any, admin: RedisStreams) -> None:
    stream = settings.prefix + STORED.name
    for name in ("embedder", "indexer-text"):
        for number in range(450):
            await redis.xadd(dead_letters(stream, name), {"__data__": "x", "error": "Odd" if number % 2 else "Even"})
    found: list[DeadLetter] = []
    after: str | None = ""
    pages = 0
    while after is not None:
        page, after = await admin.dead(DeadFilter(error="Odd"), 100, after)
        found += page
        pages += 1

    assert len({each.id for each in found}) == len(found) == 450
    assert pages == 5
    assert await admin.count_dead(DeadFilter(error="Odd")) == 450
