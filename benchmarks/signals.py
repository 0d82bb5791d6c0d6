"""A nuclear signal from its XADD until a thousand subscribers know that they must stop; the same number of bare readers
of a stream beside it, and subscribers by server-sent events.

The system is `openbrain up`, one process; the subscribers share some processes of their own. Both sides take turns.
"""

import argparse
import itertools
import json
import statistics
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from redis import Redis

from benchmarks.report import Report, Row
from benchmarks.system import System, running
from openbrain.events import FIELD, SignalRaised, encode
from openbrain.signals.values import Severity
from openbrain.streams.table import SIGNAL_RAISED

NAME = "signals"
GOAL_MS = 250.0
WORKSPACE = "default"
PATIENCE_S = 120.0
REDIS, SSE, BARE = "redis", "sse", "bare"


def add_options(parser: argparse.ArgumentParser) -> None:
    """How many listen, and how often it burns."""
    parser.add_argument("--signals-subscribers", type=int, default=1000, help="of each side")
    parser.add_argument("--signals-processes", type=int, default=4, help="that they share")
    parser.add_argument("--signals-raises", type=int, default=10)


def run(options: argparse.Namespace) -> Report:
    """Every side hears every turn's own signal."""
    count = options.signals_subscribers
    environment = {
        "OPENBRAIN_SERVER__RATE_PER_MINUTE": "0",
        "OPENBRAIN_SERVER__LISTENERS": str(count + 10),
        "OPENBRAIN_SIGNALS__SOURCE_SIGNALS": "1000000",
    }
    took: dict[str, list[Sequence[float]]] = {BARE: [], REDIS: [], SSE: []}
    with running(environment) as system:
        socket = str(system.folder / "streams" / "valkey.sock")
        with Redis(unix_socket_path=socket) as redis:
            for side, turns in took.items():
                with _fleet(side, system, socket, count, options.signals_processes) as fleet:
                    for turn in range(options.signals_raises + 1):
                        latencies = _one(side, redis, fleet)
                        if side != BARE:
                            _calm(system, count)
                        if turn:  # the first warms up
                            turns.append(latencies)
            shown = tuple(_shown(redis, system) for _ in range(options.signals_raises))
    alarm = Row("XADD to GET /signal", "ms", shown)
    return Report(
        NAME, (*_rows(took, count), alarm), (f"{count} subscribers a side, {options.signals_raises} signals",)
    )


def _rows(took: dict[str, list[Sequence[float]]], count: int) -> Iterator[Row]:
    bare = {share: [_share(each, share) for each in took[BARE]] for share in (50, 99)}
    for side, what in ((BARE, "bare XADD to XREAD"), (REDIS, "by Redis"), (SSE, "by server-sent events")):
        for share in (50, 99):
            values = tuple(_share(each, share) for each in took[side])
            goal = GOAL_MS if side != BARE and share == 99 else None
            yield Row(f"{what}, {count} readers, p{share}", "ms", values, goal=goal, at_most=True)
            if side != BARE:
                ratios = tuple(ours / theirs for ours, theirs in zip(values, bare[share], strict=True))
                yield Row(f"{what}, p{share}", "", (), "bare XADD to XREAD", ratios)


def _share(latencies: Sequence[float], share: int) -> float:
    if len(latencies) < 2:
        return latencies[0]
    return statistics.quantiles(latencies, n=100, method="inclusive")[share - 1]


@dataclass
class Fleet:
    """Workers that hold the readers of one side."""

    workers: Sequence["subprocess.Popen[str]"]
    stream: str

    def told(self) -> list[float]:
        """When each reader heard the next signal, by the clock that all processes share."""
        return list(itertools.chain.from_iterable(json.loads(_line(worker)) for worker in self.workers))


@contextmanager
def _fleet(side: str, system: System, socket: str, count: int, processes: int) -> Iterator[Fleet]:
    stream = f"bench.{uuid.uuid4().hex}"
    with ExitStack() as stack:
        workers = []
        for number in range(processes):
            share = count // processes + (number < count % processes)
            told = {
                "side": side,
                "url": system.url,
                "key": system.key,
                "socket": socket,
                "stream": stream,
                "workspace": WORKSPACE,
                "first": number * count,
                "count": share,
            }
            worker = subprocess.Popen(
                [sys.executable, "-m", "benchmarks.signals_worker", json.dumps(told)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            stack.callback(_ended, worker)
            workers.append(worker)
        for worker in workers:
            _line(worker)  # ready
        yield Fleet(workers, stream)


def _one(side: str, redis: "Redis", fleet: Fleet) -> Sequence[float]:
    """Milliseconds from the XADD to each reader."""
    if side == BARE:
        stream, body = fleet.stream, b"x" * 600
    else:
        stream, body = SIGNAL_RAISED.name, _nuclear(uuid.uuid4().hex)
    started = time.monotonic()
    redis.xadd(stream, {FIELD: body})
    return [(at - started) * 1000 for at in fleet.told()]


def _calm(system: System, count: int) -> None:
    """Until everybody has acknowledged and goes on: else the next signal would wait behind the answers to this one."""
    deadline = time.monotonic() + PATIENCE_S
    with system.client() as http:
        (halt,) = http.get("/v1/amygdala/halts", params={"state": "open"}).raise_for_status().json()["halts"]
        path = f"/v1/amygdala/halts/{halt['id']}"
        while len(http.get(path).raise_for_status().json()["acks"]) < count:
            if time.monotonic() > deadline:
                raise SystemExit(f"not all acknowledged within {PATIENCE_S:.0f} s")
            time.sleep(0.2)
        http.post(f"{path}/resume", json={}).raise_for_status()
    time.sleep(0.5)  # until that is heard; nobody says so


def _shown(redis: "Redis", system: System) -> float:
    """Milliseconds from the XADD until a client that polls is told of it."""
    number = uuid.uuid4().hex
    with system.client() as http:
        started = time.monotonic()
        redis.xadd(SIGNAL_RAISED.name, {FIELD: _nuclear(number)})
        while number not in http.get("/signal").raise_for_status().text:
            if time.monotonic() - started > PATIENCE_S:
                raise SystemExit("the alarm is not shown")
        took = (time.monotonic() - started) * 1000
        for halt in http.get("/v1/amygdala/halts", params={"state": "open"}).raise_for_status().json()["halts"]:
            http.post(f"/v1/amygdala/halts/{halt['id']}/resume", json={}).raise_for_status()
        for burning in http.get("/v1/amygdala/signals").raise_for_status().json()["signals"]:
            if number in burning["title"]:
                http.post(f"/v1/amygdala/signals/{burning['id']}/resolve", json={}).raise_for_status()
    return took


def _nuclear(number: str) -> bytes:
    data = SignalRaised(
        workspace_id=WORKSPACE, source="bench", severity=Severity.NUCLEAR, title=f"fire {number}", dedup_key=number
    )
    return encode(SIGNAL_RAISED.name, data, event_id=number, at=0)


def _line(worker: "subprocess.Popen[str]") -> str:
    assert worker.stdout is not None
    line = worker.stdout.readline()
    if not line:
        raise SystemExit("a worker of the benchmark ended")
    return line


def _ended(worker: "subprocess.Popen[str]") -> None:
    assert worker.stdin is not None
    assert worker.stdout is not None
    worker.stdin.close()
    worker.wait(timeout=PATIENCE_S)
    worker.stdout.close()
