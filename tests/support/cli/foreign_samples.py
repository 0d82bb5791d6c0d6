"""A table `brain_memories` in each file format that a store exports: the same rows, with errors typical of such
tables."""

import json
import sqlite3
from pathlib import Path
from typing import Any

COLUMNS = (
    *("id", "workspace_id", "org", "agent_id", "type", "content", "tags", "project", "confidence", "source"),
    *("supersedes_id", "expires_at", "created_at", "updated_at", "deleted_at"),
)
OLD, NEW, GONE, ALONE, LOOP_A, LOOP_B, FOREIGN, EMPTY, ODD = (
    f"00000000-0000-4000-8000-00000000000{n}" for n in range(9)
)


def row(own: str, content: str, **more: Any) -> dict[str, Any]:
    given = {
        "id": own,
        "workspace_id": 1,
        "org": "core",
        "agent_id": "virgil",
        "type": "decision",
        "content": content,
        "tags": json.dumps(["cache"]),
        "project": "shop",
        "confidence": 0.7,
        "source": "manual",
        "created_at": "2026-03-01 10:00:00",
        "updated_at": "2026-03-02 10:00:00",
    }
    return {name: (given | more).get(name) for name in COLUMNS}


ROWS = (
    row(OLD, "The cache key holds the tenant.", deleted_at="2026-03-04 10:00:00"),
    row(
        NEW,
        'The cache key holds tenant and region;\nit\'s "short".',
        supersedes_id=OLD,
        created_at="2026-03-04 10:00:00",
    ),
    row(GONE, "Restart the worker \\ daily.", deleted_at="2026-03-05 10:00:00", confidence=None),
    row(ALONE, "Staging ends soon.", expires_at="2099-01-01 00:00:00", project=None, type="observation"),
    row(LOOP_A, "A says B.", supersedes_id=LOOP_B, created_at="2026-03-06 10:00:00"),
    row(LOOP_B, "B says A.", supersedes_id=LOOP_A, created_at="2026-03-07 10:00:00"),
    row(FOREIGN, "Another tenant's secret plan.", workspace_id=2),
    row(EMPTY, "   "),
    row(ODD, "An odd type.", type="musing", supersedes_id="00000000-0000-4000-8000-000000000099"),
)
"""Workspace 1 has four valid rows, two in a circle, an empty one and one with an unknown type; one is of another
workspace."""


def mysql(path: Path) -> Path:
    """Write it as mysqldump does: without column names, several rows per statement; one statement is broken."""
    columns = ",\n".join(f"  `{name}` text COMMENT 'it''s, (a) column'" for name in COLUMNS)
    create = f"CREATE TABLE `brain_memories` (\n{columns},\n  PRIMARY KEY (`id`)\n) ENGINE=InnoDB;\n"
    other = "INSERT INTO `users` VALUES (1,'INSERT INTO `brain_memories` VALUES (1)');\n"
    rows = ",".join(f"({','.join(map(_mysql, each.values()))})" for each in ROWS)
    text = f"-- Host: it's localhost\n{create}{other}INSERT INTO `brain_memories` VALUES {rows};\n"
    path.write_text(f"{text}INSERT INTO `brain_memories` VALUES ('x', now());\n", encoding="utf-8")
    return path


def _mysql(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, int | float):
        return str(value)
    escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace('"', '\\"')
    return f"'{escaped}'"


def postgres(path: Path) -> Path:
    """Write it as pg_dump does; one line has too few cells."""
    lines = ["\t".join(_copied(value) for value in each.values()) for each in ROWS]
    text = "\n".join([f"COPY public.brain_memories ({', '.join(COLUMNS)}) FROM stdin;", *lines, "only\tthis", "\\."])
    path.write_text(f"SET x = 'y';\n{text}\n\nSELECT 1;\n", encoding="utf-8")
    return path


def _copied(value: Any) -> str:
    return "\\N" if value is None else str(value).replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t")


def database(path: Path) -> Path:
    """Write an SQLite file as Laravel makes one."""
    with sqlite3.connect(path) as connection:
        connection.execute(f"CREATE TABLE brain_memories ({', '.join(COLUMNS)})")
        marks = ",".join("?" * len(COLUMNS))
        connection.executemany(f"INSERT INTO brain_memories VALUES ({marks})", [tuple(each.values()) for each in ROWS])
    connection.close()
    return path


def sqlite_dump(path: Path) -> Path:
    """Write the dump of the SQLite shell."""
    source = database(path.with_suffix(".made"))
    connection = sqlite3.connect(source)
    path.write_text("\n".join(connection.iterdump()), encoding="utf-8")
    connection.close()
    return path


def ndjson(path: Path) -> Path:
    """Write one row per line; one line is broken."""
    lines = [json.dumps(each) for each in ROWS]
    path.write_text("\n".join([*lines[:2], '{"id": "cut', *lines[2:]]), encoding="utf-8")
    return path


FILES = {
    "mysql.sql": (mysql, 1),
    "postgres.sql": (postgres, 1),
    "lite.sql": (sqlite_dump, 0),
    "brain.db": (database, 0),
    "rows.ndjson": (ndjson, 1),
}
"""File name -> the function that makes it, and the number of unreadable places in it."""
