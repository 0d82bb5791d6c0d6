"""Submissions are erased from streams for good: entries, the blocks that held them, and the server's files, on every
server."""

import asyncio
from collections.abc import AsyncIterator
from itertools import cycle
from typing import Any

import orjson
import pytest
from redis import Redis as SyncRedis
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as Away

from openbrain.adapters.local.clock import SystemClock
from openbrain.domain.errors import TryLater
from openbrain.domain.events.envelope import FIELD, CloudEvent, decode, encode
from openbrain.domain.events.streams import SUBMITTED, dead_letters, replays
from openbrain.domain.events.submission import MemorySubmitted
from openbrain.domain.ids import content_hash, joined_hash
from openbrain.domain.memory import MICROSECONDS
from openbrain.settings import Streams
from openbrain.streams.operating.erasure import StreamEraser
from openbrain.streams.operating.redelivery import Redelivery
from openbrain.streams.redis.connection import connect
from openbrain.usecases import purge_traces
from openbrain.usecases.remember import own_key
from openbrain.usecases.submit import from_event
from tests.servers.plugin import Starter
from tests.support.processes.searching import in_files
from tests.support.processes.settings import changed
from tests.support.store.fixtures import FakeClock
from tests.support.streams.consumers import scaled
from tests.support.waiting import PATIENCE_S, until

SECRET = "the vault opens at Xyzzyqwertz"
LATER = 2**60


def submission(number: int, content: str, workspace: str = "w1", **more: Any) -> bytes:
    data = MemorySubmitted(**{"content": content, "type": "fact", "workspace_id": workspace, **more})
    return encode(SUBMITTED.name, data, event_id=f"e-{number}", at=0)


@pytest.fixture
async def redis(settings: Streams) -> AsyncIterator[Redis]:
    client = connect(settings)
    await client.config_set("rdbcompression", "no")  # so that the words can be searched for
    yield client
    keys: list[Any] = await client.keys(f"{settings.prefix}*")
    if keys:
        await client.delete(*keys)
    await client.aclose()


async def said(redis: Redis, stream: str) -> list[str]:
    entries: Any = await redis.xrange(stream)
    return [orjson.loads(fields[FIELD.encode()])["data"]["content"] for _, fields in entries]


async def blocks(redis: Redis, prefix: str) -> bytes:
    """All keys as the server would write them to a file."""
    keys: list[Any] = await redis.keys(f"{prefix}*")
    return b"".join([await redis.dump(key) or b"" for key in keys])


def of(content: str, workspace: str = "w1", at: int = LATER, keys: frozenset[str] = frozenset()) -> Any:
    return purge_traces.of_memories(workspace, {content_hash(content)}, keys, at)


async def test_what_said_it_goes_from_every_stream_and_nothing_else(settings: Streams, redis: Redis) -> None:
    main, bound = (settings.prefix + SUBMITTED.name + part for part in ("", ".w1"))
    dead = dead_letters(main, "ingest")
    for number in range(150):
        await redis.xadd(main, {FIELD: submission(number, f"neighbour {number}")})
    await redis.xadd(main, {FIELD: submission(1000, SECRET)})
    await redis.xadd(main, {FIELD: submission(1001, f"\n{SECRET}  \r\n")})
    await redis.xadd(main, {FIELD: submission(1002, SECRET, workspace="w2")})
    await redis.xadd(bound, {FIELD: submission(1003, SECRET, workspace="w9")})
    bad = orjson.dumps({"id": 7, "data": {"workspace_id": "w1", "content": SECRET}})
    await redis.xadd(dead, {FIELD: bad, "error": "Invalid"})
    await redis.xadd(dead, {FIELD: b"no JSON", "error": "Invalid"})
    await redis.xadd(settings.prefix + "memory.stored", {FIELD: submission(1, SECRET)})

    swept = await StreamEraser(redis, settings, SystemClock()).sweep(of(SECRET))

    assert swept.deleted == {main: 2, bound: 1, dead: 1}
    assert swept.looked_at == 156
    assert await said(redis, main) == [*(f"neighbour {number}" for number in range(150)), SECRET]
    assert await redis.xlen(bound) == 0
    assert await redis.xlen(dead) == 1
    assert (await StreamEraser(redis, settings, SystemClock()).sweep(of(SECRET))).deleted == {}


