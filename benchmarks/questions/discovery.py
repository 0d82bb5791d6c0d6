"""Search and tags through HTTP over 100,000 memories against the text engine's own query on the same index.

Raw: for a search the engine's best 20 with the total, and 20 rows; for tags the engine's count of terms. One client,
raw and route in turn.
"""

import argparse
import contextlib
import http.client
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from benchmarks.support.report import Report, Row
from benchmarks.support.texts import questions

NAME = "discovery"
SEARCH, TAGS = "/v1/brain/search", "/v1/brain/tags"
GOAL = 3.0
"""Of searches: the route by raw."""
GOAL_MS = 5.0
"""Of tags, whose raw count takes less than a request does: the route beyond raw."""
WITHIN = {"org": "acme", "project": "p4"}
ROUTES: dict[str, tuple[str, dict[str, str]]] = {
    "search": (SEARCH, {}),
    "search, filtered": (SEARCH, WITHIN),
    "search, fuzzy": (SEARCH, {**WITHIN, "fuzzy": "1"}),
    "search, highlights and facet": (SEARCH, {**WITHIN, "highlights": "1", "facets": "tags"}),
    "tags": (TAGS, {}),
    "tags, filtered": (TAGS, WITHIN),
}
"""What is asked, by the name of its raw figure."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """How much, how often."""
    parser.add_argument("--discovery-count", type=int, default=100_000)
    parser.add_argument("--discovery-folder", help="keeps the filled store; may be that of --recall-folder")
    parser.add_argument("--discovery-requests", type=int, default=200)
    parser.add_argument("--discovery-repeats", type=int, default=5)


def run(options: argparse.Namespace) -> Report:
    """Fill once, then measure."""
    with contextlib.ExitStack() as stack:
        folder = options.discovery_folder or stack.enter_context(tempfile.TemporaryDirectory(prefix="openbrain-bench-"))
        worker = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.workers.discovery", folder, str(options.discovery_count)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert worker.stdin is not None
        try:
            ready = _told(worker)
            rows = _rows(Server(int(ready["port"]), str(ready["key"])), worker, options)
        finally:
            worker.stdin.close()
            worker.wait(timeout=120)
    note = f"{options.discovery_count} memories on tantivy, 20 hits, 7 tags; each raw figure right before its route"
    return Report(NAME, rows, (note,))


class Server:
    """One connection that is kept."""

    def __init__(self, port: int, key: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port)
        self._headers = {"authorization": f"Bearer {key}"}

    def median(self, path: str, several: Sequence[dict[str, str]]) -> float:
        """Of one request each, in ms."""
        times = []
        for params in several:
            begun = time.perf_counter()
            self._connection.request("GET", f"{path}?{urlencode(params)}", headers=self._headers)
            response = self._connection.getresponse()
            body = response.read()
            times.append((time.perf_counter() - begun) * 1000)
            if response.status != http.HTTPStatus.OK:
                raise SystemExit(f"{path} answered {response.status}: {body[:200]!r}")
        return statistics.median(times)


def _rows(server: Server, worker: "subprocess.Popen[str]", options: argparse.Namespace) -> tuple[Row, ...]:
    routes: dict[str, list[float]] = {name: [] for name in ROUTES}
    raws: dict[str, list[float]] = {name: [] for name in ROUTES}
    for repeat in range(options.discovery_repeats):
        asked = questions(options.discovery_requests, seed=50 + repeat)
        for name, (path, params) in ROUTES.items():
            raws[name].append(_raw(worker, name))
            several = [{**params, "q": each} if path == SEARCH else params for each in asked]
            routes[name].append(server.median(path, several))
    return tuple(_row(name, routes[name], raws[name]) for name in ROUTES)


def _row(name: str, route: Sequence[float], raw: Sequence[float]) -> Row:
    against = f"raw {statistics.median(raw):.2f} ms"
    if ROUTES[name][0] == TAGS:
        beyond = tuple(one - other for one, other in zip(route, raw, strict=True))
        return Row(f"{name}: p50 beyond raw", "ms", beyond, against, goal=GOAL_MS, at_most=True)
    ratios = tuple(one / other for one, other in zip(route, raw, strict=True))
    return Row(f"{name}: p50", "ms", tuple(route), against, ratios, GOAL, at_most=True)


def _raw(worker: "subprocess.Popen[str]", name: str) -> float:
    assert worker.stdin is not None
    worker.stdin.write(f"{name}\n")
    worker.stdin.flush()
    return float(_told(worker)["ms"])


def _told(worker: "subprocess.Popen[str]") -> dict[str, Any]:
    assert worker.stdout is not None
    line = worker.stdout.readline()
    if not line:
        raise SystemExit("the worker ended")
    told: dict[str, Any] = json.loads(line)
    return told
