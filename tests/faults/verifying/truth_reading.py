"""The verifier's independent view of the database: plain SQL, no code of the product."""

import array
import sqlite3
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson
import pymysql

_COLUMNS = (
    *(
        "id",
        "content",
        "tags",
        "project",
        "revision",
        "reason",
        "deleted_at",
        "archived_at",
        "expires_at",
        "indexed_at",
    ),
    *("text_revision", "vector_revision", "text_error_revision", "vector_error_revision", "passages_high"),
    *("wants_vector", "text_error", "vector_error"),
)
WRITTEN = ("serving", "building", "kept")


@dataclass(frozen=True, slots=True)
class Row:
    """A memory's row."""

    id: str
    content: str
    tags: tuple[str, ...]
    project: str
    revision: int
    reason: str
    expires_at: int
    """Microseconds; 0: never."""
    indexed: bool
    text_revision: int
    vector_revision: int
    error: str
    passages_high: int
    wants_vector: bool

    @property
    def alive(self) -> bool:
        return not self.reason


@dataclass(frozen=True, slots=True)
class Passage:
    """One passage of a memory, as the model gets it."""

    number: int
    revision: int
    input_hash: str
    vector: Sequence[float] | None


@dataclass(frozen=True, slots=True)
class Generation:
    kind: str
    name: str
    model: str
    status: str


@dataclass(frozen=True, slots=True)
class Truth:
    """Everything that the verifier compares, read in one transaction."""

    rows: dict[str, Row]
    passages: dict[tuple[str, str], list[Passage]]
    """(model, memory) -> passages in order."""
    generations: list[Generation]
    outbox: int
    delivered: dict[str, bool]
    """Memory in the inbox of the agent subscribed to everything -> whether it was withdrawn."""
    unmatched: int


def read(url: str) -> Truth:
    """`url`: a database URL as the product takes it, or the path of an SQLite file."""
    if "://" not in url:
        with sqlite3.connect(f"file:{Path(url)}?mode=ro", uri=True, timeout=10) as connection:
            try:
                return _read(connection.cursor())
            finally:
                connection.rollback()
    parts = urlsplit(url)
    link = pymysql.connect(
        host=parts.hostname or "",
        port=parts.port or 3306,
        user=parts.username or "",
        password=parts.password or "",
        database=parts.path.strip("/"),
        charset="utf8mb4",
        connect_timeout=5,
        read_timeout=20,
    )
    try:
        return _read(link.cursor())
    finally:
        link.close()


def _read(cursor: Any) -> Truth:
    # One transaction: MariaDB's REPEATABLE READ and SQLite both give a consistent snapshot.
    if isinstance(cursor, sqlite3.Cursor):
        cursor.execute("BEGIN")
    else:
        cursor.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
    rows = {row.id: row for row in map(_row, _all(cursor, f"SELECT {', '.join(_COLUMNS)} FROM memories"))}
    passages: dict[tuple[str, str], list[Passage]] = {}
    joined = (
        "SELECT p.memory_id, p.model, p.passage, p.revision, p.input_hash, e.vector FROM memory_passages p"
        " LEFT JOIN embeddings e ON e.input_hash = p.input_hash AND e.model = p.model"
        " ORDER BY p.model, p.memory_id, p.passage"
    )
    for memory_id, model, number, revision, input_hash, vector in _all(cursor, joined):
        passage = Passage(number, revision, input_hash, None if vector is None else floats(vector))
        passages.setdefault((model, memory_id), []).append(passage)
    generations = [Generation(*row) for row in _all(cursor, "SELECT kind, name, model, status FROM index_generations")]
    ((outbox,),) = _all(cursor, "SELECT COUNT(*) FROM outbox")
    ((unmatched,),) = _all(cursor, "SELECT COUNT(*) FROM match_queue")
    told = "SELECT memory_id, withdrawn_at FROM messages WHERE subscription_id IS NOT NULL"
    delivered: dict[str, bool] = {}
    for memory_id, withdrawn_at in _all(cursor, told):
        if memory_id in delivered:
            raise ValueError(f"{memory_id} stands in one inbox twice")
        delivered[memory_id] = withdrawn_at is not None
    return Truth(rows, passages, generations, outbox, delivered, unmatched)


def _all(cursor: Any, statement: str) -> list[tuple[Any, ...]]:
    cursor.execute(statement)
    return list(cursor.fetchall())


def _row(values: Sequence[Any]) -> Row:
    given = dict(zip(_COLUMNS, values, strict=True))
    revision = given["revision"]
    ended = given["reason"] or ("deleted" if given["deleted_at"] else "archived" if given["archived_at"] else "")
    errors = [
        f"{half}: {given[f'{half}_error']}"
        for half in ("text", "vector")
        if given[f"{half}_error"] and given[f"{half}_error_revision"] == revision
    ]
    return Row(
        id=given["id"],
        content=given["content"],
        tags=tuple(orjson.loads(given["tags"])),
        project=given["project"],
        revision=revision,
        reason=ended,
        expires_at=given["expires_at"] or 0,
        indexed=given["indexed_at"] is not None,
        text_revision=given["text_revision"],
        vector_revision=given["vector_revision"],
        error="; ".join(errors),
        passages_high=given["passages_high"],
        wants_vector=bool(given["wants_vector"]),
    )


def floats(raw: bytes) -> Sequence[float]:
    """Decode little-endian 32-bit floats."""
    numbers = array.array("f", raw)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers
