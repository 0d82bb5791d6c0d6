"""The pipeline with MiniLM compared with the bare embedder, on the same texts and the same core."""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence

from benchmarks.support.report import Report, Row
from benchmarks.support.texts import texts
from benchmarks.writes.pipeline import once, submissions

NAME = "embedding"
GOAL = 0.9
BATCH = 32


def add_options(parser: argparse.ArgumentParser) -> None:
    """Sizes and repeats."""
    parser.add_argument("--embedding-count", type=int, default=1500)
    parser.add_argument("--embedding-repeats", type=int, default=3)


def run(options: argparse.Namespace) -> Report:
    """Measure both sides alternately."""
    count = options.embedding_count
    bodies = submissions(count)
    whole, bare = [], []
    for _ in range(options.embedding_repeats):
        bare.append(_bare(count))
        whole.append(once(bodies, "minilm", 64))
    rates, alone = _per_second(count, whole, "seconds"), _per_second(count, bare, "seconds")
    cpu, cpu_alone = _per_second(count, whole, "cpu"), _per_second(count, bare, "cpu")
    return Report(
        NAME,
        (
            Row("bare MiniLM", "texts/s", alone),
            Row("XADD to both indexes, MiniLM", "1/s", rates, "bare MiniLM", _ratios(rates, alone), GOAL),
            Row("bare MiniLM, a second of CPU", "texts", cpu_alone),
            Row("XADD to both indexes, a second of CPU", "memories", cpu, "bare MiniLM", _ratios(cpu, cpu_alone), GOAL),
        ),
        (f"{count} texts of about 200 characters, one core, batches of {BATCH} for both",),
    )


def _per_second(count: int, runs: Sequence[Mapping[str, float]], what: str) -> tuple[float, ...]:
    return tuple(count / each[what] for each in runs)


def _ratios(ours: Sequence[float], theirs: Sequence[float]) -> tuple[float, ...]:
    return tuple(one / other for one, other in zip(ours, theirs, strict=True))


def _bare(count: int) -> Mapping[str, float]:
    """Elapsed and CPU seconds of the embedder alone, in a process on the pipeline's core."""
    core = str(max(os.sched_getaffinity(0)))
    command = ["taskset", "-c", core, sys.executable, "-m", "benchmarks.indexes.embedding", str(count)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    figures: Mapping[str, float] = json.loads(done.stdout)
    return figures


async def _embed(count: int) -> Mapping[str, float]:
    from openbrain.adapters.embedding.minilm import MiniLM

    model = MiniLM(threads=1)
    inputs = [passage for text in texts(count) for passage in model.passages(text, "2026-11-22")]
    await model.embed_query("warm")
    begun, cpu = time.perf_counter(), time.process_time()
    for start in range(0, len(inputs), BATCH):
        await model.embed(inputs[start : start + BATCH])
    return {"seconds": time.perf_counter() - begun, "cpu": time.process_time() - cpu}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_embed(int(sys.argv[1])))))
