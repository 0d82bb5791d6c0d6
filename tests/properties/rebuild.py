"""Indexes made anew, the model changed and everything verified under a steady load, with kill -9 in the middle.

`python -m tests.properties.rebuild --memories 100000` prints what it measured; exit code 1 where a promise does not
hold: no recall fails or is degraded, every write is in the new generation, and p95 of recalls and of the time from
submitting to indexed are no more than twice what they are in the quiet before and after. The tests of
`tests/integration` (reindex, model change) are its small form.
"""

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from benchmarks.texts import texts
from tests.integration.conftest import Servers, environment, prepared
from tests.integration.rooms import Process, Rooms
from tests.integration.rooms import rooms as running_rooms
from tests.integration.test_reindex_on_servers import operators
from tests.properties import rebuild_check
from tests.properties.model_double import MODELS
from tests.properties.rebuild_load import Load
from tests.properties.rebuild_samples import Phase, Samples, Span, broken, table
from tests.servers.catalogue import server
from tests.servers.places import free_port
from tests.servers.process import Server
from tests.truth_support import rows
from tests.waiting import until

ROOMS = ("housekeeper", "ingest", "embedder", "indexer-text", "indexer-vector", "api")
FIRST, SECOND = MODELS
LEASE_S = 10
AT_ONCE = 500
ENDED = ("done", "failed", "cancelled")
NODE = "-Xms1500m -Xmx1500m -XX:TieredStopAtLevel=4"
"""Elasticsearch as one runs it: the tests' own is made to start quickly."""


@dataclass(frozen=True, slots=True)
class Step:
    """One operation, and who dies in the middle of it."""

    name: str
    path: str
    body: Mapping[str, Any]
    dies: tuple[str, ...]


STEPS = (
    Step("text", "/v1/admin/reindex", {"index": "text"}, ("housekeeper", "indexer-text")),
    Step("vectors", "/v1/admin/reindex", {"index": "vector"}, ("housekeeper", "indexer-vector")),
    Step("model", "/v1/admin/models:change", {"model": SECOND}, ("housekeeper", "embedder", "indexer-vector")),
    Step("verify", "/v1/admin/verify", {"full": True}, ("housekeeper",)),
)


@dataclass
class Run:
    """What a step works with."""

    servers: Servers
    rooms: Rooms
    operator: httpx.AsyncClient
    load: Load
    rate: int

    async def made(self, step: Step, quiet: Span, pause_s: float) -> Phase:
        """Begin the operation, kill in the middle, wait for its end, and be quiet again."""
        begin = time.monotonic()
        body = {**step.body, **({"rate": self.rate} if self.rate and step.name != "verify" else {})}
        answer = (await self.operator.post(step.path, json=body)).raise_for_status().json()
        operation = (answer.get("operation") or answer)["id"]
        state = await self._until_in_the_middle(operation)
        if step.dies and state["status"] not in ENDED:
            await self._kill(step.dies)
        while state["status"] not in ENDED:
            state = (await self.operator.get(f"/v1/admin/operations/{operation}?wait=5")).json()
        span = Span(begin, time.monotonic())
        _say(f"{step.name}: {state['status']} after {span.seconds:.0f} s {json.dumps(state.get('result'))[:400]}")
        await self.load.settled(time.monotonic())
        return Phase(step.name, span, (quiet, await self.load.quiet(pause_s)), step.dies, state)

    async def _until_in_the_middle(self, operation: str) -> dict[str, Any]:
        while True:
            state: dict[str, Any] = (await self.operator.get(f"/v1/admin/operations/{operation}")).json()
            if state["status"] in ENDED or (state["done"] and state["done"] >= (state["total"] or 0) / 3):
                return state
            await asyncio.sleep(0.1)

    async def _kill(self, names: Sequence[str]) -> None:
        begin = time.monotonic()
        dead = [each for each in self.rooms.started if each.room in names and each.popen.poll() is None]
        for each in dead:
            each.kill()
        for each in [self.rooms.start(each.room) for each in dead]:
            await each.ready()
        back = time.monotonic()
        if not await self.load.settled(back):
            raise SystemExit(f"what was submitted before {', '.join(names)} came back is not indexed")
        kill = Span(begin, time.monotonic())
        self.load.samples.kills.append(kill)
        _say(f"killed {', '.join(names)}: ready after {back - begin:.1f} s, all indexed after {kill.seconds:.1f} s")


async def rebuilt(servers: Servers, folder: Path, elasticsearch: str, options: argparse.Namespace) -> dict[str, Any]:
    """Fill, then one step after the other under load."""
    with running_rooms(servers.environment, folder) as started:
        for room in ROOMS:
            started.start(room)
        await started.all_ready()
        (api,) = (each for each in started.started if each.room == "api")
        async with _client(servers, api) as http, operators(servers, api.url) as operator:
            filled = await _fill(http, servers, options.memories)
            load = Load(servers, http, filled, options.seed)
            run = Run(servers, started, operator, load, options.rate)
            await load.begin(options.writes, options.recalls)
            await load.quiet(options.quiet / 3)  # caches and compilers are warm
            quiet = await load.quiet(options.quiet)
            phases = []
            for step in STEPS:
                if step.name in options.steps:
                    phases.append(await run.made(step, quiet, options.quiet))
                    quiet = phases[-1].quiet[1]
                    _say(table([phases[-1].told(load.samples)]))
            await load.finish()
            check = await rebuild_check.checked(servers, elasticsearch, load.expected)
    return _report(options, phases, load.samples, check)


