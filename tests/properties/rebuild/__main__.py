"""Indexes made anew, the model changed and everything verified under a steady load, with kill -9 in the middle.

`python -m tests.properties.rebuild --memories 100000` prints what it measured; exit code 1 where a promise does not
hold: no recall fails or is degraded, every write is in the new generation, and p95 of recalls and of the time from
submitting to indexed are no more than twice what they are in the quiet before and after. The tests of
`tests/integration` (reindex, model change) are its small form.
"""

import argparse
import asyncio
import json
import signal
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from benchmarks.support.texts import texts
from tests.properties.rebuild import check as rebuild_check
from tests.properties.rebuild.load import Load
from tests.properties.rebuild.model_double import MODELS
from tests.properties.rebuild.places import Place, alone, on_servers
from tests.properties.rebuild.samples import Phase, Samples, Span, broken, table, unjudged
from tests.support.store.fixtures import rows
from tests.support.waiting import until

SECOND = list(MODELS)[1]
AT_ONCE = 500
CAUGHT_UP_S = 1200
WARM_LOOKS = 20
ENDED = ("done", "failed", "cancelled")


@dataclass(frozen=True, slots=True)
class Step:
    """One operation, and which services are killed in the middle of it."""

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

    place: Place
    operator: httpx.AsyncClient
    load: Load
    rate: int

    async def made(self, step: Step, quiet: Span, pause_s: float) -> Phase:
        """Start the operation, kill in the middle, wait for its end, then have a quiet phase again."""
        begin = time.monotonic()
        body = {**step.body, **({"rate": self.rate} if self.rate and step.name != "verify" else {})}
        answer = (await self.operator.post(step.path, json=body)).raise_for_status().json()
        operation = (answer.get("operation") or answer)["id"]
        state = await self._until_in_the_middle(operation)
        if step.dies and state["status"] not in ENDED:
            await self._kill(step.dies)
        while state["status"] not in ENDED:
            state = await self._state(operation, wait=5)
        span = Span(begin, time.monotonic())
        _say(f"{step.name}: {state['status']} after {span.seconds:.0f} s {json.dumps(state.get('result'))[:400]}")
        await self.load.settled(time.monotonic())
        return Phase(step.name, span, (quiet, await self.load.quiet(pause_s)), step.dies, state)

    async def caught_up(self) -> None:
        """Wait until nothing is on its way any more, neither to the serving generation nor to one that is kept."""
        limit = time.monotonic() + CAUGHT_UP_S
        while time.monotonic() < limit:
            begun = (await self.operator.post("/v1/admin/verify", json={"full": True})).raise_for_status().json()
            state = begun
            while state["status"] not in ENDED:
                state = await self._state(begun["id"], wait=5)
            if state["status"] == "done" and not state["result"]["queued"]:
                return

    async def _state(self, operation: str, wait: int = 0) -> dict[str, Any]:
        """Ask as an operator's tool does: again if the server says that it is busy."""
        while True:
            answer = await self.operator.get(f"/v1/admin/operations/{operation}?wait={wait}")
            if answer.status_code != httpx.codes.SERVICE_UNAVAILABLE:
                told: dict[str, Any] = answer.raise_for_status().json()
                return told
            await asyncio.sleep(1)

    async def _until_in_the_middle(self, operation: str) -> dict[str, Any]:
        while True:
            state = await self._state(operation)
            if state["status"] in ENDED or (state["done"] and state["done"] >= (state["total"] or 0) / 3):
                return state
            await asyncio.sleep(0.1)

    async def _kill(self, names: Sequence[str]) -> None:
        begin = time.monotonic()
        await self.place.kill(names)
        back = time.monotonic()
        if self.place.alone:
            self.load.samples.down.append(Span(begin, back))
        if not await self.load.settled(back):
            raise SystemExit(f"what was submitted before {', '.join(names)} came back is not indexed")
        kill = Span(begin, time.monotonic())
        self.load.samples.kills.append(kill)
        _say(f"killed {', '.join(names)}: ready after {back - begin:.1f} s, all indexed after {kill.seconds:.1f} s")


