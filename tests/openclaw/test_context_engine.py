"""The context engine on the real OpenClaw, offline, with a scripted model: each turn is stored once, and comes back."""

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from openbrain_cli.agents.clients import CLIENTS, OPENCLAW_ENGINE, Bridge, Places
from tests.servers.plugin import need
from tests.servers.tools.npm_clients import NODE, OPENCLAW
from tests.support.api.brain import Brain, http
from tests.support.api.served import served
from tests.support.cli.coding_agents.scripted_model import MODEL, ScriptedModel
from tests.support.processes.finished import finished

SOURCES = Path(__file__).parents[2] / "integrations" / "openclaw"
NOWHERE = "http://127.0.0.1:9"
TURN_S = 300


class Host:
    """An OpenClaw in a home of its own."""

    def __init__(self, home: Path, plugin: Path, model_url: str, key: str) -> None:
        self.home, self._plugin, self._model_url, self._key = home, plugin, model_url, key
        self._settings = home / ".openclaw" / "openclaw.json"
        self._settings.parent.mkdir(parents=True)

    def points_to(self, brain_url: str) -> None:
        """The plugin is chosen, as `openbrain connect openclaw` does it, and asks the OpenBrain there."""
        costs = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite"), 0)
        model = {"id": MODEL, "name": MODEL, "contextWindow": 32_000, "maxTokens": 2_000, "input": ["text"]}
        model |= {"reasoning": False, "cost": costs}
        provider = {
            "baseUrl": f"{self._model_url}/v1",
            "apiKey": "none",
            "api": "openai-completions",
            "models": [model],
        }
        settings: dict[str, Any] = {
            "models": {"providers": {"scripted": provider}},
            "agents": {"defaults": {"model": {"primary": f"scripted/{MODEL}"}}},
        }
        home = self.home
        places = Places(
            home=home, claude=home, claude_json=home, codex=home, openclaw_json=self._settings, project=None
        )
        bridge = Bridge(
            program=home, arguments=(), connection=home, url=brain_url, secret=self._key, context_engine=self._plugin
        )
        (edit,) = CLIENTS["openclaw"].edits(places, bridge)
        connected: dict[str, Any] = json.loads(edit.added(json.dumps(settings).encode()))
        connected.pop("mcp")  # no tools here
        connected["plugins"]["entries"][OPENCLAW_ENGINE]["config"]["timeoutMs"] = 10_000
        self._settings.write_text(json.dumps(connected))

    async def says(self, text: str, session: str = "agent:main:t1") -> str:
        """One turn; what the host printed."""
        go = [NODE.program, OPENCLAW.program, "agent", "--local", "--agent", "main", "-m", text, "--json"]
        return await finished([*go, "--session-key", session], self.home, TURN_S)


async def thoughts(client: Any, session: str = "agent:main:t1") -> list[dict[str, Any]]:
    """In the order of the host's own times."""
    response = await client.get("/v1/thoughts", params={"metadata.sessionId": session, "limit": 100})
    assert response.status_code == 200, response.text
    rows: list[dict[str, Any]] = response.json()
    return sorted(rows, key=lambda row: int(row["metadata"]["timestamp"]))


def said(rows: Sequence[dict[str, Any]], role: str) -> list[str]:
    return [row["content"] for row in rows if row["metadata"]["role"] == role]


@pytest.fixture
async def plugin(tmp_path: Path) -> Path:
    """The plugin as it is installed: built, with nothing else beside it than it asks for."""
    need("node")
    need("openclaw")
    built = tmp_path / "plugin"
    shutil.copytree(SOURCES, built, ignore=shutil.ignore_patterns("node_modules", "dist"))
    npm, path = shutil.which("npm") or "npm", f"{Path(NODE.program).parent}:/usr/bin:/bin"
    as_here = {**os.environ, "PATH": path}  # the registry and its certificates are the machine's
    await finished([npm, "ci", "--ignore-scripts", "--omit=peer", "--no-audit", "--no-fund"], built, TURN_S, **as_here)
    await finished([npm, "run", "build"], built, TURN_S, **as_here)
    await finished([npm, "run", "check"], built, TURN_S, **as_here)
    await finished([npm, "test"], built, TURN_S, **as_here)
    return built


@pytest.mark.servers("node", "openclaw")
@pytest.mark.timeout(1800)
async def test_each_turn_is_stored_once_and_comes_back(brain: Brain, plugin: Path, tmp_path: Path) -> None:
    """Some turns of a quarter of a minute each; while OpenBrain is away too."""
    key, model = await brain.key(agent="main"), ScriptedModel(())
    async with http(brain.app(), key) as client, served(brain.app()) as url, served(model.app()) as model_url:
        host = Host(tmp_path / "home", plugin, model_url, key)
        host.points_to(url)
        printed = await host.says("The code of the depot is 4711.")
        assert "degraded to legacy" not in printed, printed
        first = await thoughts(client)
        assert len(said(first, "user")) == len(said(first, "assistant")) == 1, printed
        assert "4711" in said(first, "user")[0]

        host.points_to(NOWHERE)
        await host.says("While it is away: bring a lamp.")
        assert len(await thoughts(client)) == 2, "OpenBrain was away"
        host.points_to(url)
        await host.says("And now it is back.")
        rows = await thoughts(client)
        assert [len(said(rows, role)) for role in ("user", "assistant")] == [3, 3], rows
        assert [part in text for part, text in zip(("4711", "lamp", "back"), said(rows, "user"), strict=True)] == [
            True
        ] * 3
        assert len({row["id"] for row in rows}) == 6

        await brain.settle()
        model.requests.clear()
        await host.says("What is the code of the depot?", session="agent:main:t2")
        (asked,) = [request for request in model.requests if "openbrain-recalled" in request]
        assert "4711" in asked
        assert asked.count("<openbrain-recalled>") == 1, asked
