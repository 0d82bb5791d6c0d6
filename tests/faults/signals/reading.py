"""The verifier's independent view of signals in the database: plain SQL, no code of the product."""

import contextlib
import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pymysql

_SIGNALS = "SELECT id, dedup_key, state, broadcast_severity, count FROM signals"
_BROADCASTS = "SELECT seq, body FROM broadcasts"
_OUTBOX = "SELECT count(*) FROM outbox"


@dataclass(frozen=True, slots=True)
class Row:
    """A signal in the database."""

    id: str
    key: str
    state: str
    severity: int
    """Rank of the severity that was last broadcast."""
    count: int


@dataclass(frozen=True, slots=True)
class Truth:
    """The state of one workspace."""

    signals: tuple[Row, ...]
    broadcasts: dict[int, dict[str, Any]]
    """Broadcast number -> data of the event."""
    waiting: int
    """Events in the outbox."""

    @property
    def top(self) -> int:
        return max(self.broadcasts, default=0)


def read(file: Path) -> Truth:
    """Read an SQLite file that other processes write."""
    with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=20)) as link:
        link.execute("BEGIN")
        return _truth(lambda query: link.execute(query).fetchall())


def read_served(connect: Callable[[], "pymysql.Connection[Any]"]) -> Truth:
    """Read a MariaDB database."""
    with contextlib.closing(connect()) as link, link.cursor() as cursor:
        cursor.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")

        def rows(query: str) -> Iterable[Any]:
            cursor.execute(query)
            return list(cursor.fetchall())

        return _truth(rows)


def leading(connect: Callable[[], "pymysql.Connection[Any]"], lease: str) -> int:
    """Return the pid of the process that holds the lease; 0 if none does."""
    with contextlib.closing(connect()) as link, link.cursor() as cursor:
        cursor.execute("SELECT holder FROM leases WHERE name = %s", (lease,))
        row = cursor.fetchone()
    return int(row[0].rsplit("-", 2)[1]) if row else 0


def _truth(rows: Callable[[str], Iterable[Any]]) -> Truth:
    signals = tuple(Row(*each) for each in rows(_SIGNALS))
    told = {seq: orjson.loads(body)["data"] for seq, body in rows(_BROADCASTS)}
    ((waiting,),) = rows(_OUTBOX)
    return Truth(signals, told, waiting)