async def test_a_prefix_is_no_pattern(settings: Streams, redis: Redis) -> None:
    odd = changed(settings, prefix=rf"{settings.prefix}team[1]*?\.")
    main, other = odd.prefix + SUBMITTED.name, f"{settings.prefix}team1x.{SUBMITTED.name}"
    for stream in (main, other):
        await redis.xadd(stream, {FIELD: submission(1, SECRET)})

    swept = await StreamEraser(redis, odd, SystemClock()).sweep(of(SECRET))

    assert swept.deleted == {main: 1}


async def test_what_is_to_come_again_goes_too(settings: Streams, redis: Redis) -> None:
    main = settings.prefix + SUBMITTED.name
    await redis.xadd(main, {FIELD: submission(1, SECRET)})
    await redis.xadd(dead_letters(main, "ingest"), {FIELD: submission(2, SECRET), "error": "Invalid"})
    work = Redelivery(redis, settings)
    assert (await work.hand_over(SUBMITTED.name, "ingest", "-", "+", 10)).entries == 1
    again = replays(main, "ingest")

    swept = await StreamEraser(redis, settings, SystemClock()).sweep(of(SECRET))

    assert swept.deleted == {main: 1, dead_letters(main, "ingest"): 1, again: 1}
    assert await work.unsettled(SUBMITTED.name, "ingest") == 0
    assert not await redis.exists(again)


async def test_what_moves_between_replay_and_dead_letters_meanwhile_goes_too(settings: Streams, redis: Redis) -> None:
    main = settings.prefix + SUBMITTED.name
    dead, again = dead_letters(main, "ingest"), replays(main, "ingest")
    entry: dict[Any, Any] = {FIELD: submission(1, SECRET), "error": "Invalid"}
    here = await redis.xadd(again, entry)
    other = SyncRedis.from_url(settings.url)

    def moved_when_it_is_found(event: bytes, workspace: str, added: int | None) -> bool:
        """The replayed entry becomes a dead letter after its dead letters were swept."""
        if other.xdel(again, here):
            other.xadd(dead, entry)
        return bool(of(SECRET)(event, workspace, added))

    swept = await StreamEraser(redis, settings, SystemClock()).sweep(moved_when_it_is_found)
    other.close()

    assert swept.deleted[dead] == 1
    assert not await redis.exists(dead)
    assert SECRET.encode() not in await blocks(redis, settings.prefix)


async def test_what_moves_for_ever_is_swept_later(settings: Streams, redis: Redis) -> None:
    main = settings.prefix + SUBMITTED.name
    entry: dict[Any, Any] = {FIELD: submission(1, SECRET), "error": "Invalid"}
    places = cycle((replays(main, "ingest"), dead_letters(main, "ingest")))
    await redis.xadd(dead_letters(main, "ingest"), entry)
    other = SyncRedis.from_url(settings.url)

    def found_and_written_again(event: bytes, workspace: str, added: int | None) -> bool:
        other.xadd(next(places), entry)
        return bool(of(SECRET)(event, workspace, added))

    with pytest.raises(TryLater, match="swept later"):
        await StreamEraser(redis, settings, SystemClock()).sweep(found_and_written_again)
    other.close()


async def test_the_key_finds_what_was_masked_and_time_spares_what_came_after(settings: Streams, redis: Redis) -> None:
    main = settings.prefix + SUBMITTED.name
    masked = submission(1, "with a password in it", idempotency_key="k")
    offer = from_event(decode(CloudEvent[MemorySubmitted], masked, SUBMITTED.type))
    key = joined_hash("w1", own_key(offer, offer.actor))
    await redis.xadd(main, {FIELD: masked})
    seconds, _ = await redis.time()
    await redis.xadd(main, {FIELD: submission(2, SECRET)})

    early = await StreamEraser(redis, settings, SystemClock()).sweep(of(SECRET, at=(seconds - 60) * 1_000_000))
    late = await StreamEraser(redis, settings, SystemClock()).sweep(of(SECRET, at=0, keys=frozenset({key})))

    assert early.deleted == {}
    assert late.deleted == {main: 1}
    assert await said(redis, main) == [SECRET]


