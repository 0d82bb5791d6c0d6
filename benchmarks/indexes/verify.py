"""`verify --full` of embedded indexes: its CPU time in this process, and how much slower questions are meanwhile.

SQLite with tantivy and qdrant-edge, filled as in `reconcile`, without differences. A question is one search of both
indexes and the read of the rows found; it is timed alone and during a comparison in the same run.
"""

import argparse
import asyncio
import statistics
import time
from array import array
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.indexes import reconcile
from benchmarks.indexes.reconcile import DIMENSIONS, Side
from benchmarks.support.report import Report, Row
from openbrain.adapters.local.clock import SystemClock
from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.access.visibility import Criteria, Viewer, visible
from openbrain.ports.store.generations import Generation

NAME = "verify"
GOAL_S = 30.0
"""CPU seconds of this process for a million memories in both indexes."""
GOAL_RATIO = 1.5
"""Ratio of the 95th percentile of questions during a comparison to that of questions alone."""
PAUSE_S = 0.03
"""Seconds between two questions."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Sizes and repeats."""
    parser.add_argument("--verify-memories", type=int, default=200_000)
    parser.add_argument("--verify-repeats", type=int, default=3)


def run(options: argparse.Namespace) -> Report:
    """Fill, then compare alone, ask alone, and do both at once."""
    rows, notes = asyncio.run(_measured(options.verify_memories, options.verify_repeats))
    return Report(NAME, tuple(rows), notes)


async def _measured(count: int, repeats: int) -> tuple[list[Row], tuple[str, ...]]:
    async with reconcile.opened("embedded") as side:
        store = SqlStore(side.database, SystemClock())
        generations = await reconcile.begin(side, store)
        await reconcile.fill(side, generations, count)
        cpu, slower, took = [], [], []
        for _ in range(repeats):
            begun = time.process_time()
            equal(await reconcile.compared(side, store, full=True), count)
            cpu.append(time.process_time() - begun)
            comparing = asyncio.create_task(reconcile.compared(side, store, full=True))
            begun = time.perf_counter()
            beside = await _asked(side, store, generations, comparing)
            took.append(time.perf_counter() - begun)
            equal(await comparing, count)
            alone = await _asked(side, store, generations, asyncio.create_task(asyncio.sleep(min(10.0, took[-1]))))
            slower.append(_p95(beside) / _p95(alone))
    goal = GOAL_S * count / 1_000_000
    rows = [
        Row(f"{count:,} memories, every entry, nothing differs: our CPU", "s", tuple(cpu), goal=goal, at_most=True),
        Row("the same beside questions: from begin to end", "s", tuple(took)),
        Row(
            "95th percentile of questions meanwhile",
            "",
            (),
            against="questions alone",
            ratios=tuple(slower),
            goal=GOAL_RATIO,
            at_most=True,
        ),
    ]
    return rows, (f"the goal of CPU is {GOAL_S:.0f} s for 1,000,000 memories; another size is held to its share",)


def equal(told: Mapping[str, Any], count: int) -> None:
    """Check that the measured indexes have no differences."""
    if not told["equal"] or [each["rows"] for each in told["indexes"]] != [count, count]:
        raise SystemExit(f"the indexes should be equal: {told}")


async def _asked(
    side: Side, store: SqlStore, generations: Sequence[Generation], until: "asyncio.Task[Any]"
) -> list[float]:
    """Times of questions while the other task runs."""
    text, vectors = generations
    condition = visible(Viewer(workspace_id="default", agent_id=""), Criteria(), SystemClock().now())
    vector = array("f", [1.0, *([0.0] * (DIMENSIONS - 1))])
    times: list[float] = []
    while not until.done():
        begun = time.perf_counter()
        found = await asyncio.gather(
            side.text.search(text.name, f"note {len(times)} boats quay", condition, 20),
            side.vectors.search(vectors.name, vector, condition, 20),
        )
        await store.memories.rows([hit.memory_id for hits in found for hit in hits])
        times.append(time.perf_counter() - begun)
        await asyncio.sleep(PAUSE_S)
    return times


def _p95(times: Sequence[float]) -> float:
    return statistics.quantiles(times, n=20)[-1] if len(times) > 1 else times[0]
