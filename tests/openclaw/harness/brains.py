"""OpenBrain as processes that can be killed: all in one with embedded parts, or services on servers."""

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

import httpx

from openbrain.client import OpenBrain
from openbrain_cli.agents.clients import PERMISSIONS
from tests.servers.places import free_port
from tests.support.cli.services import Process, Services
from tests.support.cli.terminal import Terminal
from tests.support.processes.forked import Forked
from tests.support.processes.short_pauses import shorten
from tests.support.waiting import PATIENCE_S, until

PATIENT = {"OPENBRAIN_RECALL__TUNING__INDEX_TIMEOUT_S": "60", "OPENBRAIN_STREAMS__TUNING__POLL_S": "0.3"}
"""On a busy machine an answer may lack an index, which these tests do not check."""


class RunningBrain(Protocol):
    """An address and a key that stay valid when processes are restarted."""

    url: str
    key: str

    async def start(self) -> None: ...

    def kill(self) -> None: ...


class EmbeddedBrain:
    """`openbrain up`."""

    key = ""

    def __init__(self, home: Path) -> None:
        home.mkdir()
        self._terminal, self._port = Terminal(home, home / "data"), free_port()
        self.url = f"http://127.0.0.1:{self._port}"
        self._process: Forked | None = None

    async def start(self) -> None:
        home, words = self._terminal.home, ["up", "--port", str(self._port)]
        with (home / "up.log").open("ab") as out, open(os.devnull, "rb") as nothing:  # noqa: PTH123 - no path of ours
            files = {"stdin": nothing.fileno(), "out": out.fileno(), "err": out.fileno()}
            self._process = Forked(words, env=self._terminal.env(PATIENT), cwd=home, before=shorten, **files)
        await answering(self.url)
        if not self.key:
            admin = (self._terminal.data / "key").read_text().split()[0]
            async with OpenBrain(self.url, admin, allow_http=True) as brain:
                permissions = [permission.value for permission in PERMISSIONS]
                self.key = (await brain.create_key(name="host", permissions=permissions, agent_id="main")).key

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(PATIENCE_S)
            self._process = None


@asynccontextmanager
async def embedded_brain(home: Path) -> AsyncIterator[EmbeddedBrain]:
    brain = EmbeddedBrain(home)
    try:
        await brain.start()
        yield brain
    finally:
        brain.kill()


class ServiceBrain:
    """Services on servers; a kill ends the API, the embedder and the indexers."""

    def __init__(self, services: Services, key: str) -> None:
        self.key, self._services, self._port = key, services, free_port()
        self.url = f"http://127.0.0.1:{self._port}"
        self._doomed: list[Process] = []

    async def start(self) -> None:
        if not self._services.started:
            self._services.start("housekeeper")
        self._doomed = [self._services.start_at(self._port, "api")]
        self._doomed += [self._services.start(name) for name in ("embedder", "indexer-text", "indexer-vector")]
        await self._services.all_ready()

    def kill(self) -> None:
        for process in self._doomed:
            process.kill()


async def answering(url: str) -> None:
    async with httpx.AsyncClient() as http:

        async def ready() -> bool:
            try:
                return (await http.get(f"{url}/ready")).status_code == 200
            except httpx.HTTPError:
                return False

        await until(ready, pause=0.05)


async def thoughts(brain: RunningBrain, session: str, kind: str = "message") -> Sequence[dict[str, Any]]:
    """Return all thoughts of a session, in the order in which they were stored."""
    found: list[dict[str, Any]] = []
    headers, cursor = {"authorization": f"Bearer {brain.key}"}, ""
    async with httpx.AsyncClient(base_url=brain.url, headers=headers, timeout=PATIENCE_S) as http:
        while True:
            asked = {"metadata.sessionId": session, "metadata.type": kind, "limit": "100"}
            response = await http.get("/v1/thoughts", params=asked | ({"cursor": cursor} if cursor else {}))
            assert response.status_code == 200, response.text
            found += response.json()
            cursor = response.headers.get("x-next-cursor", "")
            if not cursor:
                return found[::-1]
