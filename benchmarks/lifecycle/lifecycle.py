"""Recall beside lifecycle jobs: how much slower it is than alone, in the same run, and what the jobs hold in memory.

All services in one process, over memories whose vectors cost nothing to make. Questions come one after the other with a
pause, first alone, then as long as a job runs, then alone again.
"""

import argparse
import contextlib
import itertools
import json
import statistics
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import httpx

from benchmarks.support.report import Report, Row
from benchmarks.support.texts import questions
from benchmarks.support.worker import Worker, running_worker

NAME = "lifecycle"
GOAL = 1.5
"""Of the 95th percentile of a recall beside a job to that of one alone."""
GROWTH_MB = 150
"""Megabytes that the process may hold more after a job than before it."""
PAUSE_S = 0.03
ALONE_S = 12.0
SERVERS = ("redis", "mariadb", "elasticsearch")


class Job(NamedTuple):
    """A lifecycle job and its request."""

    kind: str
    dry: bool
    body: Mapping[str, Any]


DRY: Mapping[str, Mapping[str, Any]] = {
    "prune": {"max_effective_confidence": 0.9},
    "dedupe": {},
    "consolidate": {"threshold": 0.97},
    "refile": {"project": "p4", "to_project": "p40"},
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Sizes, jobs and parts."""
    parser.add_argument("--lifecycle-count", type=int, default=100_000)
    parser.add_argument("--lifecycle-folder", help="keeps the filled store, and is filled only where it is not yet")
    parser.add_argument("--lifecycle-servers", action="store_true", help="MariaDB, Elasticsearch and Redis")
    parser.add_argument("--lifecycle-jobs", default=",".join(DRY), help="of these, dry runs")
    parser.add_argument("--lifecycle-seconds", type=float, default=240.0, help="a job is cancelled after so long")


def run(options: argparse.Namespace) -> Report:
    """Fill once, then each job."""
    with contextlib.ExitStack() as stack:
        given = [stack.enter_context(_settings())] if options.lifecycle_servers else []
        worker = stack.enter_context(
            running_worker("lifecycle", options.lifecycle_count, options.lifecycle_folder, *given)
        )
        headers = {"authorization": f"Bearer {worker.ready['key']}"}
        client = stack.enter_context(httpx.Client(base_url=str(worker.ready["url"]), headers=headers, timeout=300))
        asked = itertools.cycle(questions(20_000))
        _alone(client, asked)
        jobs = [Job(job, True, DRY[job]) for job in options.lifecycle_jobs.split(",")]
        jobs.append(Job("prune", False, {"max_confidence": 1.0, "project": "p3"}))
        rows = [row for job in jobs for row in _rows(worker, client, asked, job, options.lifecycle_seconds)]
    parts = "MariaDB and Elasticsearch" if options.lifecycle_servers else "SQLite, tantivy and qdrant-edge"
    return Report(NAME, tuple(rows), (f"{options.lifecycle_count:,} memories on {parts}",))


def _rows(worker: Worker, client: httpx.Client, asked: Iterator[str], job: Job, most: float) -> Iterator[Row]:
    before, alone = worker.ask("held")["held_mb"], _alone(client, asked)
    begun = (
        client.post(f"/v1/admin/lifecycle:{job.kind}", json={**job.body, "dry_run": job.dry}).raise_for_status().json()
    )
    path, started, times, held = f"/v1/admin/operations/{begun['operation']['id']}", time.perf_counter(), [], []
    while True:
        times.append(_recall(client, next(asked)))
        if len(times) % 20 == 0:
            state = client.get(path).raise_for_status().json()
            held.append(worker.ask("held")["held_mb"])
            if state["finished_at"]:
                break
            if time.perf_counter() - started > most:
                client.post(f"{path}:cancel").raise_for_status()
                break
    took, again = time.perf_counter() - started, _alone(client, asked)
    name = f"{job.kind}{', a dry run' if job.dry else ''}"
    beside, quiet = _p95(times), statistics.mean((_p95(alone), _p95(again)))
    yield Row(
        f"{name}: recall p95 beside it",
        "ms",
        (beside,),
        f"alone {quiet:.1f} ms, {len(times)} questions",
        (beside / quiet,),
        GOAL,
        at_most=True,
    )
    done = f"{state['done']:,} in {took:.0f} s, {state['status']}"
    yield Row(f"{name}: looked at", "1/s", (state["done"] / took,), done)
    yield Row(f"{name}: held more", "MB", (max(held) - before,), f"{before:.0f} before", goal=GROWTH_MB, at_most=True)


def _alone(client: httpx.Client, asked: Iterator[str]) -> Sequence[float]:
    times, begun = [], time.perf_counter()
    while time.perf_counter() - begun < ALONE_S:
        times.append(_recall(client, next(asked)))
    return times


def _recall(client: httpx.Client, question: str) -> float:
    """Milliseconds."""
    begun = time.perf_counter()
    client.post("/v1/brain/recall", json={"query": question}).raise_for_status()
    took = time.perf_counter() - begun
    time.sleep(PAUSE_S)
    return took * 1000


def _p95(times: Sequence[float]) -> float:
    return statistics.quantiles(times, n=20)[-1]


@contextlib.contextmanager
def _settings() -> Iterator[str]:
    from tests.servers import mariadb_server
    from tests.servers.processes.running import running

    with running(*SERVERS) as started:
        elasticsearch = started["elasticsearch"].url
        name = f"bench_{uuid.uuid4().hex[:10]}"
        yield json.dumps(
            {
                "streams": {"url": started["redis"].url},
                "truth": {"url": mariadb_server.create_database(started["mariadb"].server, name)},
                "text": {"url": elasticsearch, "tuning": {"timeout_s": 60}},
                "vectors": {"url": f"elasticsearch+{elasticsearch}", "tuning": {"timeout_s": 60}},
            }
        )
