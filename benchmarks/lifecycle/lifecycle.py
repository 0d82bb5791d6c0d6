"""Recall during lifecycle jobs: how much slower it is than alone, in the same run, and how much memory the jobs use.

All services in one process, over synthetic memories (`benchmarks.synthetic`). Questions are asked one after the other
with a pause, first alone, then while a job runs, then alone again.
"""

import argparse
import contextlib
import itertools
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from benchmarks.support.kept_servers import SAID, kept_servers, settings_of
from benchmarks.support.report import Report, Row
from benchmarks.support.texts import questions
from benchmarks.support.worker import Worker, running_worker

NAME = "lifecycle"
GOAL = 1.5
"""Ratio of the 95th percentile of a recall during a job to that of one alone."""
GROWTH_MB = 150
"""Megabytes that the process may use more after a job than before it."""
PAUSE_S = 0.03
ALONE_S = 12.0


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
    parser.add_argument(
        "--lifecycle-folder", type=Path, help="folder for the store, filled as far as needed and reused"
    )
    parser.add_argument("--lifecycle-servers", action="store_true", help="MariaDB, Elasticsearch and Redis")
    parser.add_argument("--lifecycle-jobs", default=",".join(DRY), help="jobs to run as dry runs, separated by commas")
    parser.add_argument("--lifecycle-real", default="acme", help="then prune this org and undo it; '': skip")
    parser.add_argument("--lifecycle-seconds", type=float, default=240.0, help="a job is cancelled after this time")


def run(options: argparse.Namespace) -> Report:
    """Fill once, then measure each job."""
    with contextlib.ExitStack() as stack:
        kept: Path | None = options.lifecycle_folder
        folder = kept or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="openbrain-bench-")))
        settings = settings_of(stack.enter_context(kept_servers(folder))) if options.lifecycle_servers else "{}"
        filling = [sys.executable, "-m", "benchmarks.synthetic.filling", str(folder), str(options.lifecycle_count)]
        subprocess.run([*filling, settings], check=True, stdout=subprocess.DEVNULL)
        worker = stack.enter_context(running_worker("lifecycle", 0, str(folder), settings))
        headers = {"authorization": f"Bearer {worker.ready['key']}"}
        client = stack.enter_context(httpx.Client(base_url=str(worker.ready["url"]), headers=headers, timeout=300))
        asked = itertools.cycle(questions(20_000))
        _alone(client, asked)
        jobs = [Job(job, True, DRY[job]) for job in options.lifecycle_jobs.split(",") if job]
        if options.lifecycle_real:
            jobs.append(Job("prune", False, {"max_confidence": 1.0, "org": options.lifecycle_real}))
        rows = [row for job in jobs for row in _rows(worker, client, asked, job, options.lifecycle_seconds)]
    parts = f"MariaDB and Elasticsearch ({SAID})" if options.lifecycle_servers else "SQLite, tantivy and qdrant-edge"
    return Report(NAME, tuple(rows), (f"{options.lifecycle_count:,} memories on {parts}",))


def _rows(worker: Worker, client: httpx.Client, asked: Iterator[str], job: Job, most: float) -> Iterator[Row]:
    name = f"{job.kind}{', a dry run' if job.dry else ''}"
    body = {**job.body, "dry_run": job.dry}
    begun: list[str] = []

    def begin(path: str, body: Mapping[str, Any]) -> str:
        operation: str = client.post(path, json=body).raise_for_status().json()["operation"]["id"]
        begun.append(f"/v1/admin/operations/{operation}")
        return begun[-1]

    yield from _beside(worker, client, asked, name, lambda: begin(f"/v1/admin/lifecycle:{job.kind}", body), most)
    if not job.dry:
        yield from _beside(worker, client, asked, f"undo of {name}", lambda: begin(f"{begun[0]}:undo", {}), most)


def _beside(
    worker: Worker, client: httpx.Client, asked: Iterator[str], name: str, begin: Callable[[], str], most: float
) -> Iterator[Row]:
    before, alone = worker.ask("held")["held_mb"], _alone(client, asked)
    path, started, times, held = begin(), time.perf_counter(), [], []
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
    beside, quiet = _p95(times), statistics.mean((_p95(alone), _p95(again)))
    ratio, said = (beside / quiet,), f"alone {quiet:.1f} ms, {len(times)} questions"
    yield Row(f"{name}: recall p95 beside it", "ms", (beside,), said, ratio, GOAL, at_most=True)
    done = f"{state['done']:,} in {took:.0f} s, {state['status']}"
    yield Row(f"{name}: looked at", "1/s", (state["done"] / took,), done)
    yield Row(f"{name}: held more", "MB", (max(held) - before,), f"{before:.0f} before", goal=GROWTH_MB, at_most=True)


def _alone(client: httpx.Client, asked: Iterator[str]) -> Sequence[float]:
    times, begun = [], time.perf_counter()
    while time.perf_counter() - begun < ALONE_S:
        times.append(_recall(client, next(asked)))
    return times


def _recall(client: httpx.Client, question: str) -> float:
    """Recall once and return the milliseconds."""
    begun = time.perf_counter()
    client.post("/v1/brain/recall", json={"query": question}).raise_for_status()
    took = time.perf_counter() - begun
    time.sleep(PAUSE_S)
    return took * 1000


def _p95(times: Sequence[float]) -> float:
    return statistics.quantiles(times, n=20)[-1]
