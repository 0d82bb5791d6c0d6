"""The time of a nuclear signal from its XADD until a thousand subscribers know that they must stop: through Redis,
compared with the same number of bare stream readers, and through server-sent events, compared with a minimal server
that writes the same events to the same subscribers.

The system is `openbrain up`, one process; the subscribers share some other processes. The sides alternate.
"""

import argparse
import itertools
import json
import statistics
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import orjson
from redis import Redis

from benchmarks.support.report import Report, Row
from benchmarks.support.system import System, running
from openbrain.domain.events.data import SignalRaised
from openbrain.domain.events.envelope import FIELD, encode
from openbrain.domain.events.streams import SIGNAL_RAISED
from openbrain.domain.signals.values import Severity

NAME = "signals"
GOAL_MS = 250.0
WORKSPACE = "default"
PATIENCE_S = 120.0
FLOORS = {"bare": "bare XADD to XREAD", "bare sse": "the barest server-sent events"}
REDIS, SSE, BARE, BARE_SSE = "redis", "sse", "bare", "bare sse"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Subscribers, processes and raises."""
    parser.add_argument("--signals-subscribers", type=int, default=1000, help="subscribers of each side")
    parser.add_argument("--signals-processes", type=int, default=4, help="processes that the subscribers share")
    parser.add_argument("--signals-raises", type=int, default=10)


def run(options: argparse.Namespace) -> Report:
    """In every turn each side receives a separate signal."""
    count = options.signals_subscribers
    environment = {
        "OPENBRAIN_SERVER__RATE_PER_MINUTE": "0",
        "OPENBRAIN_SERVER__LISTENERS": str(count + 10),
        "OPENBRAIN_SIGNALS__TUNING__SOURCE_SIGNALS": "1000000",
    }
    took: dict[str, list[Sequence[float]]] = {BARE: [], REDIS: [], SSE: []}
    with running(environment) as system:
        socket = str(system.folder / "streams" / "valkey.sock")
        with Redis(unix_socket_path=socket) as redis:
            for side, turns in took.items():
                before = _state(system)
                with _fleet(side, system.url, system.key, socket, count, options.signals_processes) as fleet:
                    for turn in range(options.signals_raises + 1):
                        latencies = _one(side, redis, fleet)
                        if side != BARE:
                            _calm(system, count)
                        if turn:  # the first one is a warm-up
                            turns.append(latencies)
            took[BARE_SSE] = list(_again(system, redis, socket, options, before))
            shown = tuple(_shown(redis, system) for _ in range(options.signals_raises))
    alarm = Row("XADD to GET /signal", "ms", shown)
    return Report(
        NAME, (*_rows(took, count), alarm), (f"{count} subscribers a side, {options.signals_raises} signals",)
    )


def _rows(took: dict[str, list[Sequence[float]]], count: int) -> Iterator[Row]:
    for side, what, floor in (
        (BARE, "bare XADD to XREAD", ""),
        (REDIS, "by Redis", BARE),
        (BARE_SSE, "by the barest server-sent events", ""),
        (SSE, "by server-sent events", BARE_SSE),
    ):
        for share in (50, 99):
            values = tuple(_share(each, share) for each in took[side])
            goal = GOAL_MS if floor and share == 99 else None
            yield Row(f"{what}, {count} readers, p{share}", "ms", values, goal=goal, at_most=True)
            if floor:
                floors = (_share(each, share) for each in took[floor])
                ratios = tuple(ours / theirs for ours, theirs in zip(values, floors, strict=True))
                yield Row(f"{what}, p{share}", "", (), FLOORS[floor], ratios)


def _share(latencies: Sequence[float], share: int) -> float:
    if len(latencies) < 2:
        return latencies[0]
    return statistics.quantiles(latencies, n=100, method="inclusive")[share - 1]


@dataclass
class Fleet:
    """Worker processes with the readers of one side."""

    workers: Sequence["subprocess.Popen[str]"]
    stream: str

    def heard_at(self) -> list[float]:
        """The times at which the readers received the next signal, by the clock that all processes share."""
        return list(itertools.chain.from_iterable(json.loads(_line(worker)) for worker in self.workers))


@contextmanager
def _fleet(side: str, url: str, key: str, socket: str, count: int, processes: int) -> Iterator[Fleet]:
    stream = f"bench.{uuid.uuid4().hex}"
    with ExitStack() as stack:
        workers = []
        for number in range(processes):
            share = count // processes + (number < count % processes)
            settings = {
                "side": side,
                "url": url,
                "key": key,
                "socket": socket,
                "stream": stream,
                "workspace": WORKSPACE,
                "first": number * count,
                "count": share,
            }
            workers.append(stack.enter_context(_program("workers.signals", settings)))
        for worker in workers:
            _line(worker)  # ready
        yield Fleet(workers, stream)


@contextmanager
def _program(name: str, task: Mapping[str, object]) -> Iterator["subprocess.Popen[str]"]:
    """Run a program of the benchmarks until the block ends."""
    command = [sys.executable, "-m", f"benchmarks.{name}", json.dumps(task)]
    program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield program
    finally:
        _ended(program)


def _again(
    system: System, redis: "Redis", socket: str, options: argparse.Namespace, state: dict[str, Any]
) -> Iterator[Sequence[float]]:
    """Times of broadcasts after that state, from a server that does nothing else."""
    stream = f"bench.{uuid.uuid4().hex}"
    with system.client() as http:
        after, broadcasts = state["seq"], list[dict[str, Any]]()
        while (
            page := http.get("/v1/amygdala/broadcasts", params={"after": after}).raise_for_status().json()["broadcasts"]
        ):
            after, broadcasts = page[-1]["seq"], broadcasts + page
        halts = http.get("/v1/amygdala/halts", params={"limit": 100}).raise_for_status().json()["halts"]
    answers = {"state": json.dumps(state), "halts": {each["id"]: json.dumps(each) for each in halts}}
    with _program("baselines.signals", {**answers, "socket": socket, "stream": stream}) as server:
        url = f"http://127.0.0.1:{_line(server).strip()}"
        with _fleet(SSE, url, "", socket, options.signals_subscribers, options.signals_processes) as fleet:
            turns = 0
            for each in broadcasts:
                frame = b"id: %d\nevent: broadcast\ndata: %s\n\n" % (each["seq"], orjson.dumps(each["event"]))
                started = time.monotonic()
                redis.xadd(stream, {"frame": frame})
                if each["event"]["data"]["halt"]:
                    latencies = [(at - started) * 1000 for at in fleet.heard_at()]
                    time.sleep(1)  # all have acknowledged by then
                    turns += 1
                    if turns > 1:
                        yield latencies


def _state(system: System) -> dict[str, Any]:
    with system.client() as http:
        state: dict[str, Any] = http.get("/v1/amygdala/state").raise_for_status().json()
    return state


def _one(side: str, redis: "Redis", fleet: Fleet) -> Sequence[float]:
    """Milliseconds from the XADD to each reader."""
    if side == BARE:
        stream, body = fleet.stream, b"x" * 600
    else:
        stream, body = SIGNAL_RAISED.name, _nuclear(uuid.uuid4().hex)
    started = time.monotonic()
    redis.xadd(stream, {FIELD: body})
    return [(at - started) * 1000 for at in fleet.heard_at()]


def _calm(system: System, count: int) -> None:
    """Wait until all have acknowledged and continue; otherwise the next signal would wait behind these answers."""
    deadline = time.monotonic() + PATIENCE_S
    with system.client() as http:
        (halt,) = http.get("/v1/amygdala/halts", params={"state": "open"}).raise_for_status().json()["halts"]
        path = f"/v1/amygdala/halts/{halt['id']}"
        while len(http.get(path).raise_for_status().json()["acks"]) < count:
            if time.monotonic() > deadline:
                raise SystemExit(f"not all acknowledged within {PATIENCE_S:.0f} s")
            time.sleep(0.2)
        http.post(f"{path}/resume", json={}).raise_for_status()
    time.sleep(0.5)  # time for it to arrive, which nothing confirms


def _shown(redis: "Redis", system: System) -> float:
    """Milliseconds from the XADD until a polling client sees the signal."""
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
