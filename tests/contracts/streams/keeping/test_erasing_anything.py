"""Whatever an entry holds, a sweep ends and removes what it was started for."""

import asyncio
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from redis.asyncio import Redis

from openbrain.adapters.local.clock import SystemClock
from openbrain.domain.events.envelope import FIELD, encode
from openbrain.domain.events.streams import SUBMITTED, dead_letters, replays
from openbrain.domain.events.submission import MemorySubmitted
from openbrain.domain.ids import content_hash
from openbrain.settings import Streams
from openbrain.streams.group.consumer_group import entry_fields
from openbrain.streams.operating.erasure import PAGE, StreamEraser
from openbrain.streams.redis.connection import connect
from openbrain.streams.redis.entry_ids import LAST
from openbrain.usecases import purge_traces
from tests.support.forms import examples
from tests.support.streams.consumers import scaled
from tests.support.streams.fuzz import DATA, STRANGE, WIDE, Fields, entries

SECRET = "the vault opens at Xyzzyqwertz"
LATER = 2**60
NAMES = (SUBMITTED.name, f"{SUBMITTED.name}.w1")
PLACES = [place for name in NAMES for place in (name, dead_letters(name, "ingest"), replays(name, "ingest"))]
WANTED = (
    purge_traces.of_memories("w1", {content_hash(SECRET)}, {"no key"}, LATER),
    purge_traces.of_workspace("w1"),
)


def secret() -> bytes:
    data = MemorySubmitted(content=SECRET, type="fact", workspace_id="w1")
    return encode(SUBMITTED.name, data, event_id="secret", at=0)


@pytest.fixture(scope="module", params=("valkey", "redis"))
def server(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(f"{request.param}_server").url)


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    made = asyncio.new_event_loop()
    yield made
    made.close()


async def swept(url: str, put: Sequence[tuple[str, str, Fields]]) -> None:
    """Check that a secret next to these entries (place, id, fields) is removed from every stream and from the
    server's memory."""
    streams = scaled(url)
    redis: Any = connect(streams)
    try:
        await redis.config_set("rdbcompression", "no")
        sent = redis.pipeline(transaction=False)
        for place in PLACES:
            sent.xadd(streams.prefix + place, {FIELD: secret()}, id="1-1")
        for place, entry, fields in put:
            sent.execute_command("XADD", streams.prefix + place, entry, *chain.from_iterable(fields))
        await sent.execute()
        for wanted in WANTED:
            found = await StreamEraser(redis, streams, SystemClock()).sweep(wanted)
            assert found.unjudged == 0
        for place in PLACES:
            assert all(fields.get(DATA) != secret() for _, fields in await redis.xrange(streams.prefix + place))
            assert SECRET.encode() not in (await redis.dump(streams.prefix + place) or b"")
    finally:
        await _clear(redis, streams)


async def _clear(redis: Redis, streams: Streams) -> None:
    keys: list[Any] = await redis.keys(f"{streams.prefix}*")
    if keys:
        await redis.delete(*keys)
    await redis.aclose()


@settings(max_examples=examples(10), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    put=st.lists(
        st.tuples(st.sampled_from(PLACES), st.just("*"), entries(SUBMITTED.name)),
        min_size=1,
        max_size=12,
    )
)
@example([(place, "*", STRANGE["in the year one"]) for place in PLACES])
@example([(place, "*", STRANGE["wide"]) for place in PLACES])
@example([(place, "*", STRANGE["wide, with an event"]) for place in PLACES])
@example([(place, LAST, [(DATA, b"{}")]) for place in PLACES])
@example([(place, "*", STRANGE["deep"]) for place in PLACES])
@example([(place, "*", STRANGE["deep in a field"]) for place in PLACES])
def test_no_entry_keeps_a_sweep_from_its_end(
    server: str, loop: asyncio.AbstractEventLoop, put: Sequence[tuple[str, str, Fields]]
) -> None:
    loop.run_until_complete(swept(server, put))


async def test_the_highest_id_ends_a_full_page(redis: Any, settings: Streams) -> None:
    main = settings.prefix + SUBMITTED.name
    for number in range(PAGE - 1):
        await redis.xadd(main, {FIELD: b"{}"}, id=f"{number + 1}-1")
    await redis.xadd(main, {FIELD: secret()}, id=LAST)

    assert (await StreamEraser(redis, settings, SystemClock()).sweep(WANTED[0])).deleted == {main: 1}
    assert await redis.xlen(main) == PAGE - 1


async def test_a_stream_whose_name_is_no_text_is_passed_over(redis: Any, settings: Streams) -> None:
    await redis.xadd(f"{settings.prefix}{SUBMITTED.name}.".encode() + b"\xff", {FIELD: secret()})

    assert (await StreamEraser(redis, settings, SystemClock()).sweep(WANTED[0])).deleted == {}


async def test_what_can_not_be_judged_stays_and_is_counted(redis: Any, settings: Streams) -> None:
    main = settings.prefix + SUBMITTED.name
    await redis.xadd(main, {FIELD: b"a defect of ours"})
    await redis.xadd(main, {FIELD: secret()})

    def doomed(raw: bytes, bound: str, added: int | None) -> bool:
        if raw == b"a defect of ours":
            raise OverflowError("date value out of range")
        return WANTED[0](raw, bound, added)

    found = await StreamEraser(redis, settings, SystemClock()).sweep(doomed)

    assert (found.deleted, found.unjudged) == ({main: 1}, 1)


async def test_a_dead_letter_of_very_many_fields_is_looked_into(redis: Any, settings: Streams) -> None:
    dead = settings.prefix + dead_letters(SUBMITTED.name, "ingest")
    fields = list(chain.from_iterable([*WIDE, (DATA, secret())]))
    await redis.execute_command("XADD", dead, "*", *entry_fields(fields))

    assert (await StreamEraser(redis, settings, SystemClock()).sweep(WANTED[0])).deleted == {dead: 1}
