"""The tools through the protocol's own client, on a whole brain."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
from mcp import Client
from mcp_types import CallToolResult

from openbrain.client import OpenBrain
from openbrain.domain.access.toolsets import Toolset
from openbrain_mcp.server import mcp_server
from tests.support.api.brain import Brain


@asynccontextmanager
async def tools(brain: Brain, key: str, toolsets: frozenset[Toolset] = frozenset(Toolset)) -> AsyncIterator[Client]:
    """The tools on a client with this key."""
    async with (
        OpenBrain("http://brain", key, transport=httpx.ASGITransport(brain.app()), attempts=1) as asked,
        on(asked, toolsets) as connected,
    ):
        yield connected


@asynccontextmanager
async def on(asked: OpenBrain, toolsets: frozenset[Toolset] = frozenset(Toolset)) -> AsyncIterator[Client]:
    """The tools on this client."""

    async def client(_request: Any) -> OpenBrain:
        return asked

    async with Client(mcp_server(client, toolsets)) as connected:
        yield connected


def text(result: CallToolResult) -> str:
    return "".join(getattr(part, "text", "") for part in result.content)


def fields(result: CallToolResult) -> Any:
    assert not result.is_error, text(result)
    return result.structured_content
