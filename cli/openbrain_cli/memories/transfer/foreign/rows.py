"""Rows of a table, and places where none could be read."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class BrokenRow:
    """A place that holds no row that can be read, and why; never says what stands there."""

    reason: str


Rows = Iterator[Row | BrokenRow]


def record(value: Any) -> Row | BrokenRow:
    """An element of a list as a row."""
    return value if isinstance(value, dict) else BrokenRow("is no record with named fields")


@dataclass(frozen=True, slots=True)
class Table:
    """One table of a store; `rows` may be read again and again."""

    name: str
    origin: str
    """The store that it comes from; without a user or a password."""
    rows: Callable[[], Rows]
