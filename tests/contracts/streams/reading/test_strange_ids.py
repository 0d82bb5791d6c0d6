"""With any entry ids, up to the highest possible, paging through a stream ends and counts each entry once."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from redis.asyncio import Redis

from openbrain.domain.events.streams import STORED, dead_letters, replays
from openbrain.ports.streams import DeadFilter
from openbrain.streams.dead_letters import listing
from openbrain.streams.dead_letters.replay import hand_over
from openbrain.streams.group.consumer_group import ConsumerGroup
from openbrain.streams.monitoring import inspection
from openbrain.streams.monitoring.oldest_entry import oldest_waiting
from openbrain.streams.operating.administration import RedisStreams
from openbrain.streams.redis import scripts
from openbrain.streams.redis.connection import connect
from openbrain.streams.redis.entry_ids import LAST
from openbrain.streams.redis.keys import PARKED
from tests.support.forms import examples
from tests.support.streams.consumers import scaled

PAGE = 2
GROUP = "embedder"
HIGHEST = 2**64 - 1
EDGES = [
    *("0-1", f"0-{HIGHEST}", "1-0", f"1-{HIGHEST}", "1763950000000-0", "1763950000000-1"),
    *(f"{HIGHEST}-0", f"{HIGHEST}-{HIGHEST - 1}", LAST),
]
"""Ids in order."""


@pytest.fixture(scope="module", params=("valkey", "redis"))
def server(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(f"{request.param}_server").url)


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    made = asyncio.new_event_loop()
    yield made
    made.close()


@pytest.fixture(scope="module", autouse=True)
def short_pages() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for module, name in ((scripts, "_COUNTED"), (inspection, "_PAGE"), (listing, "PAGE")):
            patch.setattr(module, name, PAGE)
        yield


async def looked_at(url: str, ids: Sequence[str], given: int, done: frozenset[int], *, told: bool) -> None:
    """Check a group to which the first `given` entries were delivered and which acknowledged those in `done`. Without
    `told`, the server does not know the group's lag."""
    streams = scaled(url)
    redis: Any = connect(streams)
    main = streams.prefix + STORED.name
    try:
        for key in (main, dead_letters(main, GROUP)):
            for entry in ids:
                await redis.xadd(key, {"__data__": b"{}"}, id=entry)
        await redis.xgroup_create(main, GROUP, "0")
        if given:
            await redis.xreadgroup(GROUP, PARKED, {main: ">"}, count=given)
        acknowledged = [entry for number, entry in enumerate(ids[:given]) if number in done]
        if acknowledged:
            await redis.xack(main, GROUP, *acknowledged)
        if not told:
            await redis.xgroup_setid(main, GROUP, ids[given - 1] if given else "0")
        held = [entry for entry in ids[:given] if entry not in acknowledged]

        await _looks(RedisStreams(streams, redis), ids, given, held)
        waiting = [int(entry.partition("-")[0]) * 1000 for entry in (*held, *ids[given:])]
        assert await oldest_waiting(redis, [(main, GROUP)]) == min(waiting, default=None)
        await _taken(ConsumerGroup(redis, main, GROUP, "me", streams), held)
        await _handed_over(redis, main, ids)
    finally:
        keys = await redis.keys(f"{streams.prefix}*")
        await redis.delete(*keys)
        await redis.aclose()


async def _looks(admin: RedisStreams, ids: Sequence[str], given: int, held: Sequence[str]) -> None:
    (stream,) = await admin.look(STORED.name)
    seen = next(each for each in stream.groups if each.name == GROUP)
    assert (stream.first_id, stream.last_id) == (ids[0], ids[-1])
    assert (seen.lag, seen.pending) == (len(ids) - given, len(held))
    assert sorted(each.entry for each in seen.due) == sorted(held)
    assert (seen.oldest_undelivered_s is None) == (given == len(ids))
    for number, entry in enumerate(ids, 1):
        assert (await admin.span(STORED.name, ids[0], entry)).entries == number

    found: list[str] = []
    after: str | None = ""
    while after is not None:
        page, after = await admin.dead(DeadFilter(stream=STORED.name, group=GROUP), 1, after)
        found += [each.id.rpartition(".")[2] for each in page]
    assert found == ids


async def _taken(group: ConsumerGroup, held: Sequence[str]) -> None:
    async def park(entries: Sequence[str]) -> None:
        if entries:
            await group.client.xclaim(group.stream, group.group, PARKED, 0, list(entries), idle=10**6)

    await park(held)
    for number, entry in enumerate(held, 1):
        taken = [each.entry.id for each in await group.take(len(held), alone=False, after=entry)]
        assert taken == held[number:]
        await park(taken)


async def _handed_over(redis: Redis, stream: str, ids: Sequence[str]) -> None:
    start, handed, more = ids[0], 0, True
    while more:
        step = await hand_over(redis, stream, GROUP, start, "+", PAGE)
        handed, more, start = handed + step.entries, step.more, f"({step.last_id}"
        assert handed <= len(ids)
    assert handed == await redis.xlen(replays(stream, GROUP)) == len(ids)


@settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    ids=st.lists(st.sampled_from(EDGES), min_size=1, unique=True).map(lambda some: sorted(some, key=EDGES.index)),
    given=st.integers(0, len(EDGES)),
    done=st.frozensets(st.integers(0, len(EDGES) - 1)),
    told=st.booleans(),
)
@example(ids=EDGES[-2:], given=2, done=frozenset(), told=False)
@example(ids=EDGES[-2:], given=1, done=frozenset({0}), told=False)
@example(ids=EDGES[-1:], given=1, done=frozenset({0}), told=True)
def test_each_is_counted_once(
    server: str, loop: asyncio.AbstractEventLoop, ids: list[str], given: int, done: frozenset[int], told: bool
) -> None:
    loop.run_until_complete(looked_at(server, ids, min(given, len(ids)), done, told=told))
