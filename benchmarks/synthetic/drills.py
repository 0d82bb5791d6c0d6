"""The restore drills of docs/operations/backup.md on MariaDB, Redis and Elasticsearch, timed step by step.

Two restores from one backup: the database alone, under live indexes and after later writes; and with everything else
new and empty, as on another machine. Each ends when a full comparison finds both indexes equal to the database.
"""

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy.engine import make_url

from benchmarks.support.http_load import measure
from benchmarks.support.kept_servers import SAID, kept_servers, settings_of
from benchmarks.support.report import Report, Row
from benchmarks.support.system import wait_until_indexed
from benchmarks.support.worker import Worker, running_worker
from benchmarks.synthetic.memories import remember_body
from tests.servers.processes.process import ServerProcess

NAME = "drills"
LATER = 2_000
"""Memories written after the backup."""
KEYS = ("key", "admin-key")
Times = dict[str, float]
"""Seconds of each step."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the size of the store."""
    parser.add_argument("--drills-memories", type=int, default=100_000)


def run(options: argparse.Namespace) -> Report:
    """Fill, back up, write more; then restore in both ways."""
    count = options.drills_memories
    times: Times = {}
    with tempfile.TemporaryDirectory(prefix="openbrain-bench-") as root:
        folder, other, backup = (Path(root) / name for name in ("before", "other", "backup"))
        backup.mkdir()
        with kept_servers(folder) as servers:
            filling = [
                sys.executable,
                "-m",
                "benchmarks.synthetic.filling",
                str(folder),
                str(count),
                _settings(servers),
            ]
            subprocess.run(filling, check=True, stdout=subprocess.DEVNULL)
            with _services(folder, servers):
                pass  # the keys are made at the first start
            with _timed(times, "back up"):
                _dump(servers, backup)
            for name in KEYS:
                (backup / name).write_bytes((folder / name).read_bytes())
            with _services(folder, servers) as worker:
                _write(worker, count)
            with _timed(times, "database alone: put back"):
                _load(servers, backup)
            _restored(folder, servers, times, "database alone", count)
        other.mkdir(mode=0o700)
        for name in KEYS:
            (other / name).write_bytes((backup / name).read_bytes())
            (other / name).chmod(0o600)
        with kept_servers(other) as servers:
            with _timed(times, "everything new: put back"):
                _load(servers, backup)
            _restored(other, servers, times, "everything new", count)
        size = (backup / "truth.sql").stat().st_size / 1e6
    rows = [Row(step, "s", (seconds,)) for step, seconds in times.items()]
    notes = (f"{count:,} memories of 200 characters on {SAID}, the model left out; a backup of {size:,.0f} MB",)
    return Report(NAME, tuple(rows), notes)


@contextlib.contextmanager
def _timed(times: Times, step: str) -> Iterator[None]:
    begun = time.perf_counter()
    yield
    times[step] = time.perf_counter() - begun
    print(f"{step}: {times[step]:.1f} s", file=sys.stderr, flush=True)


def _settings(servers: Mapping[str, ServerProcess]) -> str:
    return json.dumps({**json.loads(settings_of(servers)), "server": {"rate_per_minute": 0}})


@contextlib.contextmanager
def _services(folder: Path, servers: Mapping[str, ServerProcess]) -> Iterator[Worker]:
    with running_worker("lifecycle", 0, str(folder), _settings(servers)) as worker:
        yield worker


def _dump(servers: Mapping[str, ServerProcess], backup: Path) -> None:
    options = ("--single-transaction", "--quick", "--hex-blob", "--default-character-set=utf8mb4")
    with (backup / "truth.sql").open("wb") as file:
        subprocess.run(["mariadb-dump", *_login(servers), *options, _database(servers)], stdout=file, check=True)


def _load(servers: Mapping[str, ServerProcess], backup: Path) -> None:
    name = _database(servers)
    anew = f"DROP DATABASE IF EXISTS `{name}`; CREATE DATABASE `{name}`"
    subprocess.run(["mariadb", *_login(servers), "-e", anew], check=True)
    with (backup / "truth.sql").open("rb") as file:
        subprocess.run(["mariadb", *_login(servers), "--default-character-set=utf8mb4", name], stdin=file, check=True)


def _login(servers: Mapping[str, ServerProcess]) -> list[str]:
    url = make_url(servers["mariadb"].url)
    return [f"--host={url.host}", f"--port={url.port}", f"--user={url.username}", f"--password={url.password}"]


def _database(servers: Mapping[str, ServerProcess]) -> str:
    return str(make_url(servers["mariadb"].url).database)


def _write(worker: Worker, first: int) -> None:
    bodies = [remember_body(number) for number in range(first, first + LATER)]
    url, key = f"{worker.ready['url']}/v1/brain/remember", str(worker.ready["key"])
    load = measure(url, key, 8, LATER, bodies)
    if load.failed:
        raise SystemExit(f"{load.failed} memories were not taken")
    with _client(worker) as client:
        last = client.post("/v1/brain/remember", content=remember_body(first + LATER)).raise_for_status().json()
        wait_until_indexed(client, [last["id"]])


def _restored(folder: Path, servers: Mapping[str, ServerProcess], times: Times, drill: str, count: int) -> None:
    """Start the services, declare the restore, and compare until nothing differs."""
    with contextlib.ExitStack() as stack:
        with _timed(times, f"{drill}: services started"):
            worker = stack.enter_context(_services(folder, servers))
        admin = stack.enter_context(_client(worker, (folder / "admin-key").read_text(encoding="utf-8").split()[0]))
        with _timed(times, f"{drill}: `db restored`"):
            _operation(admin, {"repair": True, "restored": True})
        with _timed(times, f"{drill}: until both indexes are equal"):
            while any(_unequal(index, count) for index in _operation(admin, {"full": True})["indexes"]):
                time.sleep(1)


def _unequal(index: Mapping[str, Any], count: int) -> bool:
    return bool(any(index["faults"].values()) or index["queued"] or index["note"] or index["entries"] < count)


def _client(worker: Worker, key: str = "") -> httpx.Client:
    headers = {"authorization": f"Bearer {key or worker.ready['key']}"}
    return httpx.Client(base_url=str(worker.ready["url"]), headers=headers, timeout=300)


def _operation(admin: httpx.Client, body: Mapping[str, bool]) -> Any:
    """The result of a verification."""
    told = admin.post("/v1/admin/verify", json=body).raise_for_status().json()
    while not told["finished_at"]:
        time.sleep(0.2)
        told = admin.get(f"/v1/admin/operations/{told['id']}").raise_for_status().json()
    if told["status"] != "done":
        raise SystemExit(f"the verification ended as {told['status']}: {told['error']}")
    return told["result"]
