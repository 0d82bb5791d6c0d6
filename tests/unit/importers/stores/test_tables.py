"""Tables of other stores: every file format gives the same rows, and an error in a row is reported for that row."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openbrain.domain.errors import Invalid
from openbrain_cli.memories.transfer.export_file import check
from openbrain_cli.memories.transfer.foreign import sql_dump
from openbrain_cli.memories.transfer.foreign.chains import chains
from openbrain_cli.memories.transfer.foreign.conversion import Converted, convert
from openbrain_cli.memories.transfer.foreign.fields import memory_id, moment
from openbrain_cli.memories.transfer.foreign.locations import table_in
from openbrain_cli.memories.transfer.foreign.rows import BrokenRow
from openbrain_cli.memories.transfer.foreign.sql_values import tuples
from tests.support.cli import foreign_samples as samples

each_file = pytest.mark.parametrize("name", samples.FILES)


def converted(path: Path, **more: Any) -> tuple[Converted, list[dict[str, Any]]]:
    table = table_in(path)
    assert table is not None
    target = path.with_name("converted.ndjson")
    named = {"agent": "ada", "source_workspace": "1"} | more
    done = convert(table, target, progress=lambda _: None, **named)
    assert check(target).problem == ""
    return done, [json.loads(line) for line in target.read_bytes().splitlines()]


@each_file
def test_every_store_gives_the_same_memories(name: str, tmp_path: Path) -> None:
    make, broken = samples.FILES[name]
    done, lines = converted(make(tmp_path / name))
    memories = {each["id"]: each for each in lines if each["kind"] == "memory"}
    links = {(each["child_id"], each["parent_id"]) for each in lines if each["kind"] == "lineage"}

    assert memories.keys() == {
        *(samples.OLD, samples.NEW, samples.GONE, samples.ALONE, samples.LOOP_A, samples.LOOP_B, samples.ODD)
    }
    assert memories[samples.NEW]["content"] == samples.ROWS[1]["content"]
    assert memories[samples.GONE]["content"] == samples.ROWS[2]["content"]
    assert memories[samples.NEW]["tags"] == ["cache"]
    assert (memories[samples.OLD]["reason"], memories[samples.GONE]["reason"]) == ("superseded", "forgotten")
    assert memories[samples.GONE]["confidence"] == 0.8
    assert memories[samples.ALONE]["expires_at"] == "2099-01-01T00:00:00+00:00"
    assert (memories[samples.ALONE]["memory_scope"], memories[samples.NEW]["memory_scope"]) == ("shared", "project")
    assert memories[samples.ODD]["metadata"] == {"original_type": "musing"}
    assert links == {(samples.NEW, samples.OLD), (samples.LOOP_B, samples.LOOP_A)}
    assert len(done.refusals) == done.refused == 2 + broken
    assert done.rows == done.memories + done.refused
    assert {each["message"] for each in done.refusals} >= {"is of another workspace than --source-workspace"}
    assert sum("cycle" in each for each in done.notes) == sum("not in the table" in each for each in done.notes) == 1
    assert "secret plan" not in json.dumps([lines, done.refusals, done.notes])


def test_a_table_of_several_workspaces_needs_one_named(tmp_path: Path) -> None:
    path = samples.database(tmp_path / "brain.db")

    with pytest.raises(Invalid, match="--source-workspace: is needed: the table has 2 workspaces: 1, 2"):
        converted(path, source_workspace="")
    with pytest.raises(Invalid, match="has no row"):
        converted(path, source_workspace="3")


THOUGHT = {
    "id": "5d1f7c1e-9d3b-4b43-8a57-6f6d3f0f8a01",
    "content": "Deploy on Fridays? No.",
    "source": "openclaw:main",
    "metadata": {"sessionId": "s1", "turn": 3, "role": "user"},
    "embedding": [0.1, 0.2],
    "created_at": "2026-03-01 10:00:00.5+00",
}


def test_thoughts_belong_to_the_agent_that_is_named(tmp_path: Path) -> None:
    path = tmp_path / "thoughts.ndjson"
    path.write_text(json.dumps(THOUGHT) + "\n" + json.dumps(THOUGHT | {"id": "7", "metadata": {}}), encoding="utf-8")
    _, lines = converted(path, source_workspace="")
    turn, note = (each for each in lines if each["kind"] == "memory")

    assert (turn["type"], turn["memory_scope"], turn["agent_id"]) == ("context", "agent", "ada")
    assert (turn["session_id"], turn["turn"], turn["speaker"]) == ("s1", 3, "user")
    assert len(turn["identity"]) == 64
    assert (note["id"], note["allow_duplicate"]) == (memory_id("thoughts", 7), True)
    with pytest.raises(Invalid, match="--agent"):
        converted(path, source_workspace="", agent="")


def test_a_dump_without_its_columns_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a.sql"
    path.write_text("INSERT INTO `brain_memories` VALUES (1);\n", encoding="utf-8")

    (row,) = sql_dump.rows(path, "brain_memories")
    assert isinstance(row, BrokenRow)
    assert "CREATE TABLE" in row.reason


def test_files_of_other_kinds_hold_no_table(tmp_path: Path) -> None:
    (tmp_path / "notes.ndjson").write_text('{"id": 1, "text": "a"}\n', encoding="utf-8")
    (tmp_path / "broken.json").write_text("{", encoding="utf-8")
    (tmp_path / "other.sql").write_text("CREATE TABLE x (a int);\n", encoding="utf-8")

    assert [table_in(path) for path in (*tmp_path.iterdir(), tmp_path)] == [None] * 4


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), min_size=1), st.booleans())
def test_texts_are_read_as_they_were_written(values: list[str], mysql: bool) -> None:
    quoted = [value.replace("'", "''") for value in values]
    written = [each.replace("\\", "\\\\") for each in quoted] if mysql else quoted
    text = "(" + ",".join(f"'{each}'" for each in written) + ");"

    assert list(tuples(text, 0, mysql=mysql)) == [values]


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_the_shell_of_sqlite_is_understood(value: str) -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (a)")
    connection.execute("INSERT INTO t VALUES (?)", (value,))
    statement = next(line for line in connection.iterdump() if line.startswith("INSERT"))
    connection.close()

    assert list(tuples(statement, statement.index("VALUES") + 6, mysql=False)) == [[value]]


def test_line_ends_as_calls_are_understood() -> None:
    text = r"(replace(replace('a\r\nb','\r',char(13)),'\n',char(10)), unistr('a\u000ab\\c'), x'c3bc', -1.5e3, TRUE);"

    assert list(tuples(text, 0, mysql=False)) == [["a\r\nb", "a\nb\\c", "ü", -1500.0, True]]


IDS = st.sampled_from("abcdef")


@given(st.dictionaries(IDS, IDS), st.dictionaries(IDS, st.sampled_from(["1", "2", "3"])))
def test_links_never_go_round_and_name_what_is_there(links: dict[str, str], created: dict[str, str]) -> None:
    created = dict.fromkeys(links, "1") | created
    found = chains(links, created)

    assert found.parents.keys() | found.circular | found.missing == links.keys()
    assert set(found.parents.values()) <= created.keys()
    for child in found.parents:
        at, way = found.parents.get(child), {child}
        while at is not None:
            assert at not in way
            way.add(at)
            at = found.parents.get(at)


def test_times_of_every_store() -> None:
    assert moment("2026-03-01 10:00:00") == "2026-03-01T10:00:00+00:00"
    assert moment("2026-03-01 10:00:00.5+00") == "2026-03-01T10:00:00.500000+00:00"
    assert moment("2026-03-01T12:00:00+02:00") == "2026-03-01T12:00:00+02:00"
    assert moment(None) is None
