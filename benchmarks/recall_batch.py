"""`recall:batch` of 50 questions against the same number of single recalls through HTTP, over 10,000 memories.

Both sides in turn; no question comes twice, so that each is embedded. CPU is that of the server's process alone.
"""

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.http_load import measure
from benchmarks.recall import BODIES, ask_worker, worker_line
from benchmarks.report import Report, Row
from benchmarks.texts import questions

NAME = "recall_batch"
GOAL = 0.5
SIZE = 50


def add_options(parser: argparse.ArgumentParser) -> None:
    """How much, how often."""
    parser.add_argument("--recall-batch-count", type=int, default=10_000)
    parser.add_argument("--recall-batch-folder", help="keeps the filled store, and is filled only where it is not yet")
    parser.add_argument("--recall-batch-requests", type=int, default=4, help="batches of each repeat")
    parser.add_argument("--recall-batch-repeats", type=int, default=5)


@dataclass(frozen=True, slots=True)
class Spent:
    """Milliseconds for SIZE questions."""

    cpu: float
    wall: float


def run(options: argparse.Namespace) -> Report:
    """Fill once, then measure."""
    with contextlib.ExitStack() as stack:
        kept = options.recall_batch_folder
        folder = kept or stack.enter_context(tempfile.TemporaryDirectory(prefix="openbrain-bench-"))
        worker = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.recall_worker", folder, str(options.recall_batch_count)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert worker.stdin is not None
        try:
            ready = worker_line(worker)
            rows = tuple(row for name in BODIES for row in _rows(name, ready, worker, options))
        finally:
            worker.stdin.close()
            worker.wait(timeout=120)
    return Report(NAME, rows, (f"{options.recall_batch_count} memories, top_k 10, {SIZE} questions a batch",))


def _rows(
    name: str, ready: dict[str, Any], worker: "subprocess.Popen[str]", options: argparse.Namespace
) -> Iterator[Row]:
    count = options.recall_batch_requests * SIZE
    seed = 1000 * (1 + list(BODIES).index(name))
    asked = [
        json.dumps({"query": each, **BODIES[name]})
        for each in questions(2 * count * (options.recall_batch_repeats + 1), seed=seed)
    ]
    alone, together = [], []
    for repeat in range(options.recall_batch_repeats + 1):
        singles, others = (asked[(2 * repeat + side) * count :][:count] for side in (0, 1))
        batches = [f'{{"queries": [{",".join(others[at : at + SIZE])}]}}' for at in range(0, count, SIZE)]
        spent = _spent("recall", singles, ready, worker), _spent("recall:batch", batches, ready, worker)
        if repeat:  # the first one warms up
            alone.append(spent[0])
            together.append(spent[1])
    for kind in ("cpu", "wall"):
        mine, theirs = ([getattr(each, kind) for each in side] for side in (together, alone))
        ratios = tuple(one / other for one, other in zip(mine, theirs, strict=True))
        against = f"{SIZE} single ones"
        yield Row(f"{name}: {kind} of a batch", "ms", tuple(mine), against, ratios, GOAL, at_most=True)


def _spent(route: str, bodies: Sequence[str], ready: dict[str, Any], worker: "subprocess.Popen[str]") -> Spent:
    before = ask_worker(worker, "cpu")["cpu"]
    load = measure(f"{ready['url']}/v1/brain/{route}", str(ready["key"]), 1, len(bodies), bodies)
    cpu = ask_worker(worker, "cpu")["cpu"] - before
    if load.failed:
        raise SystemExit(f"{load.failed} requests failed")
    requests = 1 if route.endswith(":batch") else SIZE
    return Spent(cpu * 1000 * requests / len(bodies), requests * 1000 / load.rate)
