"""The listeners of one API process share its reader of the stream server."""

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import httpx
import pytest
from redis.asyncio import Redis

from tests.servers.processes.process import ServerProcess
from tests.support.api.listening import Ear, ear
from tests.support.cli.terminal import Terminal, up
from tests.support.waiting import PATIENCE_S

LISTENERS = 50


async def connections(redis: Redis) -> Sequence[str]:
    """The last command of each connection."""
    return [each["cmd"] for each in await redis.client_list()]


@pytest.mark.servers("valkey")
@pytest.mark.slow("one start of everything")
async def test_fifty_listeners_take_one_connection(
    tmp_path: Path, private_server: Callable[[str], ServerProcess]
) -> None:
    server = private_server("valkey")
    settings = {"OPENBRAIN_STREAMS__URL": f"redis://127.0.0.1:{server.port}/0"}
    with up(Terminal(tmp_path, tmp_path / "data", settings)) as terminal:
        url, key = ((terminal.data / name).read_text().strip() for name in ("url", "key"))
        headers = {"authorization": f"Bearer {key}"}
        async with (
            Redis.from_url(server.url) as redis,
            httpx.AsyncClient(base_url=url, headers=headers, timeout=PATIENCE_S) as http,
            AsyncExitStack() as stack,
        ):

            async def another() -> Ear:
                made = await stack.enter_async_context(ear(url, key))
                await made.hears_the_state()
                return made

            ears = [await another()]
            alone = await connections(redis)
            ears += [await another() for _ in range(LISTENERS - 1)]
            raised = {"source": "disk", "severity": "warning", "title": "the disk is full"}
            (await http.post("/v1/amygdala/signals", json=raised)).raise_for_status()
            for each in ears:
                await each.hears(1)
            together = await connections(redis)

    assert together.count("xread") == 1
    assert len(together) - len(alone) < LISTENERS / 2, "other connections come and go"
