"""Both indexes made anew from vectors that are known, on embedded parts: memories for each second of our process's CPU.

One process runs every room, as `openbrain up` does. Each repeat makes both indexes anew, one after the other.
"""

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile

from benchmarks.report import Report, Row

NAME = "reindex"
GOAL = 3000.0
"""Memories a second of CPU, of each index."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """How much, how often."""
    parser.add_argument("--reindex-count", type=int, default=100_000)
    parser.add_argument("--reindex-folder", help="keeps the filled store")
    parser.add_argument("--reindex-repeats", type=int, default=3)


def run(options: argparse.Namespace) -> Report:
    """Fill once, then measure in a process of its own."""
    with contextlib.ExitStack() as stack:
        folder = options.reindex_folder or stack.enter_context(tempfile.TemporaryDirectory(prefix="openbrain-bench-"))
        arguments = [folder, str(options.reindex_count), str(options.reindex_repeats)]
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.reindex_worker", *arguments], stdout=subprocess.PIPE, check=True
        )
    figures = json.loads(done.stdout.splitlines()[-1])
    rows = [
        Row(f"{index} made anew", "memories/s of CPU", tuple(values), goal=GOAL)
        for index, values in figures["by_index"].items()
    ]
    rows.append(Row("both, by the clock", "memories/s", tuple(figures["by_the_clock"])))
    return Report(NAME, tuple(rows), (f"{options.reindex_count} memories, vectors of {figures['dimensions']} numbers",))
