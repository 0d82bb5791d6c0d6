"""OpenClaw's gateway in its own home: called over HTTP, killed, and restarted on the same files."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from openbrain_cli.agents.clients import CLIENTS, OPENCLAW_ENGINE, Bridge, Places
from tests.openclaw.harness.talker import WINDOW
from tests.servers.places import HOME, free_port
from tests.servers.tools.npm_clients import NODE, OPENCLAW, NpmClient
from tests.support.cli.coding_agents.scripted_model import MODEL
from tests.support.processes.finished import finished
from tests.support.waiting import PATIENCE_S, until

ANSWER = 2_000
"""Tokens of one answer."""
START_S = 2.5 * PATIENCE_S
_TOKEN = "token-of-the-test"


@dataclass
class Gateway:
    """`plugin`: the folder of the built context engine; None: the host's own engine."""

    home: Path
    model_url: str
    plugin: Path | None = None
    package: NpmClient = OPENCLAW
    agents: Sequence[str] = ()
    """The agents, if there are more than main."""
    port: int = field(default_factory=free_port)
    _running: "subprocess.Popen[bytes] | None" = None

    def __post_init__(self) -> None:
        self._settings.parent.mkdir(parents=True)

    @property
    def _settings(self) -> Path:
        return self.home / ".openclaw" / "openclaw.json"

    @property
    def log(self) -> str:
        return (self.home / "gateway.log").read_text()

    def transcript(self, agent: str = "main") -> Path:
        """Return the path of an agent's session database."""
        return self.home / ".openclaw" / "agents" / agent / "agent" / "openclaw-agent.sqlite"

    def configure(self, brain_url: str, key: str) -> None:
        """Configure the host as `openbrain connect openclaw` does."""
        settings = self._own_settings()
        if self.plugin is not None:
            home = self.home
            places = Places(home=home, claude=home, claude_json=home, codex=home, openclaw_json=self._settings)
            bridge = Bridge(
                program=home, arguments=(), connection=home, url=brain_url, secret=key, context_engine=self.plugin
            )
            (edit,) = CLIENTS["openclaw"].edits(places, bridge)
            settings = json.loads(edit.added(json.dumps(settings).encode()))
            settings.pop("mcp")  # without our tools
            settings["plugins"]["entries"][OPENCLAW_ENGINE]["config"]["timeoutMs"] = 10_000  # a busy machine is slow
        plugins = settings.setdefault("plugins", {})
        plugins.setdefault("slots", {})["memory"] = "none"
        plugins["allow"] = [OPENCLAW_ENGINE]  # otherwise a dozen others are loaded at each start
        self._settings.write_text(json.dumps(settings))

    def _own_settings(self) -> dict[str, Any]:
        costs = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite"), 0)
        model = {"id": MODEL, "name": MODEL, "contextWindow": WINDOW, "maxTokens": ANSWER, "input": ["text"]}
        model |= {"reasoning": False, "cost": costs}
        provider = {"baseUrl": f"{self.model_url}/v1", "apiKey": "none", "api": "openai-completions"}
        agents: dict[str, Any] = {"entries": {name: {} for name in self.agents}} if self.agents else {}
        defaults: dict[str, Any] = {"model": {"primary": f"scripted/{MODEL}"}}
        if self.plugin is None:  # the host refuses summaries without its headings, which a scripted model lacks
            defaults["compaction"] = {"qualityGuard": {"enabled": False}}
        return {
            "models": {"providers": {"scripted": {**provider, "models": [model]}}},
            "agents": {"defaults": defaults, **agents},
            "gateway": {"http": {"endpoints": {"chatCompletions": {"enabled": True}}}},
        }

    async def start(self) -> None:
        words = ["gateway", "run", "--port", str(self.port), "--bind", "loopback", "--auth", "token"]
        words += ["--token", _TOKEN, "--allow-unconfigured"]
        with (self.home / "gateway.log").open("ab") as out:
            self._running = subprocess.Popen(
                [NODE.program, self.package.program, *words],
                cwd=self.home,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        async with httpx.AsyncClient() as http:

            async def answers() -> bool:
                assert self._running is not None
                assert self._running.poll() is None, self.log[-3_000:]
                try:
                    return (await http.get(f"http://127.0.0.1:{self.port}/health")).status_code == 200
                except httpx.HTTPError:
                    return False

            await until(answers, START_S, 0.1)

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Kill it with all processes that it started."""
        if self._running is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._running.pid, number)
            self._running.wait(PATIENCE_S)
            self._running = None

    async def says(self, text: str, session: str = "t1", agent: str = "main") -> str:
        """Run one turn; return the model's answer."""
        asked = {"model": f"openclaw/{agent}", "messages": [{"role": "user", "content": text}]}
        headers = {"authorization": f"Bearer {_TOKEN}", "x-openclaw-session-key": f"agent:{agent}:{session}"}
        async with httpx.AsyncClient(timeout=START_S) as http:
            url = f"http://127.0.0.1:{self.port}/v1/chat/completions"
            response = await http.post(url, json=asked, headers=headers)
        assert response.status_code == 200, response.text + self.log[-3_000:]
        answer: str = response.json()["choices"][0]["message"]["content"]
        return answer

    async def compact(self, session: str = "t1", agent: str = "main") -> str:
        """Compact by command; return what it printed."""
        to = ["--url", f"ws://127.0.0.1:{self.port}", "--token", _TOKEN]
        return await self.command("sessions", "compact", f"agent:{agent}:{session}", *to)

    async def command(self, *words: str) -> str:
        return await finished([NODE.program, self.package.program, *words], self.home, START_S, **self._environment())

    def _environment(self) -> Mapping[str, str]:
        skipped = dict.fromkeys(("OPENCLAW_SKIP_CHANNELS", "OPENCLAW_SKIP_CRON", "OPENCLAW_SKIP_CANVAS_HOST"), "1")
        own = {"HOME": str(self.home), "PATH": "/usr/bin:/bin", "NODE_COMPILE_CACHE": str(HOME / ".compiled")}
        return {**own, **skipped}

    async def ended(self) -> None:
        """Kill it in any state."""
        await asyncio.to_thread(self.kill)
