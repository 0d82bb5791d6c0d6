"""SQLite: one thread for writes, a few for reads; a whole transaction is one hand-off to a thread. A few rows are read
by key on the event loop's thread.

Why not one hand-off per statement, and why none for few rows: see docs/decisions/truth-sqlite-threads.md.
"""

import asyncio
import sqlite3
import time
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import URL, Connection, Engine, NullPool, create_engine, event
from sqlalchemy.exc import DBAPIError

from openbrain.adapters.sql.engine.database import CLOSED, SQLITE, Database
from openbrain.adapters.sql.engine.sqlite.errors import translated
from openbrain.adapters.sql.engine.sqlite.threads import OwnConnection, Threads
from openbrain.adapters.sql.engine.statements import CRC32, LOWER
from openbrain.domain.errors import OpenBrainError, TryLater

T = TypeVar("T")

_READERS = 4
"""More threads don't help: the GIL lets one run at a time, and SQLite releases it only while it waits for the disk."""


class SqliteDatabase(Database):
    """One file. Other processes may use it too; writers wait for each other."""

    dialect = SQLITE

    def __init__(self, address: URL, *, pool: int, lock_wait_s: float) -> None:
        self._file, self._lock_wait_s = str(address.database), lock_wait_s
        self._writing = Threads(engine(address, lock_wait_s, "BEGIN IMMEDIATE"), 1, "truth-write")
        self._reading = Threads(engine(address, lock_wait_s, "BEGIN"), min(pool, _READERS), "truth-read")
        self._loop_connection = OwnConnection(engine(address, 0, "BEGIN"))

    async def read(self, fn: Callable[[Connection], T]) -> T:
        """Read like `Database.read`; all statements of one call see the same snapshot."""
        return await self._reading.run(fn)

    async def read_few(self, fn: Callable[[Connection], T]) -> T:
        """Read on the event loop's thread: the driver releases the GIL at every row, and a thread would wait for it
        each time. If the file is locked, read in a thread instead."""
        if self._reading.closed:
            raise RuntimeError(CLOSED)
        try:
            return self._loop_connection.read(fn)
        except TryLater:
            return await self.read(fn)

    async def write(self, fn: Callable[[Connection], T]) -> T:
        """Write like `Database.write`; calls run one after another."""
        return await self._writing.run(fn)

    def explain(self, error: DBAPIError) -> OpenBrainError | None:
        return translated(error)

    async def scrub(self) -> dict[str, object]:
        """Truncate the write-ahead log, which still contains removed rows. In the file they are overwritten on removal
        (`secure_delete`)."""
        return {"product": "SQLite", "log": await asyncio.to_thread(cut_log, self._file, self._lock_wait_s)}

    async def close(self) -> None:
        # Readers first: the last connection to close merges the write-ahead log into the file.
        self._loop_connection.drop()
        await self._reading.close()
        await self._writing.close()


def engine(address: URL, lock_wait_s: float, begin: str) -> Engine:
    """Return an engine without a pool, whose transactions start with `begin`."""
    made = create_engine(
        address.set(drivername="sqlite+pysqlite"),
        poolclass=NullPool,
        # The parameters of a statement contain memories: keep them out of error messages.
        hide_parameters=True,
        connect_args={
            "timeout": lock_wait_s,
            # Only transactions that we begin ourselves.
            "isolation_level": None,
            # Closed by a different thread than the one that used it.
            "check_same_thread": False,
            "cached_statements": 256,
        },
    )

    @event.listens_for(made, "connect")
    def _prepare(connection: sqlite3.Connection, _record: Any) -> None:
        _write_ahead(connection, lock_wait_s)

    @event.listens_for(made, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    @event.listens_for(made, "do_connect")
    def _folder(_dialect: Any, _record: Any, arguments: Any, _named: Any) -> None:
        Path(arguments[0]).parent.mkdir(parents=True, exist_ok=True)

    return made


def _write_ahead(connection: sqlite3.Connection, lock_wait_s: float) -> None:
    """Configure a connection. Only the first switch to WAL takes a lock, and SQLite does not wait for that lock."""
    deadline = time.monotonic() + lock_wait_s
    while connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)
    connection.execute("PRAGMA synchronous = FULL")
    # Overwrite removed rows: an erased memory must not be readable in free pages.
    connection.execute("PRAGMA secure_delete = ON")
    # Per connection: 16 MB of pages.
    connection.execute("PRAGMA cache_size = -16384")
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.create_function(CRC32, -1, crc32, deterministic=True)
    # SQLite's lower() knows ASCII letters only.
    connection.create_function(LOWER, 1, lower, deterministic=True)


def lower(text: Any) -> Any:
    """Convert to lower case like Python and MariaDB; other values are returned unchanged."""
    return text.lower() if isinstance(text, str) else text


def crc32(*parts: object) -> int:
    """Return the checksum of the parts joined by `|`, like MariaDB's `CRC32(CONCAT_WS('|', ...))`."""
    return zlib.crc32("|".join(map(str, parts)).encode())


def cut_log(file: str, patience_s: float) -> str:
    """Merge the log into the file and truncate it. `TryLater` while a reader still uses it."""
    with closing(sqlite3.connect(file, timeout=patience_s, isolation_level=None)) as connection:
        connection.execute("PRAGMA secure_delete = ON")
        try:
            busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except sqlite3.OperationalError:
            busy = 1
    if busy:
        raise TryLater("the write-ahead log is in use: it is cut off as soon as its readers are done")
    return "cut off"
