"""Odd values in tables of other stores: each is reported for its row, and the other rows are imported."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from openbrain.domain.errors import Invalid, SetupError
from openbrain_cli.memories.transfer.export_file import check
from openbrain_cli.memories.transfer.foreign.conversion import Converted, convert
from openbrain_cli.memories.transfer.foreign.locations import table_at, table_in

ROW = {
    "id": "1",
    "workspace_id": "1",
    "agent_id": "ada",
    "type": "fact",
    "content": "x",
    "created_at": "2026-03-01",
}


def converted(path: Path) -> tuple[Converted, list[dict[str, Any]]]:
    table = table_in(path)
    assert table is not None
    target = path.with_name("converted.ndjson")
    done = convert(table, target, agent="ada", progress=lambda _: None)
    assert check(target).problem == ""
    lines = [json.loads(line) for line in target.read_bytes().splitlines()]
    return done, [line for line in lines if line["kind"] == "memory"]


@pytest.mark.parametrize("cell", ["NULL", "\\N", "", "0000-00-00 00:00:00"])
def test_what_was_never_deleted_is_not_forgotten(cell: str, tmp_path: Path) -> None:
    path = tmp_path / "brain_memories.csv"
    head = [*ROW, "deleted_at", "project", "session_id"]
    path.write_text(f"{','.join(head)}\n{','.join(ROW.values())},{cell},NULL,NULL\n", encoding="utf-8")
    done, (memory,) = converted(path)

    assert done.refused == 0
    assert memory.keys().isdisjoint({"reason", "deleted_at", "project", "session_id"})


def test_what_was_deleted_at_an_unreadable_time_stays_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "brain_memories.ndjson"
    path.write_text(json.dumps(ROW | {"deleted_at": "yesterday"}), encoding="utf-8")

    assert converted(path)[1][0]["reason"] == "forgotten"


@pytest.mark.parametrize(
    "odd",
    [
        {"project": "half \ud83d"},
        {"tags": ["half \ud83d"]},
        {"project": 10**30},
        {"created_at": "0001-01-01T00:00:00+14:00"},
        {"created_at": "9999-12-31T23:59:59-14:00"},
        {"created_at": "9999-06-01"},
    ],
)
def test_a_row_that_no_line_can_hold_is_refused_alone(odd: dict[str, object], tmp_path: Path) -> None:
    path = tmp_path / "brain_memories.ndjson"
    rows = [ROW, ROW | odd | {"id": "2 \ud83d"}]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    done, memories = converted(path)

    assert ([each["row"] for each in done.refusals], len(memories)) == ([2], 1)


def database(path: Path) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"CREATE TABLE brain_memories ({', '.join(f'{name} text' for name in ROW)})")
        rows = [[str(at), *[*ROW.values()][1:]] for at in range(300)]
        connection.executemany("INSERT INTO brain_memories VALUES (?,?,?,?,?,?)", rows)
        connection.execute("UPDATE brain_memories SET content = CAST(x'61ff' AS text) WHERE id = '0'")
        connection.commit()
    return path


def test_a_text_of_sqlite_that_is_not_unicode_stops_nothing(tmp_path: Path) -> None:
    done, memories = converted(database(tmp_path / "brain.db"))

    assert (done.refused, len(memories), memories[0]["content"]) == (0, 300, "a\N{REPLACEMENT CHARACTER}")


def test_a_damaged_database_is_named(tmp_path: Path) -> None:
    path = database(tmp_path / "brain.db")
    raw = path.read_bytes()
    path.write_bytes(raw[:4096] + bytes(len(raw) - 4096))

    with pytest.raises(SetupError, match=r"brain\.db can't be read: .*malformed"):
        converted(path)
    path.write_bytes(raw[:3000])
    with pytest.raises(SetupError, match=r"brain\.db can't be read: .*malformed"):
        table_in(path)


def test_a_database_without_the_table_is_named(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "other.db")) as connection:
        connection.execute("CREATE TABLE x (a)")
        connection.commit()

    with pytest.raises(SetupError, match="no such table: brain_memories"):
        next(table_at(f"sqlite:///{tmp_path}/other.db").rows())


@pytest.mark.parametrize("url", ["mysql://u:p@127.0.0.1:99999/x", "mysql://u:p@127.0.0.1:abc/x", "mysql://[::1/x"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(Invalid, match="--database: is no URL"):
        table_at(url)
