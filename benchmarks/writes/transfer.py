"""GET export and POST import, one worker, compared with raw drivers that read or write the same rows of the same
database.

Bare read: every column of the memories and their history, in order, page by page. Bare write: the same rows with their
history and an event for each, in transactions as large as those of an import.
"""

import argparse
import asyncio
import sqlite3
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiomysql
import httpx
from sqlalchemy.engine import make_url

from benchmarks.baselines import bare_writes
from benchmarks.support.report import Report, Row
from benchmarks.support.texts import texts
from benchmarks.writes.remember import Side, side

NAME = "transfer"
GROUP = 100
PAGE = 250
NDJSON = {"content-type": "application/x-ndjson"}
TABLES = ("memories", "memory_history", "memory_lineage", "outbox", "operations")
MEMORIES = f"SELECT * FROM memories WHERE created_at > {{mark}} ORDER BY created_at LIMIT {PAGE}"
HISTORY = "SELECT * FROM memory_history WHERE memory_id IN ({marks}) ORDER BY memory_id"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Sizes, repeats and databases."""
    parser.add_argument("--transfer-rows", type=int, default=20_000)
    parser.add_argument("--transfer-repeats", type=int, default=3)
    parser.add_argument("--transfer-databases", default="SQLite,MariaDB")


def run(options: argparse.Namespace) -> Report:
    """Measure all four alternately."""
    rows: list[Row] = []
    for name in options.transfer_databases.split(","):
        with side(name) as found:
            rows += _compare(found, options.transfer_rows, options.transfer_repeats)
    return Report(NAME, tuple(rows), (f"{options.transfer_rows} memories of about 200 characters",))


def _compare(found: Side, count: int, repeats: int) -> list[Row]:
    bare = _Bare(found.database, _values(count))
    figures: dict[str, list[float]] = {name: [] for name in ("write", "read", "export", "import")}
    with tempfile.TemporaryDirectory(prefix="openbrain-bench-") as folder:
        file = Path(folder) / "all.ndjson"
        for _ in range(repeats):
            bare.empty()
            figures["write"].append(_rate(count, bare.write))
            figures["read"].append(_rate(count, bare.read))
            figures["export"].append(_rate(count, lambda: _export(found, file)))
            bare.empty()
            figures["import"].append(_rate(count, lambda: _import(found, file, count)))
    bare.empty()

    def ratio(ours: str, theirs: str) -> tuple[float, ...]:
        return tuple(a / b for a, b in zip(figures[ours], figures[theirs], strict=True))

    return [
        Row(f"{found.name}: bare read", "1/s", tuple(figures["read"])),
        Row(f"{found.name}: export", "1/s", tuple(figures["export"]), "bare read", ratio("export", "read")),
        Row(f"{found.name}: bare write", "1/s", tuple(figures["write"])),
        Row(f"{found.name}: import", "1/s", tuple(figures["import"]), "bare write", ratio("import", "write")),
    ]


def _rate(count: int, work: Callable[[], None]) -> float:
    begun = time.perf_counter()
    work()
    return count / (time.perf_counter() - begun)


def _values(count: int) -> Sequence[Any]:
    pool = texts(500)
    values = []
    for number in range(count):
        row, history, event = bare_writes.values(f"{number} {pool[number % len(pool)]}")
        values.append((row, (*history[:-1], '{"content": "as it was"}'), event))
    return values


def _export(found: Side, file: Path) -> None:
    headers = {"authorization": f"Bearer {found.key}", "accept-encoding": "identity"}
    with (
        file.open("wb") as out,
        httpx.stream("GET", f"{found.url}/v1/brain/export", headers=headers, timeout=600) as response,
    ):
        response.raise_for_status()
        for part in response.iter_bytes():
            out.write(part)


def _import(found: Side, file: Path, count: int) -> None:
    headers = {"authorization": f"Bearer {found.key}", **NDJSON}
    with file.open("rb") as lines:
        response = httpx.post(f"{found.url}/v1/brain/import", content=lines, headers=headers, timeout=600)
    totals = response.raise_for_status().json()
    if (totals["created"], totals["exact"], totals["complete"]) != (count, True, True):
        raise SystemExit(f"the import did not take everything: {totals}")


@dataclass(frozen=True, slots=True)
class _Bare:
    """Read or write with the driver alone."""

    url: str
    values: Sequence[Any]

    def empty(self) -> None:
        self._statements([f"DELETE FROM {table}" for table in TABLES])

    def write(self) -> None:
        """Write all rows, `GROUP` per transaction."""
        if self._is_sqlite:
            self._write_sqlite()
        else:
            asyncio.run(self._write_mariadb())

    def read(self) -> None:
        """Read all rows and their history."""
        if self._is_sqlite:
            self._read_sqlite()
        else:
            asyncio.run(self._read_mariadb())

    @property
    def _is_sqlite(self) -> bool:
        return self.url.startswith("sqlite")

    def _groups(self) -> Sequence[Sequence[Any]]:
        return [self.values[start : start + GROUP] for start in range(0, len(self.values), GROUP)]

    def _sqlite(self) -> sqlite3.Connection:
        connection = sqlite3.connect(str(make_url(self.url).database), isolation_level=None, timeout=60)
        connection.execute("PRAGMA synchronous=FULL")
        return connection

    def _write_sqlite(self) -> None:
        connection = self._sqlite()
        statements = bare_writes.statements("?")
        for group in self._groups():
            connection.execute("BEGIN IMMEDIATE")
            for statement, rows in zip(statements, zip(*group, strict=True), strict=True):
                connection.executemany(statement, rows)
            connection.execute("COMMIT")
        connection.close()

    def _read_sqlite(self) -> None:
        connection = self._sqlite()
        place = [column[1] for column in connection.execute("PRAGMA table_info(memories)")].index("created_at")
        after = -1
        while rows := connection.execute(MEMORIES.format(mark="?"), (after,)).fetchall():
            marks = ", ".join("?" * len(rows))
            connection.execute(HISTORY.format(marks=marks), [row[0] for row in rows]).fetchall()
            after = rows[-1][place]
        connection.close()

    async def _mariadb(self) -> Any:
        address = make_url(self.url)
        login = {"host": address.host, "port": address.port, "user": address.username, "password": address.password}
        return await aiomysql.connect(db=address.database, charset="utf8mb4", **login)

    async def _write_mariadb(self) -> None:
        connection = await self._mariadb()
        statements = bare_writes.statements("%s")
        async with connection.cursor() as cursor:
            for group in self._groups():
                for statement, rows in zip(statements, zip(*group, strict=True), strict=True):
                    await cursor.executemany(statement, rows)
                await connection.commit()
        await connection.ensure_closed()

    async def _read_mariadb(self) -> None:
        connection = await self._mariadb()
        async with connection.cursor(aiomysql.DictCursor) as cursor:
            after = -1
            while True:
                await cursor.execute(MEMORIES.format(mark="%s"), (after,))
                rows = await cursor.fetchall()
                if not rows:
                    break
                marks = ", ".join(["%s"] * len(rows))
                await cursor.execute(HISTORY.format(marks=marks), [row["id"] for row in rows])
                await cursor.fetchall()
                after = rows[-1]["created_at"]
        await connection.ensure_closed()

    def _statements(self, statements: Sequence[str]) -> None:
        if self._is_sqlite:
            connection = self._sqlite()
            for statement in statements:
                connection.execute(statement)
            connection.close()
        else:
            asyncio.run(self._run_mariadb(statements))

    async def _run_mariadb(self, statements: Sequence[str]) -> None:
        connection = await self._mariadb()
        async with connection.cursor() as cursor:
            for statement in statements:
                await cursor.execute(statement)
        await connection.commit()
        await connection.ensure_closed()
