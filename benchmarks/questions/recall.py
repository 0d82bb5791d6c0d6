"""Recall through HTTP over 100,000 memories, compared with the sum of its unavoidable parts.

The parts: embed the query, search the vector engine and the text engine, read which of 180 candidates are turns, read
and compare their token states, and read 20 rows, all with the raw engines and one after the other.
"""

import argparse
import json
import statistics
from collections.abc import Iterator
from typing import Any

from benchmarks.support.http_load import Load, measure
from benchmarks.support.report import Report, Row
from benchmarks.support.texts import questions
from benchmarks.support.worker import Worker, running_worker

NAME = "recall"
GOAL = 1.2
CACHED = 20
PARTS = ("embed", "vectors", "text", "turns", "late", "rows")
AIMS = {"filtered": 80.0, "filtered, cached": 150.0}
BODIES = {"workspace only": {}, "filtered": {"org": "acme", "project": "p4"}}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Sizes and repeats."""
    parser.add_argument("--recall-count", type=int, default=100_000)
    parser.add_argument("--recall-folder", help="folder for the store, filled once and reused")
    parser.add_argument("--recall-requests", type=int, default=300)
    parser.add_argument("--recall-repeats", type=int, default=3)


def run(options: argparse.Namespace) -> Report:
    """Fill once, then measure."""
    with running_worker("recall", options.recall_count, options.recall_folder) as worker:
        rows = tuple(row for name in BODIES for row in _rows(name, worker, options))
    return Report(NAME, rows, (f"{options.recall_count} memories, top_k 10, 100 candidates of each index",))


def _rows(name: str, worker: Worker, options: argparse.Namespace) -> Iterator[Row]:
    for kind, parts in (("", PARTS), (", cached", PARTS[1:])):
        count = options.recall_requests
        raws, runs = [], []
        for repeat in range(options.recall_repeats):
            raws.append(worker.ask(f"raw {name}"))
            runs.append(_load(name, worker.ready, 1, count, cached=bool(kind), seed=100 + repeat))
        floors = [sum(raw[part] for part in parts) for raw in raws]
        p50 = tuple(load.p50 for load in runs)
        ratios = tuple(ours / floor for ours, floor in zip(p50, floors, strict=True))
        medians = ", ".join(f"{part} {statistics.median(raw[part] for raw in raws):.1f}" for part in parts)
        against = f"raw {statistics.median(floors):.1f} ms ({medians})"
        yield Row(f"{name}{kind}: p50", "ms", p50, against, ratios, GOAL, at_most=True)
        cpu = worker.ask("cpu")["cpu"]
        _load(name, worker.ready, 16, 2 * count, cached=bool(kind), seed=200)
        served = 2 * count + (CACHED if kind else 0)
        rate = served / (worker.ask("cpu")["cpu"] - cpu)
        bare = 1000 / statistics.median(sum(raw[f"{part} cpu"] for part in parts) for raw in raws)
        yield Row(f"{name}{kind}: raw parts, a core", "1/s", (bare,))
        yield Row(f"{name}{kind}: 16 clients, a core", "1/s", (rate,), goal=AIMS.get(f"{name}{kind}"))
        yield Row(f"{name}{kind}, 16 clients: share of the raw rate", "", (), "raw parts, a core", (rate / bare,))


def _load(name: str, ready: dict[str, Any], clients: int, count: int, *, cached: bool, seed: int) -> Load:
    # No two uncached runs may share a question.
    asked = questions(CACHED if cached else count, seed=7 if cached else seed + 1000 * list(BODIES).index(name))
    bodies = [json.dumps({"query": question, **BODIES[name]}) for question in asked]
    url, key = f"{ready['url']}/v1/brain/recall", str(ready["key"])
    if cached:
        measure(url, key, 1, len(bodies), bodies)
    load = measure(url, key, clients, count, bodies)
    if load.failed:
        raise SystemExit(f"{load.failed} recalls failed")
    return load
