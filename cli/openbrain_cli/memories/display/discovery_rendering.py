"""Display of search hits and counts."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from openbrain_cli.memories.display.rendering import filed, shortened
from openbrain_cli.output import console, one_line, plain, show, table

if TYPE_CHECKING:
    from rich.text import Text

    from openbrain.contract.brain.discovery import Highlight, ScopeCount, SearchHit, ValueCount

_NONE = "(none)"
_LINES = 2


def hits(search_hits: "Sequence[SearchHit]") -> None:
    """Show one row per memory: its score, the passages with the words, and how it is filed."""
    width = max(20, console().width - 14)
    rows = ((f"{hit.score or 0:.2f}", _cell(hit, width)) for hit in search_hits)
    show(table("score", "memory", rows=rows))


def _cell(hit: "SearchHit", width: int) -> "Text":
    from rich.text import Text

    cell = Text("\n").join(_marked(highlight) for highlight in hit.highlights or ())
    if not cell:
        cell = Text(shortened(hit.content, width * _LINES))
    cell.append(f"\n{plain(filed(hit))}", style="dim")
    return cell


def _marked(piece: "Highlight") -> "Text":
    """The passage on one line, with bold matches. Each part is escaped separately, because that may lengthen it."""
    from rich.text import Text

    cell, at = Text(), 0
    for start, end in piece.matches:
        cell.append(_flat(piece.text[at:start]))
        cell.append(_flat(piece.text[start:end]), style="bold")
        at = end
    cell.append(_flat(piece.text[at:]))
    return cell


def _flat(text: str) -> str:
    """`one_line` that keeps a space at the ends, which separates the text from its neighbours."""
    before = " " if text[:1].isspace() else ""
    after = " " if text[-1:].isspace() and text.strip() else ""
    return f"{before}{one_line(text)}{after}"


def counts(name: str, values: "Iterable[ValueCount]") -> None:
    show(table("memories", name, rows=((value.count, one_line(value.name or _NONE)) for value in values)))


def scopes(scope_counts: "Sequence[ScopeCount]") -> None:
    """Show orgs, with the projects of each."""
    rows = [
        (project.count, one_line(scope.org or _NONE), one_line(project.name or _NONE))
        for scope in scope_counts
        for project in scope.projects
    ]
    show(table("memories", "org", "project", rows=rows))