def _report(
    options: argparse.Namespace, phases: Sequence[Phase], samples: Samples, check: Mapping[str, Any]
) -> dict[str, Any]:
    told = [each.told(samples) for each in phases]
    whole = samples.figures(Span(0, time.monotonic()))
    failed = [*broken(told), *rebuild_check.broken(check)]
    if whole.failed_recalls or whole.failed_writes or whole.waiting:
        failed.append(f"of all: {whole.failed_recalls}, {whole.failed_writes}, never indexed {whole.waiting}")
    return {
        "memories": options.memories,
        "writes_a_second": options.writes,
        "recalls_a_second": options.recalls,
        "rate": options.rate,
        "index_timeout": options.index_timeout,
        "recalls": whole.recalls,
        "writes": whole.writes,
        "phases": told,
        "check": check,
        "broken": failed,
    }


@asynccontextmanager
async def _client(servers: Servers, api: Process) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"Authorization": f"Bearer {servers.key}"}
    limits = httpx.Limits(max_connections=200, max_keepalive_connections=200)
    async with httpx.AsyncClient(base_url=api.url, headers=headers, timeout=60, limits=limits) as http:
        yield http


async def _fill(http: httpx.AsyncClient, servers: Servers, count: int) -> list[str]:
    begun = time.monotonic()
    ids: list[str] = []
    all_texts = texts(count)
    for start in range(0, count, AT_ONCE):
        memories = [{"content": each, "type": "fact"} for each in all_texts[start : start + AT_ONCE]]
        answer = (await http.post("/v1/brain/remember:batch", json={"memories": memories})).raise_for_status().json()
        ids += [each["id"] for each in answer["results"]]

    async def indexed() -> bool:
        query = "SELECT COUNT(*) AS n FROM memories WHERE text_revision = revision AND vector_revision = revision"
        (found,) = await rows(servers.truth._database, query)
        return int(found["n"]) >= count

    await until(indexed, seconds=600 + count / 20, pause=1)
    _say(f"{count} memories filled in {time.monotonic() - begun:.0f} s")
    return ids


def _say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)  # noqa: T201 - a command


def settings_of(values: Mapping[str, str], double: str, index_timeout: float) -> dict[str, str]:
    """Times as they are delivered, but for what a kill costs and what a verification waits for."""
    kept = {name: value for name, value in values.items() if not name.startswith("OPENBRAIN_STREAMS__")}
    return {
        **kept,
        "OPENBRAIN_STREAMS__URL": values["OPENBRAIN_STREAMS__URL"],
        "OPENBRAIN_STREAMS__PREFIX": values["OPENBRAIN_STREAMS__PREFIX"],
        "OPENBRAIN_STREAMS__LEASE_S": str(LEASE_S),
        "OPENBRAIN_TEXT__REFRESH_MS": "200",
        "OPENBRAIN_EMBEDDING__URL": double,
        "OPENBRAIN_EMBEDDING__MODEL": FIRST,
        "OPENBRAIN_HOUSEKEEPING__LEASE_S": "5",
        "OPENBRAIN_HOUSEKEEPING__GRACE_S": "20",
        "OPENBRAIN_SERVER__RATE_PER_MINUTE": "0",
        "OPENBRAIN_RECALL__INDEX_TIMEOUT_S": str(index_timeout),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0 when every promise held."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--writes", type=float, default=20, help="a second")
    parser.add_argument("--recalls", type=float, default=10, help="a second")
    parser.add_argument(
        "--rate", type=int, default=0, help="memories a second that an operation announces; 0: no limit"
    )
    parser.add_argument("--quiet", type=float, default=30, help="seconds of load alone before and after each step")
    parser.add_argument(
        "--steps", nargs="+", choices=[each.name for each in STEPS], default=[each.name for each in STEPS]
    )
    parser.add_argument(
        "--index-timeout", type=float, default=3, help="seconds after which an index counts as down for a recall"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="keeps the rooms' logs there")
    parser.add_argument("--json", type=Path, help="write the report there")
    options = parser.parse_args(arguments)
    os.environ.setdefault("ES_JAVA_OPTS", NODE)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended from outside"))  # rooms and servers end with us
    with ExitStack() as stack:
        run = {each: stack.enter_context(server(each)) for each in ("redis", "mariadb", "elasticsearch")}
        folder = options.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        double = free_port()
        command = [sys.executable, "-m", "tests.properties.model_double", str(double)]
        process = subprocess.Popen(command, start_new_session=True)
        stack.callback(process.wait)
        stack.callback(process.kill)
        report = asyncio.run(_main({name: each.server for name, each in run.items()}, double, folder, options))
    text = json.dumps(report, indent=2)
    if options.json:
        options.json.write_text(text, encoding="utf-8")
    _say(text)
    print(table(report["phases"]))  # noqa: T201 - a command
    for each in report["broken"]:
        print(f"BROKEN: {each}")  # noqa: T201 - a command
    return 1 if report["broken"] else 0


async def _main(run: Mapping[str, Server], double: int, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    values = environment(
        "rebuild",
        redis=run["redis"],
        mariadb_url=run["mariadb"].url,
        elasticsearch=run["elasticsearch"],
        ollama=run["redis"],  # another stands for it
    )
    told = settings_of(values, f"http://127.0.0.1:{double}", options.index_timeout)
    servers = await prepared(told, "rebuild", folder)
    try:
        return await rebuilt(servers, folder, run["elasticsearch"].url, options)
    finally:
        await servers.truth.close()
        await servers.redis.aclose()


if __name__ == "__main__":
    sys.exit(main())