@pytest.mark.parametrize("hours", [-1, 1])
async def test_a_server_with_another_clock_keeps_no_more_and_no_less(
    settings: Streams, redis: Redis, hours: int
) -> None:
    main = settings.prefix + SUBMITTED.name
    await redis.xadd(main, {FIELD: submission(1, SECRET)})
    seconds, _ = await redis.time()
    clock = FakeClock((seconds + hours * 3600) * MICROSECONDS)
    eraser = StreamEraser(redis, settings, clock)

    assert (await eraser.sweep(of(SECRET, at=clock.now() - 600 * MICROSECONDS))).deleted == {}, "it came after that"
    assert (await eraser.sweep(of(SECRET, at=clock.now()))).deleted == {main: 1}


async def test_a_stream_written_anew_is_the_same_to_its_readers(settings: Streams, redis: Redis) -> None:
    main = settings.prefix + SUBMITTED.name
    ids = [await redis.xadd(main, {FIELD: submission(number, f"neighbour {number}")}) for number in range(120)]
    doomed = await redis.xadd(main, {FIELD: submission(1000, SECRET)})
    await redis.xadd(main, {FIELD: submission(1001, "the last")})
    await redis.xgroup_create(main, "ingest", "0")
    await redis.xgroup_create(main, "other", "$")
    await redis.xreadgroup("ingest", "one", {main: ">"}, count=3)
    await redis.xreadgroup("ingest", "two", {main: ">"}, count=2)
    await redis.xclaim(main, "ingest", "one", 0, [ids[1]], idle=50_000, retrycount=7)
    await redis.xack(main, "ingest", ids[0])

    async def seen() -> Any:
        about: Any = await redis.xinfo_stream(main)
        groups: Any = await redis.xinfo_groups(main)
        pending: Any = await redis.xpending_range(main, "ingest", "-", "+", 100)
        return (
            {name: about[name] for name in ("length", "last-generated-id", "entries-added")},
            groups,
            [(each["message_id"], each["consumer"], each["times_delivered"]) for each in pending],
            await redis.xrange(main),
            sorted(each["name"] for each in await redis.xinfo_consumers(main, "ingest")),
        )

    await redis.xdel(main, doomed)
    before = await seen()
    await redis.xadd(main, {FIELD: submission(1002, SECRET)}, id=_after(before[0]["last-generated-id"]))
    assert SECRET.encode() in await blocks(redis, settings.prefix)
    await StreamEraser(redis, settings, SystemClock()).sweep(of(SECRET))

    after = await seen()
    assert SECRET.encode() not in await blocks(redis, settings.prefix)
    assert after[1:] == (before[1], *before[2:]) or _without_lag(after[1:]) == _without_lag(before[1:])
    pending: Any = await redis.xpending_range(main, "ingest", ids[1], ids[1], 1)
    assert pending[0]["time_since_delivered"] >= 50_000
    new: Any = await redis.xadd(main, {FIELD: submission(1003, "afterwards")})
    assert new > _after(before[0]["last-generated-id"]).encode()
    read: Any = await redis.xreadgroup("ingest", "two", {main: ">"}, count=1000)
    assert len(read[0][1]) == 122 - 1 - 5 + 1


def _after(entry_id: bytes) -> str:
    milliseconds, _, sequence = entry_id.decode().partition("-")
    return f"{milliseconds}-{int(sequence) + 1}"


def _without_lag(parts: Any) -> Any:
    groups, *rest = parts
    return [{name: value for name, value in group.items() if name != "lag"} for group in groups], rest


async def test_a_reader_that_waits_goes_on_waiting(settings: Streams, redis: Redis) -> None:
    main = settings.prefix + SUBMITTED.name
    await redis.xadd(main, {FIELD: submission(1, SECRET)})
    await redis.xgroup_create(main, "ingest", "$")
    reader = connect(changed(settings, poll_s=30))
    read: Any = reader.xreadgroup("ingest", "one", {main: ">"}, block=20_000)
    waiting = asyncio.ensure_future(read)

    async def blocked() -> bool:
        return int((await redis.info("clients"))["blocked_clients"]) > 0

    await until(blocked)
    await StreamEraser(redis, settings, SystemClock()).sweep(of(SECRET))
    await redis.xadd(main, {FIELD: submission(2, "after")})
    found: Any = await asyncio.wait_for(waiting, PATIENCE_S)
    await reader.aclose()

    assert len(found[0][1]) == 1
    assert await said(redis, main) == ["after"]


