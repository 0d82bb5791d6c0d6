"""SQL dumps as programs and people write them: no row is lost unnoticed, and no text counts as a statement."""

from pathlib import Path

import pytest

from openbrain_cli.memories.transfer.foreign import sql_dump
from openbrain_cli.memories.transfer.foreign.rows import BrokenRow, Row

CREATE = "CREATE TABLE thoughts (id text, content text);\n"
COPY = "COPY public.thoughts (id, content) FROM stdin;\n"


def rows(dump: str, folder: Path) -> list[Row | BrokenRow]:
    path = folder / "dump.sql"
    path.write_text(dump, encoding="utf-8", newline="\n")
    assert sql_dump.tables(path) >= {"thoughts"}
    return list(sql_dump.rows(path, "thoughts"))


def test_code_in_a_text_of_sqlite_does_not_make_it_a_dump_of_mysql(tmp_path: Path) -> None:
    texts = ["run `make` first", r"the folder C:\it's" + "\\", "third", "fourth", "D:" + "\\", "last"]
    quoted = [text.replace("'", "''") for text in texts]
    dump = CREATE + "".join(f"INSERT INTO thoughts VALUES('{at}','{text}');\n" for at, text in enumerate(quoted))

    assert rows(dump, tmp_path) == [{"id": str(at), "content": text} for at, text in enumerate(texts)]


def test_a_line_of_another_table_is_no_statement(tmp_path: Path) -> None:
    planted = [
        "CREATE TABLE thoughts (content text, id text);\n",
        "INSERT INTO thoughts (id, content) VALUES ('9', 'planted');\n",
        COPY,
    ]
    dump = CREATE + "COPY public.notes (body) FROM stdin;\n" + "".join(planted) + "\\.\n" + COPY + "1\treal\n\\.\n"

    assert rows(dump, tmp_path) == [{"id": "1", "content": "real"}]


def test_a_second_statement_on_a_line_is_reported(tmp_path: Path) -> None:
    dump = f"{CREATE}INSERT INTO thoughts VALUES ('1', 'a'); INSERT INTO thoughts VALUES ('2', 'b');\n"
    first, rest = rows(dump, tmp_path)

    assert first == {"id": "1", "content": "a"}
    assert isinstance(rest, BrokenRow)


@pytest.mark.parametrize("after", ["", " ON CONFLICT DO NOTHING", "\nON DUPLICATE KEY UPDATE content = 'x'"])
def test_what_a_statement_does_with_known_rows_is_no_other_statement(after: str, tmp_path: Path) -> None:
    dump = f"INSERT INTO thoughts (id, content) OVERRIDING SYSTEM VALUE VALUES (1, 'a'){after};\n"

    assert rows(dump, tmp_path) == [{"id": 1, "content": "a"}]


@pytest.mark.parametrize("end", ["", "2\tha"])
def test_a_table_that_was_cut_off_is_reported(end: str, tmp_path: Path) -> None:
    first, cut = rows(f"{COPY}1\tfirst\n{end}", tmp_path)

    assert first == {"id": "1", "content": "first"}
    assert cut == BrokenRow("the dump ends within the table: it was cut off")


def test_line_ends_of_windows_are_no_part_of_a_cell(tmp_path: Path) -> None:
    assert rows(f"{COPY}1\t\\N\r\n\\.\r\n", tmp_path) == [{"id": "1", "content": None}]
