"""Recall, writes, memory, disk and reindexing at several store sizes.

All services in one process, over synthetic memories; each size has its own store, filled first through the bulk ports.
Ratios are relative to the smallest size.
"""

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from benchmarks.support.http_load import measure
from benchmarks.support.kept_servers import SAID, kept_servers, settings_of
from benchmarks.support.memory import held_mb
from benchmarks.support.report import Report, Row
from benchmarks.support.system import wait_until_indexed
from benchmarks.support.texts import questions
from benchmarks.support.worker import Worker, running_worker
from benchmarks.synthetic.memories import remember_body
from tests.servers.processes.process import ServerProcess

NAME = "growth"
WRITES = 4_000
WRITERS = 16
RECALLS = 400
INDEXES = ("text", "vector")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Sizes and parts."""
    parser.add_argument(
        "--growth-sizes", default="10000,100000,200000", help="numbers of memories, separated by commas"
    )
    parser.add_argument("--growth-folder", type=Path, help="folder for the stores, filled as far as needed and reused")
    parser.add_argument("--growth-reindex", type=int, default=1_000_000, help="largest store whose indexes are rebuilt")
    parser.add_argument("--growth-servers", action="store_true", help="MariaDB, Elasticsearch and Redis")


@dataclass
class _Figures:
    """The figures of one size, by name and unit."""

    memories: int
    values: dict[tuple[str, str], float] = field(default_factory=dict)


def run(options: argparse.Namespace) -> Report:
    """One size after the other."""
    with contextlib.ExitStack() as stack:
        kept: Path | None = options.growth_folder
        root = kept or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="openbrain-bench-")))
        found = []
        for size in map(int, options.growth_sizes.split(",")):
            folder = root / f"{'servers' if options.growth_servers else 'embedded'}-{size}"
            found.append(_measured(folder, size, options))
            print(f"{size:,}: {found[-1].values}", file=sys.stderr, flush=True)
    parts = f"MariaDB and Elasticsearch ({SAID})" if options.growth_servers else "SQLite, tantivy and qdrant-edge"
    return Report(NAME, tuple(_rows(found)), (f"vectors of 384 dimensions, memories of 200 characters, on {parts}",))


def _rows(found: list[_Figures]) -> Iterator[Row]:
    first = found[0]
    for what, unit in first.values:
        for each in (size for size in found if (what, unit) in size.values):
            value, least = each.values[what, unit], first.values[what, unit]
            against = f"{first.memories:,} memories" if each is not first else ""
            yield Row(f"{what}, {each.memories:,}", unit, (value,), against, (value / least,) if against else ())


def _measured(folder: Path, size: int, options: argparse.Namespace) -> _Figures:
    figures = _Figures(size)
    with contextlib.ExitStack() as stack:
        servers = stack.enter_context(kept_servers(folder)) if options.growth_servers else {}
        parts = json.loads(settings_of(servers)) if servers else {}
        settings = json.dumps({**parts, "server": {"rate_per_minute": 0}})
        folder.mkdir(parents=True, exist_ok=True)
        filling = [sys.executable, "-m", "benchmarks.synthetic.filling", str(folder), str(size), settings]
        subprocess.run(filling, check=True, stdout=subprocess.DEVNULL)
        figures.values["disk", "MB"] = _disk_mb(folder)
        worker = stack.enter_context(running_worker("lifecycle", 0, str(folder), settings))
        headers = {"authorization": f"Bearer {worker.ready['key']}"}
        client = stack.enter_context(httpx.Client(base_url=str(worker.ready["url"]), headers=headers, timeout=300))
        _recalls(worker, figures)
        _memory(worker, servers, figures)
        _writes(worker, client, size, figures)
        for index in INDEXES if size <= options.growth_reindex else ():
            seconds = worker.ask(f"reindex {index}")["wall"]
            figures.values[f"{index} index made anew", "1/s"] = size / seconds
    return figures


def _recalls(worker: Worker, figures: _Figures) -> None:
    """One client, different questions; a tenth of them before as a warm-up."""
    url, key = f"{worker.ready['url']}/v1/brain/recall", str(worker.ready["key"])
    asked = [json.dumps({"query": question}) for question in questions(RECALLS + RECALLS // 10)]
    measure(url, key, 1, RECALLS // 10, asked[RECALLS:])
    load = measure(url, key, 1, RECALLS, asked[:RECALLS])
    if load.failed:
        raise SystemExit(f"{load.failed} recalls failed")
    figures.values["recall p50", "ms"] = load.p50
    figures.values["recall p99", "ms"] = load.p99


def _memory(worker: Worker, servers: Mapping[str, ServerProcess], figures: _Figures) -> None:
    """The memory of OpenBrain and of each server."""
    figures.values["memory of all services", "MB"] = worker.ask("held")["held_mb"]
    for name, server in servers.items():
        figures.values[f"memory of {name}", "MB"] = held_mb(server.pid)


def _writes(worker: Worker, client: httpx.Client, size: int, figures: _Figures) -> None:
    """Write new memories; measure until they are acknowledged, and until all are in both indexes."""
    # Numbers from the clock: a reused store already has those of earlier runs.
    numbers = range(start := size + time.time_ns() // 1_000_000, start + WRITES)
    bodies = [remember_body(number) for number in numbers]
    url, key = f"{worker.ready['url']}/v1/brain/remember", str(worker.ready["key"])
    begun = time.perf_counter()
    load = measure(url, key, WRITERS, WRITES, bodies)
    if load.failed:
        raise SystemExit(f"{load.failed} memories were not taken")
    last = client.post("/v1/brain/remember", content=remember_body(numbers.stop)).raise_for_status().json()
    wait_until_indexed(client, [last["id"]])
    figures.values["writes acknowledged", "1/s"] = load.rate
    figures.values["writes in both indexes", "1/s"] = WRITES / (time.perf_counter() - begun)


def _disk_mb(folder: Path) -> float:
    blocks = sum(path.stat().st_blocks for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return blocks * 512 / 1e6
