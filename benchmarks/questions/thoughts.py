"""The newest turns, a session's turns and a search by meaning, through HTTP over 100,000 thoughts of one agent."""

import argparse
import http.client
import json
import statistics
import time
from collections.abc import Sequence

from benchmarks.support.report import Report, Row
from benchmarks.support.texts import questions
from benchmarks.support.worker import running_worker
from benchmarks.workers.thoughts import TURNS

NAME = "thoughts"
Request = tuple[str, str, str]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Sizes and repeats."""
    parser.add_argument("--thoughts-count", type=int, default=100_000)
    parser.add_argument("--thoughts-folder", help="folder for the filled store, reused by later runs")
    parser.add_argument("--thoughts-requests", type=int, default=200)
    parser.add_argument("--thoughts-repeats", type=int, default=5)


def run(options: argparse.Namespace) -> Report:
    """Fill once, then measure."""
    with running_worker(NAME, options.thoughts_count, options.thoughts_folder) as worker:
        connection = http.client.HTTPConnection("127.0.0.1", int(worker.ready["port"]))
        key, runs = str(worker.ready["key"]), range(options.thoughts_repeats)
        rows = tuple(
            Row(f"{name}: p50", "ms", tuple(_median(connection, key, requests) for _ in runs))
            for name, requests in _requests(options).items()
        )
    return Report(NAME, rows, (f"{options.thoughts_count} thoughts, one client; the embedder costs nothing",))


def _requests(options: argparse.Namespace) -> dict[str, list[Request]]:
    sessions = max(1, options.thoughts_count // TURNS)
    count = options.thoughts_requests
    asked = [json.dumps({"query": question, "limit": 20}) for question in questions(count)]
    of_session = "/v1/thoughts?limit=100&metadata.sessionId=agent:main:s"
    return {
        "recent 20": [("GET", "/v1/thoughts/recent?limit=20", "")] * count,
        "newest 100 of a session": [("GET", f"{of_session}{number * 7 % sessions}", "") for number in range(count)],
        "search 20": [("POST", "/v1/search", body) for body in asked],
    }


def _median(connection: http.client.HTTPConnection, key: str, requests: Sequence[Request]) -> float:
    headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
    times = []
    for method, path, body in requests:
        begun = time.perf_counter()
        connection.request(method, path, body or None, headers)
        response = connection.getresponse()
        answer = response.read()
        times.append((time.perf_counter() - begun) * 1000)
        if response.status != http.HTTPStatus.OK or len(answer) < len("[{}]"):
            raise SystemExit(f"{path} answered {response.status}: {answer[:200]!r}")
    return statistics.median(times)
