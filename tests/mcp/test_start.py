"""`openbrain mcp` before its first request."""

import asyncio
import sqlite3
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from openbrain.client import OpenBrain
from openbrain.domain.errors import SetupError
from openbrain_cli.profile import Profile
from openbrain_cli.system.mcp import _hold
from tests.support.cli.terminal import PROGRAM, Terminal
from tests.support.waiting import PATIENCE_S

LATER = ("mcp", "mcp_types", "openbrain.client", "openbrain.contract", "httpx", "starlette", "sqlalchemy", "numpy")
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


def test_the_tools_are_described_without_the_client_or_the_brain() -> None:
    tell = f"import sys, openbrain_cli.system.mcp, openbrain_mcp.stdio.bridge; print(sys.modules.keys() & set({LATER}))"
    done = subprocess.run([sys.executable, "-c", tell], capture_output=True, text=True, check=True)

    assert done.stdout == "set()\n"


def test_a_brain_that_nobody_asked_for_is_not_started(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path, tmp_path / "data")
    ended = terminal.run("mcp")

    assert (ended.code, ended.out) == (0, "")
    assert not terminal.data.exists()


CALLS = {
    2: {"name": "brain_recall", "arguments": "secret words"},
    3: {"name": "brain_recall", "arguments": ["secret words"]},
    4: {"name": ["secret words"], "arguments": {}},
    5: {"arguments": {"query": "secret words"}},
    6: {"name": "no_such_tool", "arguments": {"query": "secret words"}},
}


def test_a_call_that_is_none_is_refused_without_what_was_sent(tmp_path: Path) -> None:
    environment = Terminal(tmp_path, tmp_path / "data").env({})
    environment |= {"OPENBRAIN_URL": "http://127.0.0.1:1", "OPENBRAIN_API_KEY": "ob_" + "x" * 43}
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        *({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call} for number, call in CALLS.items()),
    ]
    with subprocess.Popen(
        [str(PROGRAM), "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdin.write(b"".join(orjson.dumps(message) + b"\n" for message in messages))
        process.stdin.flush()
        answers = [process.stdout.readline() for _ in range(1 + len(CALLS))][1:]
        process.stdin.close()
        said = process.stderr.read()

    assert {orjson.loads(answer)["id"] for answer in answers} == set(CALLS)
    for line in (*answers, said):
        assert b"pydantic" not in line
        assert b"secret" not in line


async def test_a_call_is_answered_although_the_outbox_is_damaged(tmp_path: Path) -> None:
    environment = {"OPENBRAIN_URL": "http://127.0.0.1:1", "OPENBRAIN_API_KEY": "ob_" + "x" * 43}
    profile = Profile(data_dir=tmp_path, environment=environment)
    profile.outbox("").parent.mkdir()
    profile.outbox("").write_bytes(b"no database " * 100)
    ready: asyncio.Future[OpenBrain] = asyncio.get_running_loop().create_future()

    holding = asyncio.create_task(_hold(profile, "", ready, asyncio.Event()))
    with pytest.raises(sqlite3.DatabaseError):
        await asyncio.wait_for(holding, PATIENCE_S)
    assert ready.done()
    with pytest.raises(SetupError, match="the brain can't be used"):
        await ready
