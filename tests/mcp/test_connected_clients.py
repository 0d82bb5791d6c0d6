"""The real clients, connected by one command: they reach the tools, run the hooks, and are disconnected without a
trace."""

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from openbrain.domain.access.permissions import Permission
from openbrain_mcp.app import with_mcp
from tests.servers.plugin import need
from tests.servers.tools.npm_clients import CLAUDE_CODE, CODEX, GEMINI_CLI, NODE, OPENCLAW
from tests.support.api.brain import Brain, http, remembered
from tests.support.api.served import served
from tests.support.cli.coding_agents.scripted_model import MODEL, ScriptedModel
from tests.support.cli.terminal import Done, Terminal
from tests.support.processes.finished import finished

QUIET = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1", "ANTHROPIC_API_KEY": "none"}


class Person:
    """A user who types commands in a separate home, with an admin's key."""

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
@pytest.mark.slow("the real client starts several times")
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


@pytest.mark.servers("gemini-cli")
async def test_gemini_lists_the_tools_and_is_left_without_a_trace(brain: Brain, tmp_path: Path) -> None:
    need("gemini-cli")
    key, app = await brain.key(permissions=frozenset(Permission)), with_mcp(brain.app())
    async with served(app) as url:
        person = Person(tmp_path / "home", url, key)
        folder = person.home / ".gemini"
        folder.mkdir()
        (folder / "trustedFolders.json").write_text(json.dumps({str(person.home): "TRUST_FOLDER"}))
        await person.types("connect", "gemini")
        node = shutil.which("node") or "node"
        listed = await finished([node, GEMINI_CLI.program, "mcp", "list"], person.home)
        await person.types("connect", "gemini", "--remove")

    assert "openbrain" in listed
    assert "Connected" in listed
    assert not (folder / "settings.json").exists()


def fake_provider(url: str) -> dict[str, Any]:
    """OpenClaw's configuration of a model at this address."""
    costs = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite"), 0)
    model = {"id": MODEL, "name": MODEL, "contextWindow": 32_000, "maxTokens": 2_000, "input": ["text"]}
    model |= {"reasoning": False, "cost": costs}
    provider = {"baseUrl": f"{url}/v1", "apiKey": "none", "api": "openai-completions", "models": [model]}
    return {
        "models": {"providers": {"scripted": provider}},
        "agents": {"defaults": {"model": {"primary": f"scripted/{MODEL}"}}},
    }


@pytest.mark.long(
    "the other clients are connected as it is, above; it recalls in tests/openclaw/test_context_engine.py"
)
@pytest.mark.servers("node", "openclaw")
@pytest.mark.timeout(900)
@pytest.mark.slow("the real client takes a quarter of a minute to start")
async def test_openclaw_recalls_and_is_left_without_a_trace(brain: Brain, tmp_path: Path) -> None:
    """OpenClaw offers a model three tools, by which it finds the others."""
    need("node")
    need("openclaw")
    recall = {"id": "openbrain__brain_recall", "args": {"query": "when do we deploy?"}}
    model = ScriptedModel((("tool_search", {"query": "brain_recall"}), ("tool_call", recall)))
    key, app = await brain.key(permissions=frozenset(Permission)), with_mcp(brain.app())
    async with http(app, key) as client, served(app) as url, served(model.app()) as model_url:
        await remembered(client, "Deploys are on Tuesdays.")
        await brain.settle()
        person = Person(tmp_path / "home", url, key)
        settings = person.home / ".openclaw" / "openclaw.json"
        settings.parent.mkdir()
        settings.write_text(json.dumps(fake_provider(model_url)))
        await person.types("connect", "openclaw")
        go = [NODE.program, OPENCLAW.program, "agent", "--local", "--agent", "main", "-m", "go", "--json"]
        printed = await finished([*go, "--session-key", "agent:main:t1"], person.home, 600)
        await person.types("connect", "openclaw", "--remove")

    assert len(model.received) == 2, printed
    assert "brain_recall" in model.received[0]
    assert "Deploys are on Tuesdays." in model.received[1]
    assert "openbrain" not in settings.read_text()
