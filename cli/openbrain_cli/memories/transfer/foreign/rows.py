"""Rows of a table, and places where none could be read."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class BrokenRow:
    """A row that can't be read, and the reason, which never quotes the row."""

    reason: str


Rows = Iterator[Row | BrokenRow]


def record(value: Any) -> Row | BrokenRow:
    """An element of a list as a row."""
    return value if isinstance(value, dict) else BrokenRow("is no record with named fields")


@dataclass(frozen=True, slots=True)
class Table:
    """One table of a store; `rows` can be called repeatedly."""

    name: str
    origin: str
    """Where the table comes from, without user and password."""
    rows: Callable[[], Rows]
