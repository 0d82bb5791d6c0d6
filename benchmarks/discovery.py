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
from urllib.parse import urlencode

from benchmarks.report import Report, Row
from benchmarks.texts import questions

NAME = "discovery"
GOAL_MS = 10.0
"""What a route may take beyond the raw engine: a page of 20 memories is read, checked, rendered and sent."""
FILTERS = {"all": {}, "filtered": {"org": "acme", "project": "p4"}}
EXTRAS = {"fuzzy": {"fuzzy": "1"}, "highlights and facets": {"highlights": "1", "facets": "tags"}}


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
            [sys.executable, "-m", "benchmarks.discovery_worker", folder, str(options.discovery_count)],
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
    note = f"{options.discovery_count} memories on tantivy, 20 hits, 7 tags; ratios are of medians, route by raw"
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
    routes: dict[str, list[float]] = {}
    raws: dict[str, list[float]] = {}
    for repeat in range(options.discovery_repeats):
        raw = _raw(worker)
        asked = questions(options.discovery_requests, seed=50 + repeat)
        for name, within in FILTERS.items():
            searches = [{"q": each, **within} for each in asked]
            _note(routes, raws, f"search, {name}", server.median("/v1/brain/search", searches), _sum(raw, name))
            tags = server.median("/v1/brain/tags", [within] * len(asked))
            _note(routes, raws, f"tags, {name}", tags, raw[f"tags {name}"])
        for name, more in EXTRAS.items():
            searches = [{"q": each, **FILTERS["filtered"], **more} for each in asked]
            _note(routes, raws, f"search, {name}", server.median("/v1/brain/search", searches), _sum(raw, "filtered"))
    return tuple(row for name in routes for row in _pair(name, routes[name], raws[name]))


def _sum(raw: dict[str, float], name: str) -> float:
    return raw[f"search {name}"] + raw["rows"]


def _note(routes: dict[str, list[float]], raws: dict[str, list[float]], name: str, route: float, raw: float) -> None:
    routes.setdefault(name, []).append(route)
    raws.setdefault(name, []).append(raw)


def _pair(name: str, route: Sequence[float], raw: Sequence[float]) -> Sequence[Row]:
    ratios = tuple(one / other for one, other in zip(route, raw, strict=True))
    beyond = tuple(one - other for one, other in zip(route, raw, strict=True))
    return (
        Row(f"{name}: p50", "ms", tuple(route), f"raw {statistics.median(raw):.2f} ms", ratios),
        Row(f"{name}: p50 beyond raw", "ms", beyond, goal=GOAL_MS, at_most=True),
    )


def _raw(worker: "subprocess.Popen[str]") -> dict[str, float]:
    assert worker.stdin is not None
    worker.stdin.write("raw\n")
    worker.stdin.flush()
    return _told(worker)


def _told(worker: "subprocess.Popen[str]") -> dict[str, float]:
    assert worker.stdout is not None
    line = worker.stdout.readline()
    if not line:
        raise SystemExit("the worker ended")
    told: dict[str, float] = json.loads(line)
    return told
