"""10,000 memories by XADD until both indexes have them: every service in one process on one core, Redis on another.

The embedder costs nothing, so that only the pipeline is measured.
"""

import argparse
import asyncio
import contextlib
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from redis import Redis

from benchmarks.support.report import Report, Row
from benchmarks.support.texts import TYPES, spread, texts
from openbrain.adapters.redis.embedded_valkey import EmbeddedValkey
from openbrain.adapters.sql.store import FILE
from openbrain.domain.events.envelope import FIELD, encode
from openbrain.domain.events.streams import SUBMITTED
from openbrain.domain.events.submission import MemorySubmitted
from openbrain.domain.memory import MemoryType
from openbrain.settings import Streams

NAME = "pipeline"
GOAL_RATE = 1500
GOAL_LAG_MS = 50
LOOK_S = 0.05


def add_options(parser: argparse.ArgumentParser) -> None:
    """Sizes, repeats and cores."""
    parser.add_argument("--pipeline-count", type=int, default=10_000)
    parser.add_argument("--pipeline-repeats", type=int, default=3)
    parser.add_argument(
        "--pipeline-batch", type=int, default=Streams().batch, help="most entries that a consumer reads at once"
    )


def run(options: argparse.Namespace) -> Report:
    """Start a new system for each repeat."""
    count = options.pipeline_count
    bodies = submissions(count)
    runs, floors = [], []
    for _ in range(options.pipeline_repeats):
        runs.append(once(bodies, "zero", options.pipeline_batch))
        floors.append(asyncio.run(_floor(bodies, options.pipeline_batch)) / count * 1e6)
    rate = tuple(count / each["seconds"] for each in runs)
    cpu = tuple(each["cpu"] / count * 1e6 for each in runs)
    ratios = tuple(ours / floor for ours, floor in zip(cpu, floors, strict=True))
    return Report(
        NAME,
        (
            Row("memories indexed, one core", "1/s", rate, goal=GOAL_RATE),
            Row("bare parts: process CPU a memory", "us", tuple(floors)),
            Row("process CPU a memory", "us", cpu, "bare parts", ratios),
            Row("event-loop lag p99", "ms", tuple(each["lag_p99"] for each in runs), goal=GOAL_LAG_MS, at_most=True),
            Row("peak memory", "MB", tuple(each["peak_mb"] for each in runs)),
        ),
        (f"{count} memories of about 200 characters, batches of at most {options.pipeline_batch}",),
    )


def submissions(count: int) -> list[bytes]:
    """Finished events."""
    return [
        encode(
            SUBMITTED.name,
            MemorySubmitted(
                content=text,
                type=MemoryType(spread(TYPES, number)),
                workspace_id="default",
                org="acme",
                project=f"p{number % 20}",
                tags=("bench", f"t{number % 7}"),
            ),
            event_id=f"b-{number}",
            at=0,
        )
        for number, text in enumerate(texts(count))
    ]


def once(bodies: Sequence[bytes], embedder: str, batch: int) -> Mapping[str, float]:
    """Start Redis and a worker on separate cores, submit, and read the worker's figures."""
    return asyncio.run(_once(bodies, embedder, batch))


async def _once(bodies: Sequence[bytes], embedder: str, batch: int) -> Mapping[str, float]:
    cores = sorted(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory(prefix="openbrain-bench-") as folder:
        valkey = EmbeddedValkey(Path(folder) / "streams", 1024)
        url = await valkey.start()
        command = [sys.executable, "-m", "benchmarks.workers.pipeline", folder + "/data", url]
        worker = subprocess.Popen(  # noqa: ASYNC220 - nothing else runs here
            ["taskset", "-c", str(cores[-1]), *command, embedder, str(batch)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert worker.stdin is not None
        assert worker.stdout is not None
        try:
            if worker.stdout.readline().strip() != "ready":
                raise SystemExit("the worker did not start")
            worker.stdin.write("go\n")
            worker.stdin.flush()
            _submit(url, bodies)
            _until_indexed(Path(folder) / "data" / FILE, len(bodies), worker)
            worker.stdin.write("done\n")
            worker.stdin.flush()
            figures: Mapping[str, float] = json.loads(worker.stdout.readline())
        finally:
            worker.stdin.close()
            worker.wait(timeout=120)
            await valkey.stop()
    return figures


async def _floor(bodies: Sequence[bytes], batch: int) -> float:
    """CPU seconds of the engines alone, on the worker's core."""
    core = max(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory(prefix="openbrain-bench-") as folder:
        valkey = EmbeddedValkey(Path(folder) / "streams", 1024)
        url = await valkey.start()
        try:
            _submit(url, bodies)
            command = [
                sys.executable,
                "-m",
                "benchmarks.baselines.pipeline",
                folder + "/data",
                url,
                str(len(bodies)),
            ]
            done = subprocess.run(  # noqa: ASYNC221 - nothing else runs here
                ["taskset", "-c", str(core), *command, str(batch)], check=True, capture_output=True, text=True
            )
        finally:
            await valkey.stop()
    return float(json.loads(done.stdout)["cpu"])


def _until_indexed(store: Path, count: int, worker: "subprocess.Popen[str]") -> None:
    """Count on this core, not on the worker's: counting rows costs more than indexing some."""
    with contextlib.closing(sqlite3.connect(store)) as connection:
        while connection.execute("SELECT count(indexed_at) FROM memories").fetchone()[0] < count:
            if worker.poll() is not None:
                raise SystemExit("the worker ended")
            time.sleep(LOOK_S)


def _submit(url: str, bodies: Sequence[bytes]) -> None:
    with Redis.from_url(url) as client:
        for start in range(0, len(bodies), 500):
            pipeline = client.pipeline(transaction=False)
            for body in bodies[start : start + 500]:
                pipeline.execute_command("XADD", SUBMITTED.name, "*", FIELD, body)
            pipeline.execute()
