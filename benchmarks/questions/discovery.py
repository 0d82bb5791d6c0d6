"""Search and tags through HTTP over 100,000 memories, compared with the text engine's own query on the same index.

Raw: for a search the engine's best 20 with the total, and 20 rows; for tags the engine's count of terms. One client;
raw and route alternate.
"""

import argparse
import http.client
import statistics
import time
from collections.abc import Sequence
from urllib.parse import urlencode

from benchmarks.support.report import Report, Row
from benchmarks.support.texts import questions
from benchmarks.support.worker import Worker, running_worker

NAME = "discovery"
SEARCH, TAGS = "/v1/brain/search", "/v1/brain/tags"
GOAL = 3.0
"""For searches: ratio of the route to raw."""
GOAL_MS = 5.0
"""For tags, whose raw count takes less than a request: milliseconds of the route minus raw."""
WITHIN = {"org": "acme", "project": "p4"}
ROUTES: dict[str, tuple[str, dict[str, str]]] = {
    "search": (SEARCH, {}),
    "search, filtered": (SEARCH, WITHIN),
    "search, fuzzy": (SEARCH, {**WITHIN, "fuzzy": "1"}),
    "search, highlights and facet": (SEARCH, {**WITHIN, "highlights": "1", "facets": "tags"}),
    "tags": (TAGS, {}),
    "tags, filtered": (TAGS, WITHIN),
}
"""Requests, by the name of their raw figure."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Sizes and repeats."""
    parser.add_argument("--discovery-count", type=int, default=100_000)
    parser.add_argument(
        "--discovery-folder", help="folder for the filled store, reused by later runs; may be that of --recall-folder"
    )
    parser.add_argument("--discovery-requests", type=int, default=200)
    parser.add_argument("--discovery-repeats", type=int, default=5)


def run(options: argparse.Namespace) -> Report:
    """Fill once, then measure."""
    with running_worker("discovery", options.discovery_count, options.discovery_folder) as worker:
        rows = _rows(Server(int(worker.ready["port"]), str(worker.ready["key"])), worker, options)
    note = f"{options.discovery_count} memories on tantivy, 20 hits, 7 tags; each raw figure right before its route"
    return Report(NAME, rows, (note,))


class Server:
    """One persistent connection."""

    def __init__(self, port: int, key: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port)
        self._headers = {"authorization": f"Bearer {key}"}

    def median(self, path: str, several: Sequence[dict[str, str]]) -> float:
        """The time of one request each, in ms."""
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


def _rows(server: Server, worker: Worker, options: argparse.Namespace) -> tuple[Row, ...]:
    routes: dict[str, list[float]] = {name: [] for name in ROUTES}
    raws: dict[str, list[float]] = {name: [] for name in ROUTES}
    for repeat in range(options.discovery_repeats):
        wanted = questions(options.discovery_requests, seed=50 + repeat)
        for name, (path, params) in ROUTES.items():
            raws[name].append(float(worker.ask(name)["ms"]))
            several = [{**params, "q": words} if path == SEARCH else params for words in wanted]
            routes[name].append(server.median(path, several))
    return tuple(_row(name, routes[name], raws[name]) for name in ROUTES)


def _row(name: str, route: Sequence[float], raw: Sequence[float]) -> Row:
    against = f"raw {statistics.median(raw):.2f} ms"
    if ROUTES[name][0] == TAGS:
        beyond = tuple(one - other for one, other in zip(route, raw, strict=True))
        return Row(f"{name}: p50 beyond raw", "ms", beyond, against, goal=GOAL_MS, at_most=True)
    ratios = tuple(one / other for one, other in zip(route, raw, strict=True))
    return Row(f"{name}: p50", "ms", tuple(route), against, ratios, GOAL, at_most=True)
