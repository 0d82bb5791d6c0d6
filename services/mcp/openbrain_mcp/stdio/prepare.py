"""Regenerates `prepared.json`: run `python -m openbrain_mcp.stdio.prepare` after changing the texts of the tools."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mcp.server import MCPServer
from mcp.server.stdio import stdio_server

from openbrain.domain.access.toolsets import Toolset
from openbrain_mcp.server import mcp_server
from openbrain_mcp.stdio import prepared
from openbrain_mcp.tools import TOOLS

LISTS = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")
CLIENT = {"name": "any", "version": "1"}
HELLO = {"protocolVersion": prepared.HANDSHAKE[-1], "capabilities": {}, "clientInfo": CLIENT}
ENVELOPE = {
    "_meta": {
        "io.modelcontextprotocol/protocolVersion": prepared.ENVELOPE,
        "io.modelcontextprotocol/clientInfo": CLIENT,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
}


async def answers() -> dict[str, dict[str, Any]]:
    """The server's answers to clients that begin with a handshake, and to those that identify themselves in each
    request."""
    return {
        "toolsets": {tool.name: str(tool.toolset) for tool in TOOLS},
        "handshake": await _answers({"initialize": HELLO, "ping": None, **dict.fromkeys(LISTS)}),
        "envelope": await _answers(dict.fromkeys(("server/discover", *LISTS), ENVELOPE)),
    }


async def _answers(requests: Mapping[str, Mapping[str, Any] | None]) -> dict[str, Any]:
    wire = _Wire(list(requests.items()))
    server: MCPServer[Any] = mcp_server(_no_client, frozenset(Toolset))
    lowlevel = server._lowlevel_server
    async with stdio_server(wire, wire) as (read, write):  # type: ignore[arg-type]
        await lowlevel.run(read, write, lowlevel.create_initialization_options())
    return wire.results


async def _no_client(_request: object) -> Any:
    raise LookupError("a list asks nobody")


class _Wire:
    """Sends requests in sequence, each after the answer to the previous one."""

    def __init__(self, requests: Sequence[tuple[str, Mapping[str, Any] | None]]) -> None:
        self._requests = requests
        self._answered = asyncio.Event()
        self.results: dict[str, Any] = {}

    async def __aiter__(self) -> AsyncIterator[str]:
        for number, (method, params) in enumerate(self._requests):
            request = {"jsonrpc": "2.0", "id": number, "method": method}
            self._answered.clear()
            yield json.dumps(request if params is None else {**request, "params": params})
            await self._answered.wait()

    async def write(self, line: str) -> None:
        answer = json.loads(line)
        self.results[self._requests[answer["id"]][0]] = answer["result"]
        self._answered.set()

    async def flush(self) -> None:
        """Do nothing: there is no buffer."""


def text(listing: Mapping[str, Any]) -> str:
    """The file's content."""
    return json.dumps(listing, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    Path(prepared.__file__).with_name(prepared.FILE).write_text(text(asyncio.run(answers())), "utf-8")