async def test_a_sweep_that_broke_off_is_done_by_the_next(
    settings: Streams, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed before its last call: what it has deleted by then must not remain in blocks that nobody searches for."""
    main = settings.prefix + SUBMITTED.name
    for number in range(120):
        await redis.xadd(main, {FIELD: submission(number, f"neighbour {number}")})
    await redis.xadd(main, {FIELD: submission(1000, SECRET)})
    run: Any = redis.execute_command

    async def killed(*command: Any, **options: Any) -> Any:
        if str(command[0]).startswith("EVAL"):
            raise Away("away")
        return await run(*command, **options)

    with monkeypatch.context() as patched:
        patched.setattr(redis, "execute_command", killed)
        with pytest.raises(TryLater):
            await StreamEraser(redis, settings, SystemClock()).sweep(of(SECRET))
    await StreamEraser(redis, settings, SystemClock()).sweep(of(SECRET))

    assert SECRET.encode() not in await blocks(redis, settings.prefix)
    assert len(await said(redis, main)) == 120


async def test_a_workspace_leaves_whole(settings: Streams, redis: Redis) -> None:
    main, bound = (settings.prefix + SUBMITTED.name + part for part in ("", ".w1"))
    for number, workspace in enumerate(("w1", "w2", "w1")):
        await redis.xadd(main, {FIELD: submission(number, f"{number}", workspace=workspace)})
    await redis.xadd(bound, {FIELD: submission(5, SECRET)})
    await redis.xadd(dead_letters(bound, "ingest"), {FIELD: submission(6, SECRET)})
    eraser = StreamEraser(redis, settings, SystemClock())

    swept = await eraser.sweep(purge_traces.of_workspace("w1"))

    assert swept.deleted == {main: 2, bound: 1, dead_letters(bound, "ingest"): 1}
    assert await said(redis, main) == ["1"]
    await redis.xadd(bound, {FIELD: submission(7, "late")})
    assert await eraser.drop("w1") == 1
    assert await redis.keys(f"{settings.prefix}*.w1*") == []


@pytest.mark.parametrize("name", ["redis", "valkey"])
async def test_the_append_only_file_forgets_too(private_server: Starter, name: str) -> None:
    server = private_server(name)
    settings = scaled(server.recipe.url.format(port=server.port))
    client = connect(settings)
    main = settings.prefix + SUBMITTED.name
    try:
        await client.config_set("rdbcompression", "no")
        await client.config_set("appendonly", "yes")
        eraser = StreamEraser(client, settings, SystemClock())
        await eraser.settle_files()
        for number in range(50):
            await client.xadd(main, {FIELD: submission(number, f"neighbour {number}")})
        await client.xadd(main, {FIELD: submission(100, SECRET)})
        await client.config_set("appendfsync", "always")
        await client.set(settings.prefix + "x", "y")
        assert in_files(server.folder, SECRET)

        await eraser.sweep(of(SECRET))
        told = await eraser.settle_files()

        async def gone() -> bool:
            return not in_files(server.folder, SECRET)

        await until(gone)
        assert told == "append-only file written anew"
        assert len(await said(client, main)) == 50
    finally:
        await client.aclose()


async def test_what_a_group_has_yet_to_take_stays_and_what_all_have_taken_goes(settings: Streams, redis: Redis) -> None:
    main = settings.prefix + SUBMITTED.name
    await redis.xgroup_create(main, "ingest", id="0", mkstream=True)
    for number in range(4):
        await redis.xadd(main, {FIELD: submission(number, f"{SECRET} {number}")})
    await redis.xadd(main, {FIELD: submission(5, f"{SECRET} elsewhere", workspace="w2")})
    await redis.xadd(dead_letters(main, "ingest"), {FIELD: submission(0, f"{SECRET} 0")})
    taken: Any = await redis.xreadgroup("ingest", "one", {main: ">"}, count=3)
    ids = [entry_id for entry_id, _ in taken[0][1]]
    await redis.xack(main, "ingest", ids[0], ids[2])
    doomed = purge_traces.of_texts("w1", lambda texts: any(SECRET in text for text in texts))

    swept = await StreamEraser(redis, settings, SystemClock()).sweep_taken(doomed)

    assert swept.deleted == {main: 2, dead_letters(main, "ingest"): 1}
    assert await said(redis, main) == [f"{SECRET} 1", f"{SECRET} 3", f"{SECRET} elsewhere"]
    assert (await redis.xpending(main, "ingest"))["pending"] == 1
    left: Any = await redis.xreadgroup("ingest", "one", {main: ">"})
    assert len(left[0][1]) == 2
