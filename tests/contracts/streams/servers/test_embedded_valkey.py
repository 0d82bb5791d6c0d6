"""The embedded stream server keeps accepted entries and has one owner."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest
from redis.asyncio import Redis

from openbrain.adapters.local.data_folder import DataFolder
from openbrain.adapters.redis.embedded_valkey import EmbeddedValkey
from openbrain.domain.errors import SetupError
from tests.support.waiting import PATIENCE_S


async def test_what_was_added_is_there_after_a_restart(tmp_path: Path) -> None:
    server = EmbeddedValkey(tmp_path / "streams", 64)
    async with Redis.from_url(await server.start()) as client:
        await client.xadd("s", {"a": "1"})
        config = await client.config_get("maxmemory", "maxmemory-policy")
    await server.stop()
    async with Redis.from_url(await server.start()) as client:
        length = await client.xlen("s")
    await server.stop()

    assert length == 1
    assert config == {"maxmemory": str(64 * 1024 * 1024), "maxmemory-policy": "noeviction"}


async def test_a_server_that_outlived_its_parent_is_replaced(tmp_path: Path) -> None:
    orphan = EmbeddedValkey(tmp_path / "streams", 64)
    async with Redis.from_url(await orphan.start()) as client:
        await client.xadd("s", {"a": "1"})
        pid = (await client.info("server"))["process_id"]
    assert orphan._watch is not None
    orphan._watch.cancel()  # so that nobody restarts it
    server = EmbeddedValkey(tmp_path / "streams", 64)
    async with Redis.from_url(await server.start()) as client:
        assert await client.xlen("s") == 1
        assert (await client.info("server"))["process_id"] != pid
    await server.stop()
    await orphan.stop()


async def test_the_socket_is_for_its_owner_alone_also_where_the_path_is_long(tmp_path: Path) -> None:
    server = EmbeddedValkey(tmp_path / ("long" * 30) / "streams", 64)
    url = await server.start()
    socket = Path(url.removeprefix("unix://"))

    assert len(str(socket)) < 108
    assert socket.stat().st_mode & 0o077 == 0
    await server.stop()


async def test_a_folder_has_one_owner(tmp_path: Path) -> None:
    with DataFolder(tmp_path / "data"), pytest.raises(SetupError, match=f"pid {os.getpid()}"):
        DataFolder(tmp_path / "data").open()
    with DataFolder(tmp_path / "data"):
        assert (tmp_path / "data").stat().st_mode & 0o077 == 0


@pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux ends a child with its parent; elsewhere the next start does"
)
async def test_it_ends_with_its_parent(tmp_path: Path) -> None:
    program = (
        "import asyncio, sys, pathlib\n"
        "from openbrain.adapters.redis.embedded_valkey import EmbeddedValkey\n"
        "server = EmbeddedValkey(pathlib.Path(sys.argv[1]), 64)\n"
        "async def main():\n"
        "    print(await server.start(), server._process.pid, flush=True)\n"
        "    await asyncio.sleep(60)\n"
        "asyncio.run(main())\n"
    )
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, str(tmp_path / "streams"), stdout=asyncio.subprocess.PIPE
    )
    assert parent.stdout is not None
    pid = int((await parent.stdout.readline()).split()[1])
    parent.send_signal(signal.SIGKILL)
    await parent.wait()
    async with asyncio.timeout(PATIENCE_S):
        while Path(f"/proc/{pid}").exists():
            await asyncio.sleep(0.02)
