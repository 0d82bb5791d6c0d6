"""A complete tick as its service runs it, with database, memories and health: over a new vault, over an unchanged one,
and over 20 changed arcs.

CPU time of the process, compared with the unavoidable scandir and stat of every file: the mean of passes over a fifth
of a second, because a single pass would be too short to be disturbed by other processes. The cost of a new file on this
disk is reported separately: it is part of the first tick, which rewrites every third page, but not of the scandir and
stat. TMPDIR selects the disk.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.support.report import Report, Row
from benchmarks.workers.tick import CHANGED

NAME = "tick"
MANY = 10_000
"""From this number of arcs on, the first tick is measured only once."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tick-arcs", type=int, nargs="+", default=[2_000, 20_000], help="sizes of the vaults")
    parser.add_argument(
        "--tick-repeats",
        type=int,
        default=5,
        help="repeats of every figure; the first tick of a large vault is measured once",
    )


def run(options: argparse.Namespace) -> Report:
    """Per size: first tick, unchanged (in a running and in a new process), 20 changed, memory."""
    rows = [row for arcs in options.tick_arcs for row in _rows(arcs, options.tick_repeats)]
    notes = (
        "`a process that goes on` keeps its index in memory, as the tick room does",
        "`one that starts` reads it from its file, as the command line does",
    )
    return Report(NAME, tuple(rows), notes)


def _rows(arcs: int, repeats: int) -> list[Row]:
    # All are removed at the end only: after deletions a disk may take long to find free space.
    with TemporaryDirectory() as folder:
        measured = _measured(Path(folder, "first"), arcs, repeats)
        # Each process has only one first tick.
        more = repeats - 1 if arcs < MANY else 0
        again = [_measured(Path(folder, f"again-{number}"), arcs, 0) for number in range(more)]
    figures = {name: tuple(value for each in (measured, *again) for value in each[name]) for name in measured}
    firsts, bare, unchanged = figures["first"], figures["bare"], figures["unchanged"]
    allowed = [1.5 * each + CHANGED * min(firsts) / arcs for each in unchanged]
    size = f"{arcs:,} arcs"
    return [
        Row(
            f"{size}: first tick",
            "ms",
            _ms(firsts),
            against="scandir and stat",
            ratios=_ratios(firsts, figures["first_bare"]),
            goal=140,
            at_most=True,
        ),
        Row(f"{size}: scandir and stat", "ms", _ms(bare)),
        Row(f"{size}: 1,000 files made, written and renamed over others", "ms", _ms(_thousand(figures["written"]))),
        Row(
            f"{size}: unchanged, a process that goes on",
            "ms",
            _ms(unchanged),
            against="scandir and stat",
            ratios=_ratios(unchanged, bare),
            goal=14,
            at_most=True,
        ),
        Row(
            f"{size}: unchanged, one that starts",
            "ms",
            _ms(figures["started"]),
            against="scandir and stat",
            ratios=_ratios(figures["started"], bare),
        ),
        Row(
            f"{size}: {CHANGED} changed",
            "ms",
            _ms(figures["changed"]),
            against=f"1.5 x unchanged + {CHANGED} x an arc's share of the first",
            ratios=_ratios(figures["changed"], allowed),
            goal=1,
            at_most=True,
        ),
        Row(f"{size}: rules for secrets, loaded when a process starts", "ms", _ms(figures["rules"])),
        Row(f"{size}: memory at most", "MB", figures["peak_mb"]),
        Row(f"{size}: of it before the first tick", "MB", figures["plain_mb"]),
    ]


def _measured(folder: Path, arcs: int, repeats: int) -> dict[str, list[float]]:
    folder.mkdir()
    command = [sys.executable, "-m", "benchmarks.workers.tick", str(folder), str(arcs), str(repeats)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def _thousand(seconds: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(1000 * each for each in seconds)


def _ms(seconds: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(1000 * each for each in seconds)


def _ratios(ours: tuple[float, ...], others: tuple[float, ...] | list[float]) -> tuple[float, ...]:
    return tuple(one / other for one, other in zip(ours, others, strict=True))
