"""The boot context of an agent, through HTTP over 100,000 memories: latency and CPU time."""

import argparse
import http.client
import json
import statistics
import time
from dataclasses import dataclass
from http import HTTPStatus

from benchmarks.support.report import Report, Row
from benchmarks.support.worker import Worker, running_worker
from benchmarks.workers.context import PROJECTS

NAME = "context"
GOAL_MS = 50


def add_options(parser: argparse.ArgumentParser) -> None:
    """Sizes and repeats."""
    parser.add_argument("--context-count", type=int, default=100_000)
    parser.add_argument("--context-folder", help="folder for the filled store, reused by later runs")
    parser.add_argument("--context-requests", type=int, default=200)
    parser.add_argument("--context-repeats", type=int, default=5)


@dataclass(frozen=True, slots=True)
class _Round:
    """Milliseconds per request of one sequential client, and the server's CPU time per request."""

    p50: float
    p95: float
    processor: float


def run(options: argparse.Namespace) -> Report:
    """Fill once, then measure. The first round is a warm-up."""
    with running_worker(NAME, options.context_count, options.context_folder) as worker:
        rounds = [_round(worker, options.context_requests) for _ in range(options.context_repeats + 1)][1:]
    rows = (
        Row("context: p50", "ms", tuple(each.p50 for each in rounds)),
        Row("context: p95", "ms", tuple(each.p95 for each in rounds), goal=GOAL_MS, at_most=True),
        Row("context: processor", "ms", tuple(each.processor for each in rounds), goal=GOAL_MS, at_most=True),
    )
    return Report(NAME, rows, (f"{options.context_count} memories in {PROJECTS} projects, 2,000 tokens, one client",))


def _round(worker: Worker, requests: int) -> _Round:
    connection = http.client.HTTPConnection("127.0.0.1", int(worker.ready["port"]))
    headers = {"authorization": f"Bearer {worker.ready['key']}"}
    times, before = [], worker.ask("processor")["seconds"]
    for number in range(requests):
        begun = time.perf_counter()
        path = f"/v1/brain/agent/main/context?project=p{number % PROJECTS}&budget_tokens=2000"
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        answer = response.read()
        times.append((time.perf_counter() - begun) * 1000)
        if response.status != HTTPStatus.OK or not json.loads(answer)["text"]:
            raise SystemExit(f"{path} answered {response.status}: {answer[:200]!r}")
    processor = (worker.ask("processor")["seconds"] - before) * 1000 / requests
    return _Round(statistics.median(times), statistics.quantiles(times, n=20)[18], processor)
