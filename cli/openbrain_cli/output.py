"""Output for people and scripts. Remembered text is data: it can't move the cursor or reverse a line."""

import json
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from openbrain.domain.text.displayed import escaped
from openbrain.domain.text.displayed import one_line as one_line  # noqa: PLC0414 - commands import all output from here
from openbrain.domain.text.displayed import plain as plain  # noqa: PLC0414 - the same

if TYPE_CHECKING:
    from pydantic import BaseModel
    from rich.console import Console, RenderableType
    from rich.progress import Progress, ProgressColumn
    from rich.table import Table
    from rich.text import Text


def as_json_line(value: "BaseModel | Any") -> None:
    """Print JSON on one line, for output that is read line by line."""
    as_json(value, indent=None)


def as_json(value: "BaseModel | Any", indent: int | None = 2) -> None:
    """Print JSON with unsafe characters escaped; it parses to the same value."""
    text = json.dumps(value, ensure_ascii=False, indent=indent, default=lambda model: model.model_dump(mode="json"))
    print(escaped(text, _json_escape))


def console(*, stderr: bool = False) -> "Console":
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=False)


def progress(counting: str = "", *, quiet: bool) -> "Progress":
    """A progress bar on stderr; with `counting`, this text instead, for an unknown total. Hidden without a terminal."""
    from rich.progress import Progress, SpinnerColumn, TextColumn

    columns = (SpinnerColumn(), TextColumn(counting)) if counting else ()
    hidden = quiet or not sys.stderr.isatty()
    return Progress(*columns, console=console(stderr=True), disable=hidden, transient=True)


def bar(*more: "ProgressColumn", hidden: bool = False) -> "Progress":
    """A progress bar on stderr for a known number of things; hidden without a terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), *more)
    err = console(stderr=True)
    return Progress(*columns, console=err, transient=True, disable=hidden or not err.is_terminal)


def table(*columns: str, rows: Iterable[Sequence[object]]) -> "Table":
    """A table of strings; the last column takes the rest of the line, and wraps. If the others leave it no room, all
    wrap: nothing is cut off."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    lines = [[cell if isinstance(cell, Text) else Text(plain(str(cell))) for cell in row] for row in rows]
    before = zip(columns[:-1], *(line[:-1] for line in lines), strict=False)
    needed = sum(max(_width(cell) for cell in column) + _GAP for column in before)
    tight = needed + _LAST_COLUMN > console().width
    made = Table(box=None if tight else SIMPLE_HEAD, pad_edge=False, expand=False, collapse_padding=tight)
    for column in columns[:-1]:
        made.add_column(column, no_wrap=not tight, overflow="fold")
    made.add_column(columns[-1], overflow="fold")
    for line in lines:
        made.add_row(*line)
    return made


_GAP = 3
"""Characters between two columns."""
_LAST_COLUMN = 8
"""Characters that the last column needs at least."""


def _width(cell: "str | Text") -> int:
    from rich.cells import cell_len

    return max((cell_len(line) for line in str(cell).splitlines()), default=0)


def show(what: "RenderableType") -> None:
    console().print(what)


def say(text: str) -> None:
    """Print a line for people on stderr, separate from the result."""
    print(plain(text), file=sys.stderr)


def day(at: datetime) -> str:
    """The date, in UTC."""
    return at.astimezone(UTC).date().isoformat()


def moment(at: datetime | None) -> str:
    """Date and time, in UTC."""
    return "" if at is None else at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def age(seconds: float | None) -> str:
    """A duration in the largest unit that fits; '' for None."""
    if seconds is None:
        return ""
    for unit, size in (("d", 86_400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{seconds / size:.0f}{unit}"
    return f"{seconds:.0f}s"


def _json_escape(character: str) -> str:
    code = ord(character)
    if code < 0x10000:
        return f"\\u{code:04x}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
