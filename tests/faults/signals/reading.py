"""The verifier's own look at signals in the truth: plain SQL, no code of the product."""

import contextlib
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson


@dataclass(frozen=True, slots=True)
class Row:
    """A signal as the truth has it."""

    id: str
    key: str
    state: str
    severity: int
    """That is broadcast, by rank."""
    count: int


@dataclass(frozen=True, slots=True)
class Truth:
    """Of one workspace."""

    signals: tuple[Row, ...]
    broadcasts: dict[int, dict[str, Any]]
    """Number -> data of the event."""
    waiting: int
    """Events in the outbox."""

    @property
    def top(self) -> int:
        return max(self.broadcasts, default=0)


def read(file: Path) -> Truth:
    """From a SQLite file that others write."""
    with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=20)) as link:
        link.execute("BEGIN")
        signals = link.execute("SELECT id, dedup_key, state, broadcast_severity, count FROM signals").fetchall()
        broadcasts = link.execute("SELECT seq, body FROM broadcasts").fetchall()
        (waiting,) = link.execute("SELECT count(*) FROM outbox").fetchone()
    told = {seq: orjson.loads(body)["data"] for seq, body in broadcasts}
    return Truth(tuple(Row(*each) for each in signals), told, waiting)
