"""SQLite: one thread that writes, a few that read; a whole transaction is one hand-off to a thread. A few rows by their
keys are read without one.

Why not a hand-off for each statement, and why none for few rows: see docs/decisions/truth-sqlite-threads.md.
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
"""More gain nothing: Python runs one at a time, and SQLite leaves it only while it waits for the disk."""


class SqliteDatabase(Database):
    """One file. Other processes may use it too: they wait for each other's writes."""

    dialect = SQLITE

    def __init__(self, address: URL, *, pool: int, lock_wait_s: float) -> None:
        self._file, self._lock_wait_s = str(address.database), lock_wait_s
        self._writing = Threads(engine(address, lock_wait_s, "BEGIN IMMEDIATE"), 1, "truth-write")
        self._reading = Threads(engine(address, lock_wait_s, "BEGIN"), min(pool, _READERS), "truth-read")
        self._loop_connection = OwnConnection(engine(address, 0, "BEGIN"))

    async def read(self, fn: Callable[[Connection], T]) -> T:
        """Read like `Database.read`; all statements of one call see one state."""
        return await self._reading.run(fn)

    async def read_few(self, fn: Callable[[Connection], T]) -> T:
        """On the event loop's thread: the driver gives the interpreter away at every row, and a thread waits for it
        each time. Where the file is locked, the read waits in a thread."""
        if self._reading.closed:
            raise RuntimeError(CLOSED)
        try:
            return self._loop_connection.transaction(fn)
        except TryLater:
            return await self.read(fn)

    async def write(self, fn: Callable[[Connection], T]) -> T:
        """Write like `Database.write`; one call after the other."""
        return await self._writing.run(fn)

    def explain(self, error: DBAPIError) -> OpenBrainError | None:
        return translated(error)

    async def scrub(self) -> dict[str, object]:
        """Removed rows are overwritten as they go (`secure_delete`); the write-ahead log still holds them, until it
        is folded back into the file and cut off."""
        return {"product": "SQLite", "log": await asyncio.to_thread(cut_log, self._file, self._lock_wait_s)}

    async def close(self) -> None:
        # Readers first: the last connection to close folds the write-ahead log back into the file.
        self._loop_connection.drop()
        await self._reading.close()
        await self._writing.close()


def engine(address: URL, lock_wait_s: float, begin: str) -> Engine:
    """An engine without a pool, whose transactions start with `begin`."""
    made = create_engine(
        address.set(drivername="sqlite+pysqlite"),
        poolclass=NullPool,
        # A statement's parameters hold memories: they must not get into error messages.
        hide_parameters=True,
        connect_args={
            "timeout": lock_wait_s,
            # No transactions but those that we begin.
            "isolation_level": None,
            # Closed by another thread than the one that used it.
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
    """Set what a connection needs. Only the first change to WAL locks, and that lock waits for nobody by itself."""
    deadline = time.monotonic() + lock_wait_s
    while connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)
    connection.execute("PRAGMA synchronous = FULL")
    # What is removed is overwritten: an erased memory must not be read out of free pages.
    connection.execute("PRAGMA secure_delete = ON")
    # Of each connection: 16 MB of pages.
    connection.execute("PRAGMA cache_size = -16384")
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.create_function(CRC32, -1, crc32, deterministic=True)
    # SQLite's own knows the letters of ASCII alone.
    connection.create_function(LOWER, 1, lower, deterministic=True)


def lower(text: Any) -> Any:
    """In small letters, as Python and MariaDB have them; what is no text stays as it is."""
    return text.lower() if isinstance(text, str) else text


def crc32(*parts: object) -> int:
    """Of the parts as text with `|` between, as `CRC32(CONCAT_WS('|', ...))` of MariaDB."""
    return zlib.crc32("|".join(map(str, parts)).encode())


def cut_log(file: str, patience_s: float) -> str:
    """Fold the log back into the file and cut it to nothing. `TryLater` while a reader still looks into it."""
    with closing(sqlite3.connect(file, timeout=patience_s, isolation_level=None)) as connection:
        connection.execute("PRAGMA secure_delete = ON")
        try:
            busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except sqlite3.OperationalError:
            busy = 1
    if busy:
        raise TryLater("the write-ahead log is in use: it is cut off as soon as its readers are done")
    return "cut off"
