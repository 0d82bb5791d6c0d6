"""Rows of one table in an SQL dump, read as a stream. No statement is ever executed."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from openbrain.domain.errors import Invalid
from openbrain_cli.memories.transfer.foreign.rows import BrokenRow, Row, Rows
from openbrain_cli.memories.transfer.foreign.sql_values import NoValue, tuples

STATEMENT_CHARS = 256 * 1024 * 1024
"""A longer statement is refused."""
_NAME = r"(?:[`\"\[]?\w+[`\"\]]?\.)?[`\"\[]?(?P<table>\w+)[`\"\]]?"
_INSERT = re.compile(
    rf"\s*(?:INSERT|REPLACE)\s+(?:IGNORE\s+)?INTO\s+{_NAME}\s*(?:\((?P<columns>[^)]*)\))?\s*"
    r"(?:OVERRIDING\s+(?:SYSTEM|USER)\s+VALUE\s+)?VALUES\s*",
    re.IGNORECASE,
)
_CREATE = re.compile(rf"\s*CREATE\s+TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?{_NAME}\s*\(", re.IGNORECASE)
_COPY = re.compile(rf"\s*COPY\s+{_NAME}\s*\((?P<columns>[^)]*)\)\s+FROM\s+stdin", re.IGNORECASE)
_COLUMN = re.compile(r"[`\"\[]?(\w+)")
_NO_COLUMNS = {"PRIMARY", "KEY", "UNIQUE", "CONSTRAINT", "INDEX", "FOREIGN", "CHECK", "FULLTEXT", "SPATIAL"}
_COMMENT = ("--", "/*", "#")
_COPY_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_COPY_ESCAPE = re.compile(r"\\(.)")


def tables(path: Path) -> set[str]:
    """Names of the tables that the dump creates or fills."""
    statements = _statements(path)
    names = set()
    for text in statements:
        if (match := _named(text)) is not None:
            names.add(match["table"])
            _skip_copied(text, statements)
    return names


def rows(path: Path, table: str) -> Rows:
    """Yield the table's rows in the order of the file."""
    columns: list[str] = []
    statements = _statements(path)
    for text in statements:
        match = _named(text)
        if match is None:
            continue
        if match["table"] != table:
            _skip_copied(text, statements)
        elif _CREATE.match(text):
            columns = _created(text, match.end())
        elif _COPY.match(text):
            yield from _copied(statements, _columns(match["columns"]))
        else:
            names = _columns(match["columns"]) if match["columns"] else columns
            yield from _inserted(text, match.end(), names)


def _named(text: str) -> re.Match[str] | None:
    head = text[:4096]
    return _INSERT.match(head) or _CREATE.match(head) or _COPY.match(head)


def _statements(path: Path) -> Iterator[str]:
    """Yield the statements; after a COPY, yield its lines of data one by one."""
    mysql = False
    with path.open(encoding="utf-8", errors="replace", newline="\n") as file:
        lines: list[str] = []
        size, open_text = 0, False
        for line in _lines(file):
            if not lines and (not line.strip() or line.startswith(_COMMENT)):
                continue
            if not lines:
                mysql = _is_mysql(line.partition("'")[0])
            lines.append(line)
            size += len(line)
            if size > STATEMENT_CHARS:
                raise Invalid("PATHS", f"{path.name} holds a statement of more than {STATEMENT_CHARS} characters")
            open_text ^= _opens(line, mysql=mysql)
            if not open_text and line.rstrip().endswith(";"):
                text = "".join(lines)
                lines, size = [], 0
                yield text
                if _COPY.match(text):
                    yield from _block(file)
        if lines:
            yield "".join(lines)


def _lines(file: IO[str]) -> Iterator[str]:
    return iter(lambda: file.readline(STATEMENT_CHARS), "")


def _block(file: IO[str]) -> Iterator[str]:
    for line in _lines(file):
        yield line
        if line.startswith("\\."):
            return


def _is_mysql(head: str) -> bool:
    """True if names are quoted as in MySQL, whose texts have backslash escapes. `head` has no text of a row."""
    return "`" in head


def _opens(line: str, *, mysql: bool) -> bool:
    """True if the line opens or closes a string, so that it differs at its end from its beginning."""
    plain = re.sub(r"\\.", "", line) if mysql else line
    return plain.count("'") % 2 == 1


def _columns(listed: str) -> list[str]:
    return [name.strip().strip('`"[]') for name in listed.split(",")]


def _created(text: str, at: int) -> list[str]:
    """The names of a CREATE TABLE's columns."""
    parts, depth, begin = [], 0, at
    for mark in re.finditer(r"'(?:[^']|'')*'|[(),]", text[at:]):
        if mark[0] == "(":
            depth += 1
        elif mark[0] == ")":
            depth -= 1
        if depth < 0 or (mark[0] == "," and not depth):
            parts.append(text[begin : at + mark.start()])
            begin = at + mark.end()
        if depth < 0:
            break
    names = (match[1] for part in parts if (match := _COLUMN.match(part.strip())))
    return [name for name in names if name.upper() not in _NO_COLUMNS]


def _inserted(text: str, at: int, columns: list[str]) -> Iterator[Row | BrokenRow]:
    mysql = _is_mysql(text[:at])
    if not columns:
        yield BrokenRow("the dump does not name the columns of this table: include its CREATE TABLE")
        return
    try:
        for values in tuples(text, at, mysql=mysql):
            if len(values) == len(columns):
                yield dict(zip(columns, values, strict=True))
            else:
                yield BrokenRow(f"has {len(values)} values for {len(columns)} columns")
    except NoValue:
        yield BrokenRow("can't be read, nor can the rest of its statement")


def _skip_copied(text: str, statements: Iterator[str]) -> None:
    """After a COPY, skip its lines: they are data, even if one looks like a statement."""
    if _COPY.match(text):
        for _ in _copied(statements, []):
            pass


def _copied(lines: Iterator[str], columns: list[str]) -> Iterator[Row | BrokenRow]:
    for line in lines:
        if line.startswith("\\."):
            return
        if not line.endswith("\n"):
            break
        cells = line.rstrip("\r\n").split("\t")
        if len(cells) != len(columns):
            yield BrokenRow(f"has {len(cells)} values for {len(columns)} columns")
            continue
        yield {name: None if cell == "\\N" else _plain(cell) for name, cell in zip(columns, cells, strict=True)}
    yield BrokenRow("the dump ends within the table: it was cut off")


def _plain(cell: str) -> str:
    return _COPY_ESCAPE.sub(lambda match: _COPY_ESCAPES.get(match[1], match[1]), cell)
