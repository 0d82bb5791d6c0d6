"""Tests of the bridge between an agent and the server: cut off, killed and restarted."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from openbrain.client import OpenBrain
from openbrain.client.outbox import Outbox
from tests.mcp.support import bridge
from tests.mcp.test_prepared import OPENING, READY, line
from tests.support.cli.terminal import Terminal, up
from tests.support.forms import long_form
from tests.support.processes.tcp_proxy import TcpProxy
from tests.support.waiting import PATIENCE_S

WRITES = 500 if long_form() else 45


@asynccontextmanager
async def remembering(environment: dict[str, str]) -> AsyncIterator[Any]:
    """Yield a function that stores a memory and returns the answer; None if the process is gone."""
    async with bridge(environment) as (process, put, out):
        put.write(f"{OPENING}\n{READY}\n".encode())
        await out.readline()

        async def remember(number: int, *, kill: bool = False) -> Any:
            said = {"name": "brain_remember", "arguments": {"content": f"write {number}", "type": "fact"}}
            put.write(line("tools/call", said, number + 10).encode() + b"\n")
            await put.drain()
            if kill:
                process.kill()
            answered = await out.readline()
            return orjson.loads(answered)["result"]["structuredContent"] if answered else None

        yield remember


@pytest.mark.slow("a bridge that is cut off and killed again and again")
async def test_each_write_is_stored_once(tmp_path: Path) -> None:
    with up(Terminal(tmp_path, tmp_path / "data")) as terminal:
        proxy = TcpProxy(int((terminal.data / "url").read_text().strip().rpartition(":")[2]))
        listening = AsyncExitStack()
        await listening.enter_async_context(proxy.open())
        away = Terminal(tmp_path, tmp_path / "agent")
        url, key = f"http://127.0.0.1:{proxy.port}", (terminal.data / "key").read_text().strip()
        environment = away.env({"OPENBRAIN_URL": url, "OPENBRAIN_API_KEY": key})
        answers: list[Any] = []
        async with remembering(environment) as remember:
            for number in range(WRITES):
                if number == WRITES // 3:
                    cutting = asyncio.create_task(listening.aclose())
                answers.append(await remember(number, kill=number == 2 * WRITES // 3))
                if answers[-1] is None:
                    break
        await cutting
        async with proxy.open(), remembering(environment) as again, OpenBrain(url, key) as client:
            answers += [await again(number) for number in range(len(answers) - 1, WRITES)]
            (file,) = (away.data / "outbox").glob("*.sqlite3")
            with contextlib.closing(Outbox(file)) as outbox:
                async with asyncio.timeout(PATIENCE_S):
                    while outbox.waiting():
                        await asyncio.sleep(0.05)
                refused = outbox.refused()
            found: list[str] = []
            cursor = None
            while True:
                page = await client.memories(limit=100, cursor=cursor)
                found += [memory.content for memory in page.memories]
                if (cursor := page.next_cursor) is None:
                    break

    assert any(answer and answer.get("pending") for answer in answers)
    assert any(answer and answer.get("id") for answer in answers)
    assert sorted(found) == sorted(f"write {number}" for number in range(WRITES))
    assert refused == 0