async def rebuilt(place: Place, options: argparse.Namespace) -> dict[str, Any]:
    """Fill, then run one step after the other under load."""
    async with _client(place.url, place.servers.key) as http, _client(place.url, place.operator_key) as operator:
        filled = await _fill(http, place, options.memories)
        load = Load(place.servers, http, filled, options.seed, place.hows)
        run = Run(place, operator, load, options.rate)
        try:
            await load.begin(options.writes, options.recalls)
            await _warm(load, options.quiet / 3)
            begun = time.monotonic()
            phases = await _phases(run, options)
            await load.finish()
        finally:
            await load.stop()
        await run.caught_up()
        check = await rebuild_check.checked(place.servers, await place.stopped(), load.expected)
    return _report(options, phases, load.samples, check, Span(begun, time.monotonic()))


async def _warm(load: Load, pause_s: float) -> None:
    """Wait until a newly filled index answers every recall for a while; earlier samples do not count."""
    for _ in range(WARM_LOOKS):
        if not load.samples.figures(await load.quiet(pause_s)).failed_recalls:
            return
    raise SystemExit("the indexes do not answer every recall, and nothing has begun")


async def _phases(run: Run, options: argparse.Namespace) -> list[Phase]:
    quiet = await run.load.quiet(options.quiet)
    phases: list[Phase] = []
    for step in STEPS:
        if step.name in options.steps:
            phases.append(await run.made(step, quiet, options.quiet))
            quiet = phases[-1].quiet[1]
            _say(table([phases[-1].told(run.load.samples)]))
    return phases


def _report(
    options: argparse.Namespace, phases: Sequence[Phase], samples: Samples, check: Mapping[str, Any], span: Span
) -> dict[str, Any]:
    told = [each.told(samples) for each in phases]
    whole = samples.figures(span)
    failed = [*broken(told), *rebuild_check.broken(check)]
    if whole.failed_recalls or whole.failed_writes or whole.waiting:
        failed.append(f"of all: {whole.failed_recalls}, {whole.failed_writes}, never indexed {whole.waiting}")
    return {
        "on": options.on,
        "memories": options.memories,
        "writes_a_second": options.writes,
        "recalls_a_second": options.recalls,
        "rate": options.rate,
        "index_timeout": options.index_timeout,
        "recalls": whole.recalls,
        "writes": whole.writes,
        "phases": told,
        "check": check,
        "unjudged": unjudged(told),
        "broken": failed,
    }


def _client(url: str, key: str) -> httpx.AsyncClient:
    limits = httpx.Limits(max_connections=200, max_keepalive_connections=200)
    return httpx.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=60, limits=limits)


async def _fill(http: httpx.AsyncClient, place: Place, count: int) -> list[str]:
    begun = time.monotonic()
    # A kept folder is filled already, at least in part.
    ids = [str(each["id"]) for each in await rows(place.servers.store._database, "SELECT id FROM memories")]
    all_texts = texts(count)
    for start in range(len(ids) // AT_ONCE * AT_ONCE, count, AT_ONCE):
        memories = [{"content": each, "type": "fact"} for each in all_texts[start : start + AT_ONCE]]
        answer = (await http.post("/v1/brain/remember:batch", json={"memories": memories})).raise_for_status().json()
        ids += [each["id"] for each in answer["results"]]

    async def indexed() -> bool:
        query = "SELECT COUNT(*) AS n FROM memories WHERE text_revision = revision AND vector_revision = revision"
        (found,) = await rows(place.servers.store._database, query)
        return int(found["n"]) >= count

    await until(indexed, seconds=600 + count / 20, pause=1)
    _say(f"{count} memories filled in {time.monotonic() - begun:.0f} s")
    return ids


def _say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)  # noqa: T201 - a command


def main(arguments: Sequence[str] | None = None) -> int:
    """Return exit code 0 if every promise held."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--on", choices=("servers", "embedded"), default="servers")
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
    parser.add_argument("--folder", type=Path, help="keeps the services' logs there, and embedded parts")
    parser.add_argument("--json", type=Path, help="write the report there")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended from outside"))  # services and servers end with us
    with ExitStack() as stack:
        folder = options.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        report = asyncio.run(_main(folder, options))
    text = json.dumps(report, indent=2)
    if options.json:
        options.json.write_text(text, encoding="utf-8")
    _say(text)
    print(table(report["phases"]))  # noqa: T201 - a command
    for each in report["unjudged"]:
        print(f"not judged: {each}")  # noqa: T201 - a command
    for each in report["broken"]:
        print(f"BROKEN: {each}")  # noqa: T201 - a command
    return 1 if report["broken"] else 0


async def _main(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    place = alone if options.on == "embedded" else on_servers
    async with place(folder, options.index_timeout) as made:
        return await rebuilt(made, options)


if __name__ == "__main__":
    sys.exit(main())
