"""`recall:batch` of 50 questions compared with the same number of single recalls through HTTP, over 10,000 memories.

Both sides alternate; no question is asked twice, so that each is embedded. CPU time is that of the server's process,
minus that of its services while idle.
"""

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.questions.recall import BODIES
from benchmarks.support.http_load import measure
from benchmarks.support.report import Report, Row
from benchmarks.support.texts import questions
from benchmarks.support.worker import Worker, running_worker

NAME = "recall_batch"
GOAL = 0.5
SIZE = 50
IDLE_S = 3


def add_options(parser: argparse.ArgumentParser) -> None:
    """Sizes and repeats."""
    parser.add_argument("--recall-batch-count", type=int, default=10_000)
    parser.add_argument("--recall-batch-folder", help="folder for the store, filled once and reused")
    parser.add_argument("--recall-batch-requests", type=int, default=4, help="batches of each repeat")
    parser.add_argument("--recall-batch-repeats", type=int, default=5)


@dataclass(frozen=True, slots=True)
class Spent:
    """Milliseconds for SIZE questions."""

    cpu: float
    wall: float


def run(options: argparse.Namespace) -> Report:
    """Fill once, then measure."""
    with running_worker("recall", options.recall_batch_count, options.recall_batch_folder) as worker:
        server = Server(worker)
        rows = tuple(row for name in BODIES for row in _rows(name, server, options))
    return Report(NAME, rows, (f"{options.recall_batch_count} memories, top_k 10, {SIZE} questions a batch",))


class Server:
    """The worker, and its CPU time while idle."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        before = self._cpu()
        time.sleep(IDLE_S)
        self._idle = (self._cpu() - before) / IDLE_S

    def spent(self, route: str, bodies: Sequence[str]) -> Spent:
        """Measure sequential requests."""
        before = self._cpu()
        load = measure(
            f"{self._worker.ready['url']}/v1/brain/{route}", str(self._worker.ready["key"]), 1, len(bodies), bodies
        )
        wall = len(bodies) / load.rate
        cpu = self._cpu() - before - self._idle * wall
        if load.failed:
            raise SystemExit(f"{load.failed} requests failed")
        batches = len(bodies) / (1 if route.endswith(":batch") else SIZE)
        return Spent(1000 * cpu / batches, 1000 * wall / batches)

    def _cpu(self) -> float:
        return float(self._worker.ask("cpu")["cpu"])


def _rows(name: str, server: Server, options: argparse.Namespace) -> Iterator[Row]:
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
        spent = server.spent("recall", singles), server.spent("recall:batch", batches)
        if repeat:  # the first one is a warm-up
            alone.append(spent[0])
            together.append(spent[1])
    for kind in ("cpu", "wall"):
        mine, theirs = ([getattr(each, kind) for each in side] for side in (together, alone))
        ratios = tuple(one / other for one, other in zip(mine, theirs, strict=True))
        against = f"{SIZE} single ones"
        yield Row(f"{name}: {kind} of a batch", "ms", tuple(mine), against, ratios, GOAL, at_most=True)
