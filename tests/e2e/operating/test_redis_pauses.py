"""One outage of the stream server gives one line in each process's log, whatever reads, publishes, listens and
counts."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from openbrain.adapters.local.clock import SystemClock
from openbrain.adapters.sql.schema.commands import upgrade
from openbrain.adapters.sql.store import open_store
from openbrain.domain.access.permissions import Permission
from openbrain.ports.store.tenants import Workspace
from openbrain.settings import Truth
from openbrain.usecases.auth import hash_secret, issue
from tests.servers.processes.process import ServerProcess
from tests.support.cli.services import services
from tests.support.cli.terminal import Terminal, up
from tests.support.waiting import PATIENCE_S, until

QUICK = {
    "OPENBRAIN_LOGS__LEVEL": "DEBUG",
    "OPENBRAIN_LOGS__JSON_LINES": "true",
    "OPENBRAIN_STREAMS__TUNING__POLL_S": "0.3",
    "OPENBRAIN_STREAMS__TUNING__RECONNECT_MAX_S": "0.5",
    "OPENBRAIN_STREAMS__TUNING__REAP_S": "0.3",
    "OPENBRAIN_HOUSEKEEPING__TUNING__TRIM_EVERY_S": "0.5",
    "OPENBRAIN_HOUSEKEEPING__TUNING__MEND_EVERY_S": "0.5",
}
PAUSES: Mapping[str, tuple[Callable[[ServerProcess], Any], Callable[[ServerProcess], Any]]] = {
    "stopped": (ServerProcess.pause, ServerProcess.resume),
    "killed": (ServerProcess.kill, ServerProcess.start),
}
ROUNDS = 30
"""Rounds of traffic made while the server is away, one after another."""
TELLS, TELLS_END = "streams.redis_trouble", "streams.redis_answers"
NOWHERE = "http://127.0.0.1:9"


class Traffic:
    """Writes, raises signals and listens until stopped."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http
        self._rounds = 0
        self._tasks: list[asyncio.Task[None]] = []

    @asynccontextmanager
    async def going(self) -> AsyncIterator["Traffic"]:
        self._tasks = [asyncio.create_task(each()) for each in (self._write, self._listen)]
        try:
            yield self
        finally:
            for task in self._tasks:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task

    async def _write(self) -> None:
        while True:
            written = {"content": f"Ship {self._rounds} carries tea.", "type": "fact"}
            raised = {"source": "disk", "severity": "warning", "title": f"disk {self._rounds} is full"}
            (await self._http.post("/v1/brain/remember", json=written)).raise_for_status()
            (await self._http.post("/v1/amygdala/signals", json=raised)).raise_for_status()
            self._rounds += 1

    async def _listen(self) -> None:
        async with self._http.stream("GET", "/v1/amygdala/stream") as answer:
            async for _ in answer.raise_for_status().aiter_lines():
                pass

    async def rounds(self, number: int) -> None:
        """Wait for this many more rounds."""
        last = self._rounds + number

        async def made() -> bool:
            for task in self._tasks:
                assert not task.done(), task.exception()
            return self._rounds >= last

        await until(made)


def told(log: Path) -> Sequence[str]:
    """The events of a process's log, without those that each index logs at its first write."""
    lines = [orjson.loads(line) for line in log.read_text(encoding="utf-8").splitlines() if line.startswith("{")]
    return [line["event"] for line in lines if line["event"] != "indexer.writes"]


@asynccontextmanager
async def traffic(url: str, key: str) -> AsyncIterator[Traffic]:
    headers = {"Authorization": f"Bearer {key}"}
    async with (
        httpx.AsyncClient(base_url=url, headers=headers, timeout=PATIENCE_S) as http,
        Traffic(http).going() as going,
    ):
        await going.rounds(1)
        yield going


async def pause(redis: ServerProcess, how: str, going: Traffic, logs: Sequence[Path]) -> list[Sequence[str]]:
    """The events that each process logs from the loss of the server until the server serves all of them again."""
    begin, end = PAUSES[how]
    before = [len(told(log)) for log in logs]

    def since() -> list[Sequence[str]]:
        return [told(log)[number:] for log, number in zip(logs, before, strict=True)]

    async def noticed() -> bool:
        return all(TELLS in each for each in since())

    async def over() -> bool:
        return all(TELLS_END in each for each in since())

    begin(redis)
    await until(noticed)
    await going.rounds(ROUNDS)
    end(redis)
    await until(over)
    await going.rounds(ROUNDS)
    return since()


@pytest.mark.servers("valkey")
@pytest.mark.slow("one start of everything, and a pause that its reads must notice")
async def test_all_services_of_one_process_tell_a_pause_in_one_line(
    tmp_path: Path, private_server: Callable[[str], ServerProcess]
) -> None:
    redis = private_server("valkey")
    settings = {**QUICK, "OPENBRAIN_STREAMS__URL": f"redis://127.0.0.1:{redis.port}/0"}
    with up(Terminal(tmp_path, tmp_path / "data", settings)) as terminal:
        url, key = ((terminal.data / name).read_text().strip() for name in ("url", "key"))
        async with traffic(url, key) as going:
            assert await pause(redis, "stopped", going, [tmp_path / "up.log"]) == [[TELLS, TELLS_END]]


async def a_key(mariadb_url: str, folder: Path) -> str:
    upgrade(mariadb_url)
    clock = SystemClock()
    store = open_store(Truth(url=mariadb_url), folder, clock)
    await store.workspaces.create_workspace(Workspace(id="w1", name="w1", created_at=clock.now()))
    key, secret = issue(workspace_id="w1", name="test", permissions=frozenset(Permission), now=clock.now())
    await store.api_keys.create_key(key, hash_secret(secret))
    await store.close()
    return secret


@pytest.mark.servers("redis")
@pytest.mark.slow("four services, and a pause that the reads of each must notice")
@pytest.mark.parametrize(
    "how", [pytest.param("stopped", marks=pytest.mark.long("all services of one process, above")), "killed"]
)
async def test_each_process_tells_a_pause_in_one_line(
    tmp_path: Path, mariadb_url: str, private_server: Callable[[str], ServerProcess], how: str
) -> None:
    redis = private_server("redis")
    key = await asyncio.to_thread(lambda: asyncio.run(a_key(mariadb_url, tmp_path)))
    environment = {
        **QUICK,
        "OPENBRAIN_STREAMS__URL": f"redis://127.0.0.1:{redis.port}/0",
        "OPENBRAIN_TRUTH__URL": mariadb_url,
        **dict.fromkeys(("OPENBRAIN_TEXT__URL", "OPENBRAIN_VECTORS__URL", "OPENBRAIN_EMBEDDING__URL"), NOWHERE),
    }
    with services(environment, tmp_path) as started:
        api, *_ = [started.start(service) for service in ("api", "housekeeper", "ingest", "amygdala")]
        await started.all_ready()
        async with traffic(api.url, key) as going:
            found = await pause(redis, how, going, [each.log for each in started.started])
    # Broadcasts that a killed server lost are published again, which is logged: as a repair, not as the outage.
    pauses = [[event for event in events if event != "broadcasts.published_again"] for events in found]
    assert pauses == [[TELLS, TELLS_END]] * len(started.started)
