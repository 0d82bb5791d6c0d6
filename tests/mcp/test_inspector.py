"""The MCP inspector's command line lists and calls every tool, over stdio and over HTTP; older protocol revisions
work too."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import orjson
import pytest

from openbrain.domain.access.permissions import Permission
from openbrain_mcp.app import with_mcp
from openbrain_mcp.stdio.prepared import HANDSHAKE
from tests.mcp.test_every_tool import NAMES, SECRET, theirs, two_vaults
from tests.servers.plugin import need
from tests.servers.tools.npm_clients import INSPECTOR, NODE
from tests.support.api.brain import Brain
from tests.support.api.served import served
from tests.support.cli.terminal import PROGRAM
from tests.support.forms import long_form
from tests.support.processes.finished import finished

__all__ = ["two_vaults"]


class Inspector:
    """One connection, kept by a process of the inspector, and one command per request."""

    def __init__(self, home: Path, sockets: str) -> None:
        self._home, self._sockets = home, sockets
        self._program = (NODE.program, INSPECTOR.program)

    async def run(self, *words: str) -> str:
        command = [*self._program, "--format", "json", "--connection", "brain", *words]
        return await finished(command, self._home, MCP_INSPECTOR_DAEMON_DIR=self._sockets)

    async def tools(self) -> set[str]:
        listed = orjson.loads(await self.run("tools/list"))
        return {tool["name"] for tool in _tools(listed)}

    async def call(self, name: str, arguments: dict[str, Any]) -> str:
        """Call a tool; exit code 0 means that it did not fail."""
        return await self.run("tools/call", name, "--tool-args-json", orjson.dumps(arguments).decode())


def _tools(listed: Any) -> Sequence[dict[str, Any]]:
    return listed if isinstance(listed, list) else listed["tools"]


@asynccontextmanager
async def connected(home: Path, *words: str) -> AsyncIterator[Inspector]:
    home.mkdir()
    # A socket's path must be short.
    with TemporaryDirectory(dir="/tmp") as sockets:
        inspector = Inspector(home, sockets)
        try:
            await inspector.run("connect", *words)
            yield inspector
        finally:
            await inspector.run("daemon", "stop")


def called(transport: str) -> Sequence[str]:
    names = sorted(NAMES, key="brain_forget".__eq__)
    if long_form():
        return names
    half = set(names[transport == "stdio" :: 2]) | {"brain_recall", "brain_forget"}
    return [name for name in names if name in half]


@pytest.mark.servers("node", "inspector")
@pytest.mark.slow("a program of Node's for each tool")
@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_the_inspector_lists_and_calls_every_tool(two_vaults: Brain, tmp_path: Path, transport: str) -> None:
    """Every tool over one of the transports, recall and removing tools over both; in the long form all over both."""
    need("node")
    need("inspector")
    asked = await theirs(two_vaults) | {"brain_remember": {"content": "Tea is at four.", "type": "fact"}}
    key = await two_vaults.key("w2", "bob", permissions=frozenset(Permission))
    async with served(with_mcp(two_vaults.app())) as url:
        (tmp_path / "key").write_text(key)
        (tmp_path / "key").chmod(0o600)
        stdio = ("--", str(PROGRAM), "mcp", "--toolsets", "all", "--url", url, "--key-file", str(tmp_path / "key"))
        headers = (f"Authorization: Bearer {key}", "OpenBrain-Toolsets: all")
        to = stdio if transport == "stdio" else (f"{url}/mcp", "--transport", "http", "--header", *headers)
        async with connected(tmp_path / "home", *to) as inspector:
            listed = await inspector.tools()
            answers = {name: await inspector.call(name, asked[name]) for name in called(transport)}

    assert listed == set(NAMES)
    assert SECRET in answers["brain_recall"]


@pytest.mark.parametrize("version", HANDSHAKE)
async def test_an_older_revision_of_the_protocol_is_spoken(brain: Brain, version: str) -> None:
    headers = {"accept": "application/json, text/event-stream"}
    hello = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "old", "version": "1"}}
    remember = {"name": "brain_remember", "arguments": {"content": "Tea is at four.", "type": "fact"}}
    headers["authorization"] = f"Bearer {await brain.key()}"
    async with served(with_mcp(brain.app())) as url, httpx.AsyncClient(base_url=url) as client:

        async def ask(number: int, method: str, params: dict[str, Any]) -> Any:
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            answer = await client.post("/mcp", json=message, headers=headers)
            return answer.json()["result"]

        begun = await ask(1, "initialize", hello)
        headers["mcp-protocol-version"] = version
        listed = await ask(2, "tools/list", {})
        called = await ask(3, "tools/call", remember)

    assert begun["protocolVersion"] == version
    assert "brain_recall" in {tool["name"] for tool in listed["tools"]}
    assert called["structuredContent"]["success"] is True
