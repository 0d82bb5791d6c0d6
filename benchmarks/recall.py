"""Recall through HTTP over 100,000 memories against the sum of what it can't do without.

The sum: embed the query, ask the vector engine, ask the text engine, read 20 rows, each raw and one after the other.
"""

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

from benchmarks.http_load import Load, measure
from benchmarks.report import Report, Row
from benchmarks.texts import questions

NAME = "recall"
GOAL = 1.3
AIMS = {"filtered": 80.0, "filtered, cached": 150.0}
BODIES = {"workspace only": {}, "filtered": {"org": "acme", "project": "p3"}}


def add_options(parser: argparse.ArgumentParser) -> None:
    """How much, how often."""
    parser.add_argument("--recall-count", type=int, default=100_000)
    parser.add_argument("--recall-folder", help="keeps the filled store, and is filled only where it is not yet")
    parser.add_argument("--recall-requests", type=int, default=300)
    parser.add_argument("--recall-repeats", type=int, default=3)


def run(options: argparse.Namespace) -> Report:
    """Fill once, then measure."""
    with contextlib.ExitStack() as stack:
        folder = options.recall_folder or stack.enter_context(tempfile.TemporaryDirectory(prefix="openbrain-bench-"))
        worker = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.recall_worker", folder, str(options.recall_count)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert worker.stdin is not None
        try:
            ready = _line(worker)
            rows = tuple(row for name in BODIES for row in _rows(name, ready, worker, options))
        finally:
            worker.stdin.close()
            worker.wait(timeout=120)
    return Report(NAME, rows, (f"{options.recall_count} memories, top_k 10, 100 candidates of each index",))


def _line(worker: "subprocess.Popen[str]") -> dict[str, object]:
    assert worker.stdout is not None
    line = worker.stdout.readline()
    if not line:
        raise SystemExit("the worker ended")
    found: dict[str, object] = json.loads(line)
    return found


def _rows(
    name: str, ready: dict[str, object], worker: "subprocess.Popen[str]", options: argparse.Namespace
) -> Iterator[Row]:
    raw: dict[str, float] = ready["raw"][name]  # type: ignore[index]
    parts = ", ".join(f"{part} {value:.1f}" for part, value in raw.items())
    for kind, floor in (("", sum(raw.values())), (", cached", sum(raw.values()) - raw["embed"])):
        count, repeats = options.recall_requests, options.recall_repeats
        runs = [_load(name, ready, 1, count, cached=bool(kind), seed=100 + each) for each in range(repeats)]
        p50 = tuple(load.p50 for load in runs)
        ratios = tuple(each / floor for each in p50)
        yield Row(f"{name}{kind}: p50", "ms", p50, f"raw {floor:.1f} ms ({parts})", ratios, GOAL, at_most=True)
        cpu = _cpu(worker)
        begun = time.perf_counter()
        busy = _load(name, ready, 16, count * 2, cached=bool(kind), seed=200)
        spent = _cpu(worker) - cpu
        cores = spent / (time.perf_counter() - begun)
        aim = AIMS.get(f"{name}{kind}")
        yield Row(f"{name}{kind}: 16 clients, a core", "1/s", (busy.rate / cores,), goal=aim)


def _load(name: str, ready: dict[str, object], clients: int, count: int, *, cached: bool, seed: int) -> Load:
    # No two uncached runs may share a question.
    asked = questions(20 if cached else count, seed=7 if cached else seed + 1000 * list(BODIES).index(name))
    bodies = [json.dumps({"query": question, **BODIES[name]}) for question in asked]
    url, key = f"{ready['url']}/v1/brain/recall", str(ready["key"])
    if cached:
        measure(url, key, 1, len(bodies), bodies)
    load = measure(url, key, clients, count, bodies)
    if load.failed:
        raise SystemExit(f"{load.failed} recalls failed")
    return load


def _cpu(worker: "subprocess.Popen[str]") -> float:
    assert worker.stdin is not None
    worker.stdin.write("cpu\n")
    worker.stdin.flush()
    return float(_line(worker)["cpu"])  # type: ignore[arg-type]
