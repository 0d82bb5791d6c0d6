"""Call the tools through the MCP SDK's own client, on a whole brain."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from mcp import Client
from mcp_types import CallToolResult

from openbrain.client import OpenBrain
from openbrain.domain.access.toolsets import Toolset
from openbrain_mcp.server import mcp_server
from tests.support.api.brain import Brain
from tests.support.cli.terminal import PROGRAM


@asynccontextmanager
async def tools(brain: Brain, key: str, toolsets: frozenset[Toolset] = frozenset(Toolset)) -> AsyncIterator[Client]:
    """An MCP client of the tools, with this key."""
    async with (
        OpenBrain("http://brain", key, transport=httpx.ASGITransport(brain.app()), attempts=1) as asked,
        on(asked, toolsets) as connected,
    ):
        yield connected


@asynccontextmanager
async def on(asked: OpenBrain, toolsets: frozenset[Toolset] = frozenset(Toolset)) -> AsyncIterator[Client]:
    """An MCP client of the tools, on this API client."""

    async def client(_request: Any) -> OpenBrain:
        return asked

    async with Client(mcp_server(client, toolsets)) as connected:
        yield connected


def text(result: CallToolResult) -> str:
    return "".join(getattr(part, "text", "") for part in result.content)


def fields(result: CallToolResult) -> Any:
    assert not result.is_error, text(result)
    return result.structured_content


@asynccontextmanager
async def bridge(
    environment: Mapping[str, str], program: Path = PROGRAM
) -> AsyncIterator[tuple[asyncio.subprocess.Process, asyncio.StreamWriter, asyncio.StreamReader]]:
    """`openbrain mcp` with its standard input and output; it ends when its input ends."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        program, "mcp", stdin=pipe, stdout=pipe, env=environment, limit=2**22
    )
    assert process.stdin
    assert process.stdout
    try:
        yield process, process.stdin, process.stdout
    finally:
        process.stdin.close()
        await process.wait()
