"""An import of OpenClaw's transcripts, killed in the middle and repeated, stores each turn once and misses none."""

import asyncio
import json
import os
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from openbrain_cli.memories.transfer import export_file
from tests.support.api.brain import Brain, http
from tests.support.api.served import served
from tests.support.api.transfer import EVERYTHING
from tests.support.cli.terminal import Terminal
from tests.support.processes.forked import Forked
from tests.support.waiting import PATIENCE_S

pytestmark = pytest.mark.asyncio(loop_scope="module")

SESSION = "agent:iris:main"
SAID = ("Deploy, please.", "ok", "And the ferry?", "ok", "ok", "It leaves at nine.", "ok", "Good.", "Bye.", "ok")
PART, DOOMED = 3, 2
"""Lines per request, and the request at which the command is killed: one part is stored, and one is never sent."""


def small_parts() -> None:
    export_file.PART_LINES = PART


def events() -> Sequence[dict[str, Any]]:
    first = {"type": "session", "version": 3, "id": "5f0c", "timestamp": "2026-04-01T10:00:00.000Z"}
    messages = (
        {"type": "message", "id": f"e{number}", "timestamp": f"2026-04-01T10:00:{number:02}.000Z"}
        | {"message": {"role": ("user", "assistant")[number % 2], "content": text}}
        for number, text in enumerate(SAID)
    )
    return [first, *messages]


def lines(home: Path) -> Path:
    path = home / "agents" / "iris" / "sessions" / "5f0c.jsonl"
    path.parent.mkdir(parents=True)
    path.with_name("sessions.json").write_text(json.dumps({SESSION: {"sessionId": "5f0c"}}))
    path.write_text("\n".join(map(json.dumps, events())))
    return path


def database(home: Path) -> Path:
    path = home / "agents" / "iris" / "agent" / "openclaw-agent.sqlite"
    path.parent.mkdir(parents=True)
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE session_windows (session_id, session_key)")
    connection.execute("CREATE TABLE transcript_events (session_id, seq, event_json, created_at)")
    connection.execute("INSERT INTO session_windows VALUES ('5f0c', ?)", (SESSION,))
    rows = [("5f0c", number, json.dumps(event), 1) for number, event in enumerate(events())]
    connection.executemany("INSERT INTO transcript_events VALUES (?,?,?,?)", rows)
    connection.commit()
    connection.close()
    return path


@dataclass
class Killing:
    """The API; it kills the importing command at one of its requests: before it is handled, or before its answer."""

    app: Any
    at: str
    command: Forked | None = None
    imports: int = 0
    killed: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or not scope["path"].endswith("/import"):
            await self.app(scope, receive, send)
            return
        self.imports += 1
        doomed = self.imports == DOOMED
        if doomed and self.at == "asked":
            self._kill()
            while (await receive())["type"] != "http.disconnect":
                pass
            return

        async def answer(message: Any) -> None:
            if doomed and message["type"] == "http.response.start":
                self._kill()
            await send(message)

        await self.app(scope, receive, answer)

    def _kill(self) -> None:
        assert self.command is not None
        self.command.kill()
        self.killed.set()


async def stored(brain: Brain, key: str) -> Sequence[str]:
    """The stored texts, turn by turn."""
    async with http(brain.app(), key) as client:
        asked = {"metadata.sessionId": SESSION, "limit": "100"}
        turns = (await client.get("/v1/thoughts", params=asked)).json()
    return [each["content"] for each in sorted(turns, key=lambda each: int(each["metadata"]["turn"]))]


@pytest.mark.parametrize("everything", [True, False], ids=["as it was", "as the agent's"])
@pytest.mark.parametrize(("made", "at", "there"), [(lines, "asked", PART), (database, "answered", 2 * PART)])
async def test_a_killed_import_is_given_again(
    made: Callable[[Path], Path], at: str, there: int, everything: bool, module_brain: Brain, tmp_path: Path
) -> None:
    limits = {"permissions": EVERYTHING} if everything else {}
    key = await module_brain.key(await module_brain.new_workspace(), "iris", **limits)
    words = ["import", os.fspath(made(tmp_path)), "--json"]
    killing = Killing(module_brain.app(), at)
    async with served(killing) as url:
        terminal = Terminal(tmp_path, tmp_path / "data", {"OPENBRAIN_URL": url, "OPENBRAIN_API_KEY": key})
        with open(os.devnull, "r+b") as nothing:  # noqa: PTH123 - no path of ours
            files = dict.fromkeys(("stdin", "out", "err"), nothing.fileno())
            killing.command = Forked(words, env=terminal.env({}), cwd=tmp_path, before=small_parts, **files)
            await asyncio.wait_for(killing.killed.wait(), PATIENCE_S)
        assert await asyncio.to_thread(killing.command.wait, PATIENCE_S) == -9
        assert await stored(module_brain, key) == list(SAID[:there])

        again = await asyncio.to_thread(terminal.run, *words)
        assert await stored(module_brain, key) == list(SAID)

    told = again.json
    assert (told["created"], told["present"], told["refused"]) == (len(SAID) - there, there, 0), again.err
