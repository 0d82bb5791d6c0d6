"""Rebuild of both indexes from known vectors. One process runs every service, as `openbrain up` does.

Embedded: memories per CPU second of the process, and the time of the engines for the same documents
(`baselines/reindex.py`), which is the unavoidable part. On MariaDB, Redis and Elasticsearch: elapsed time compared with
the client's own bulk helper with the same bodies; both sides alternate.
"""

import argparse
import contextlib
import json
import statistics
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.support.report import Report, Row
from tests.servers import mariadb_server
from tests.servers.availability import Missing
from tests.servers.catalogue import available
from tests.servers.processes.running import running

NAME = "reindex"
GOAL = 3000.0
"""Memories per CPU second, for each index."""
GOAL_ON_SERVERS = 0.7
"""Share of the speed of a bare bulk load."""
SERVERS = ("redis", "mariadb", "elasticsearch")

Turns = Sequence[Mapping[str, float]]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Sizes and repeats."""
    parser.add_argument("--reindex-count", type=int, default=100_000, help="embedded memories; 0: skip")
    parser.add_argument("--reindex-servers", type=int, default=50_000, help="memories on servers; 0: skip")
    parser.add_argument("--reindex-folder", help="folder for the filled embedded store, reused by later runs")
    parser.add_argument("--reindex-repeats", type=int, default=3)


def run(options: argparse.Namespace) -> Report:
    """Fill once, then measure in a process of its own."""
    rows: list[Row] = []
    notes: list[str] = []
    repeats = options.reindex_repeats
    if count := options.reindex_count:
        figures = _worked(options.reindex_folder, count, repeats, {})
        notes.append(_note("embedded", count, figures))
        for index, turns in figures["turns"].items():
            rows += _embedded(index, count, turns)
    if count := options.reindex_servers:
        missing = [name for name in SERVERS if isinstance(available(name), Missing)]
        if missing:
            notes.append(f"servers left out: no {', '.join(missing)}")
        else:
            figures = _on_servers(count, repeats)
            notes.append(_note("on servers", count, figures))
            for index, turns in figures["turns"].items():
                rows += _served(index, count, turns)
    return Report(NAME, tuple(rows), tuple(notes))


def _worked(folder: str | None, count: int, repeats: int, settings: Mapping[str, Any]) -> dict[str, Any]:
    with contextlib.ExitStack() as stack:
        folder = folder or stack.enter_context(tempfile.TemporaryDirectory(prefix="openbrain-bench-"))
        command = [sys.executable, "-m", "benchmarks.workers.reindex", folder, str(count), str(repeats)]
        done = subprocess.run([*command, json.dumps(settings)], stdout=subprocess.PIPE, check=True)
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def _on_servers(count: int, repeats: int) -> dict[str, Any]:
    with running(*SERVERS) as started:
        name = f"openbrain_{uuid.uuid4().hex[:8]}"
        elasticsearch = started["elasticsearch"].url
        settings = {
            "streams": {"url": started["redis"].url},
            "truth": {"url": mariadb_server.create_database(started["mariadb"].server, name)},
            "text": {"url": elasticsearch, "tuning": {"timeout_s": 60}},
            "vectors": {"url": f"elasticsearch+{elasticsearch}", "tuning": {"timeout_s": 60}},
        }
        return _worked(None, count, repeats, settings)


def _embedded(index: str, count: int, turns: Turns) -> list[Row]:
    ours = [count / each["cpu"] for each in turns]
    bare = [count / each["bare"] for each in turns]
    # Services poll for work by elapsed time, so on a busy machine they poll more per unit of work.
    net = [count / (each["cpu"] - each["resting"] * each["wall"]) for each in turns]
    shares = tuple(mine / floor for mine, floor in zip(net, bare, strict=True))
    return [
        Row(f"embedded: {index} made anew", "memories/s of CPU", tuple(ours), goal=GOAL),
        Row(f"embedded: {index} by the bare engine", "memories/s of CPU", tuple(bare)),
        Row(
            f"embedded: {index}, less what the services take at rest",
            "memories/s of CPU",
            tuple(net),
            "the bare engine",
            shares,
        ),
        Row(f"embedded: {index}, by the clock", "memories/s", tuple(count / each["wall"] for each in turns)),
    ]


def _served(index: str, count: int, turns: Turns) -> list[Row]:
    def ratios(of: Callable[[Mapping[str, float]], float]) -> tuple[float, ...]:
        return tuple(each["bare"] / of(each) for each in turns)

    against = "a bare bulk load"
    bare = tuple(count / each["bare"] for each in turns)
    writing = tuple(count / each["writing"] for each in turns)
    return [
        Row(f"servers: {index} by the bulk helper", "memories/s", bare),
        Row(
            f"servers: {index} announced, written, compared, swapped",
            "memories/s",
            writing,
            against,
            ratios(lambda each: each["writing"]),
            GOAL_ON_SERVERS,
        ),
        Row(f"servers: {index}, with the wait for leases", "", (), against, ratios(lambda each: each["wall"])),
    ]


def _note(where: str, count: int, figures: Mapping[str, Any]) -> str:
    load = statistics.median(each["load"] for turns in figures["turns"].values() for each in turns)
    return f"{where}: {count:,} memories, vectors of {figures['dimensions']} numbers, load average {load:.1f}"
