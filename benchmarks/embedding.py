"""The pipeline with MiniLM against the bare embedder on the same texts and the same core."""

import argparse
import asyncio
import json
import os
import subprocess
import sys

from benchmarks.pipeline import once, submissions
from benchmarks.report import Report, Row
from benchmarks.texts import texts

NAME = "embedding"
GOAL = 0.9
BATCH = 32


def add_options(parser: argparse.ArgumentParser) -> None:
    """How much, how often."""
    parser.add_argument("--embedding-count", type=int, default=1500)
    parser.add_argument("--embedding-repeats", type=int, default=3)


def run(options: argparse.Namespace) -> Report:
    """Both sides in turn."""
    count = options.embedding_count
    bodies = submissions(count)
    whole, bare = [], []
    for _ in range(options.embedding_repeats):
        bare.append(count / _bare(count))
        whole.append(count / once(bodies, "minilm", 64)["seconds"])
    ratios = tuple(ours / theirs for ours, theirs in zip(whole, bare, strict=True))
    return Report(
        NAME,
        (
            Row("bare MiniLM", "texts/s", tuple(bare)),
            Row("XADD to both indexes, MiniLM", "1/s", tuple(whole), "bare MiniLM", ratios, GOAL),
        ),
        (f"{count} texts of about 200 characters, one core, batches of {BATCH} for both",),
    )


def _bare(count: int) -> float:
    """Seconds that the embedder alone takes, in a process on the same core as the worker of the pipeline."""
    core = str(max(os.sched_getaffinity(0)))
    command = ["taskset", "-c", core, sys.executable, "-m", "benchmarks.embedding", str(count)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout)["seconds"])


async def _embed(count: int) -> float:
    import time

    from openbrain.adapters.minilm import MiniLM

    model = MiniLM(threads=1)
    inputs = [passage for text in texts(count) for passage in model.passages(text, "2026-11-22")]
    await model.embed_query("warm")
    begun = time.perf_counter()
    for start in range(0, len(inputs), BATCH):
        await model.embed(inputs[start : start + BATCH])
    return time.perf_counter() - begun


if __name__ == "__main__":
    print(json.dumps({"seconds": asyncio.run(_embed(int(sys.argv[1])))}))
