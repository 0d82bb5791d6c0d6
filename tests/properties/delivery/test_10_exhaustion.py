"""Property 10: the stream server runs out of memory or disk: producers use the outbox, and the system recovers by
itself."""

import asyncio
import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.flow.conftest import Brain
from tests.properties.world import SERVERS, all_indexed, at, differences, living, nothing_failed
from tests.servers.catalogue import KINDS
from tests.servers.plugin import Starter, need
from tests.servers.processes.process import ServerProcess
from tests.support.waiting import PATIENCE_S, until


@pytest.mark.parametrize("server", SERVERS)
async def test_a_full_memory_refuses_and_loses_nothing(private_server: Starter, tmp_path: Path, server: str) -> None:
    async with living(at(tmp_path, private_server(server).url)) as brain:
        await brain.indexed(await brain.remember("While there was room."))
        written = 1
        while True:
            await brain.redis.config_set("maxmemory", 1)  # it evicts nothing, and every XADD is refused
            kept = await _written_until_refused(brain, written)
            written += kept
            if kept:
                break
            await brain.redis.config_set("maxmemory", 0)  # the look that is taken once a second came just now: again
            await until(lambda: _open(brain), pause=0.1)
        assert await brain.container.store.outbox.take(1), "the outbox holds what the stream server refuses"
        ready = await brain.http.get("/ready")
        assert "the stream server uses" in ready.json()["writes"], "reported, and reading goes on"
        assert await brain.recalled("room", text_weight=1.0)

        await brain.redis.config_set("maxmemory", 0)
        await until(lambda: _writes(brain), pause=0.1)
        await all_indexed(brain, written + 1)
        assert await differences(brain.container) == []
        await nothing_failed(brain)


async def _open(brain: Brain) -> bool:
    """True if writes are accepted; does not write."""
    return (await brain.http.get("/ready")).json()["writes"] is None


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 16 MB."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a disk of 16 MB")
    folder = tmp_path / "disk"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.mark.parametrize("server", SERVERS)
async def test_a_full_disk_refuses_and_loses_nothing(small_disk: Path, tmp_path: Path, server: str) -> None:
    """With appendfsync everysec the server refuses every command until it can write its file again."""
    need(server)
    made = KINDS[server].recipe()
    on_it = replace(made, command=lambda port, _data: made.command(port, small_disk))
    with ServerProcess(on_it) as process:
        async with living(at(tmp_path, process.url)) as brain:
            await brain.indexed(await brain.remember("While there was room."))
            filler = small_disk / "filler"
            _fill(filler)
            first = await brain.remember("Makes it notice.")
            kept = 0

            async def refuses() -> bool:
                nonlocal kept
                answer = await brain.http.post(
                    "/v1/brain/remember", json={"content": f"Kept by the outbox, {kept}.", "type": "fact"}
                )
                kept += answer.status_code == 201
                waiting = await brain.container.store.outbox.take(1)
                return bool(waiting) and (await brain.http.get("/ready")).status_code == 503

            await until(refuses, pause=0.1)
            await until(lambda: _names_the_streams(brain), pause=0.1)
            assert (await brain.http.get("/live")).status_code == 200

            filler.unlink()
            await brain.indexed(first)
            await all_indexed(brain, kept + 2)
            assert await differences(brain.container) == []
            await nothing_failed(brain)


async def _names_the_streams(brain: Brain) -> bool:
    """True if health reports the streams as down, also while the server still answers reads."""
    health = (await brain.http.get("/v1/health")).json()
    return (health["status"], health["parts"]["streams"]) == ("degraded", "down")


def _fill(file: Path) -> None:
    with file.open("wb", buffering=0) as out:
        try:
            while out.write(b"x" * 4096):
                pass
        except OSError:
            return


async def _written_until_refused(brain: Brain, first: int) -> int:
    """Write until the pressure is noticed and a write gets 503 with a retry time; return how many were kept."""
    kept = 0
    async with asyncio.timeout(PATIENCE_S):
        while True:
            answer = await brain.http.post(
                "/v1/brain/remember", json={"content": f"Kept {first + kept}.", "type": "fact"}
            )
            if answer.status_code == 503:
                assert int(answer.headers["Retry-After"]) >= 1
                return kept
            assert answer.status_code == 201, answer.text
            kept += 1
            await asyncio.sleep(0.05)


async def _writes(brain: Brain) -> bool:
    answer = await brain.http.post("/v1/brain/remember", json={"content": "There is room again.", "type": "fact"})
    return answer.status_code == 201
