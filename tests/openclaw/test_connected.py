"""`openbrain connect openclaw --context-engine DIR` verifies that the host's turns are stored."""

import asyncio
import json
import os
from pathlib import Path

import pytest

from openbrain_cli.agents.clients import OPENCLAW_ENGINE
from tests.openclaw.harness.gateway import Gateway
from tests.openclaw.harness.talker import Talker
from tests.servers.tools.npm_clients import NODE, OPENCLAW
from tests.support.api.served import served
from tests.support.cli.terminal import Terminal, up
from tests.support.forms import long_form

pytestmark = [
    pytest.mark.servers("node", "openclaw"),
    pytest.mark.timeout(600),
    pytest.mark.slow("a turn of the host without its gateway takes half a minute"),
    pytest.mark.skipif(not long_form(), reason="the long form alone: make test-openclaw"),
]


async def test_one_turn_is_taken_kept_and_erased(plugin: Path, tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "openclaw").write_text(f'#!/bin/sh\nexec "{NODE.program}" "{OPENCLAW.program}" "$@"\n')
    (programs / "openclaw").chmod(0o700)
    model = Talker()
    async with served(model.app()) as model_url:
        host = Gateway(tmp_path / "home", model_url)
        host.configure("", "")
        path = {"PATH": f"{programs}:{os.environ['PATH']}"}
        terminal = Terminal(host.home, tmp_path / "data", path)
        words = ["connect", "openclaw", "--agent", "main", "--context-engine", str(plugin)]
        with up(terminal):
            done = await asyncio.to_thread(terminal.run, *words)
            listed = await asyncio.to_thread(terminal.run, "list", "--json")
        inspected = await host.command("plugins", "inspect", OPENCLAW_ENGINE, "--runtime")
    assert done.code == 0, done.err
    assert "test turn: 2 messages were stored, then erased" in done.out, done.err
    assert json.loads(listed.out)["memories"] == []
    assert f"context-engine: {OPENCLAW_ENGINE}" in inspected
    assert "openbrain_expand" in inspected
