"""The real clients, connected by one line: they reach the tools, run the hooks, and are left without a trace."""

import asyncio
from pathlib import Path

import pytest

from openbrain.domain.access.permissions import Permission
from openbrain_mcp.app import with_mcp
from tests.servers.plugin import need
from tests.servers.tools.npm_clients import CLAUDE_CODE, CODEX
from tests.support.api.brain import Brain, http, remembered
from tests.support.api.served import served
from tests.support.cli.coding_agents.scripted_model import MODEL, ScriptedModel
from tests.support.cli.terminal import Done, Terminal
from tests.support.processes.finished import finished

QUIET = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1", "ANTHROPIC_API_KEY": "none"}


class Person:
    """Someone who types commands in a home of their own, with an admin's key."""

    def __init__(self, home: Path, url: str, key: str) -> None:
        self.home, self.data = home, home / "data"
        home.mkdir()
        (home / "admin.key").write_text(key)
        (home / "admin.key").chmod(0o600)
        self._terminal, self._to = Terminal(home, self.data), ("--url", url, "--key-file", str(home / "admin.key"))

    async def types(self, *words: str) -> Done:
        done = await asyncio.to_thread(self._terminal.run, *words, *self._to)
        assert done.code == 0, done.err
        return done

    def files(self) -> set[str]:
        return {path.name for path in self.home.iterdir()}


@pytest.mark.servers("claude-code")
async def test_claude_code_is_connected_wakes_up_knowing_and_is_left_without_a_trace(
    brain: Brain, tmp_path: Path
) -> None:
    need("claude-code")
    key, app, model = await brain.key(permissions=frozenset(Permission)), with_mcp(brain.app()), ScriptedModel(())
    async with http(app, key) as client, served(app) as url, served(model.app()) as model_url:
        await remembered(client, "Prices are in whole cents.", type="decision", project="home")
        person = Person(tmp_path / "home", url, key)
        before = person.files()
        await person.types("connect", "claude-code")
        listed = await finished([CLAUDE_CODE.program, "mcp", "list"], person.home, **QUIET)
        go = [CLAUDE_CODE.program, "--print", "go", "--model", MODEL, "--no-session-persistence", "--tools", ""]
        await finished(go, person.home, ANTHROPIC_BASE_URL=model_url, **QUIET)
        await person.types("connect", "claude-code", "--remove")

    assert "openbrain" in listed
    assert "Connected" in listed
    assert any("Prices are in whole cents." in request for request in model.requests)
    settings, servers = person.home / ".claude" / "settings.json", person.home / ".claude.json"
    assert not settings.exists()
    assert "openbrain" not in servers.read_text()
    assert person.files() - before <= {".claude", ".claude.json", ".cache", ".local", ".config", ".npm"}


@pytest.mark.servers("codex")
async def test_codex_lists_the_tools_and_is_left_without_a_trace(brain: Brain, tmp_path: Path) -> None:
    need("codex")
    key, app = await brain.key(permissions=frozenset(Permission)), with_mcp(brain.app())
    async with served(app) as url:
        person = Person(tmp_path / "home", url, key)
        await person.types("connect", "codex")
        listed = await finished([CODEX.program, "mcp", "list"], person.home)
        await person.types("connect", "codex", "--remove")

    assert "openbrain" in listed
    assert "enabled" in listed
    assert not (person.home / ".codex" / "config.toml").exists()
    assert not (person.home / ".codex" / "hooks.json").exists()
