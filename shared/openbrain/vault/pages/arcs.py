"""Arcs: what the tick knows of a page, so that an unchanged one costs it a stat."""

import hashlib
from collections.abc import Container
from functools import lru_cache
from typing import Any, NamedTuple

import orjson

from openbrain.vault.values import Marker, Problem


class Edge(NamedTuple):
    """From the arc that says it to `target`, an arc's id."""

    type: str
    target: str


class SignalMark(NamedTuple):
    """A @signal of a page. Severity is info, warning, critical, nuclear or resolved; `verify` names a probe."""

    severity: str
    source: str
    content: str
    line: int
    verify: str
    cleared: str
    """The time of its resolution (ISO); empty where nobody wrote it down."""
    project: str = ""
    """The arc's own; empty where it is its page's."""

    @property
    def identity(self) -> str:
        """A key of source and content, whatever the page and the severity."""
        return identity(self.source, self.content)


class InjectMark(NamedTuple):
    """An @inject of a page: `target` is who should read it, '' for all."""

    target: str
    content: str
    line: int
    ttl_days: int | None


class Arc(NamedTuple):
    """A page. `ranked`: it is an arc, which has heat and graduates; other pages count for their markers alone.

    `alarms` and `detail` are JSON that the properties read: most ticks need little of most arcs.
    """

    path: str
    id: str
    """File name without .md and .merged."""
    title: str
    region: str
    status: str
    project: str
    summary: str
    heat: int | None
    """The value in the file; None where it has none."""
    created_us: int
    dated: bool
    """Whether the page says when it was created; else the day of its last change stands for it."""
    ranked: bool
    named: bool
    """Whether its front matter says that it is an arc, wherever it lies."""
    merged: bool
    """The arc's content stands in another arc."""
    last_activity_us: int
    """The end of the last session; 0 where the page does not say."""
    writable: bool
    """Not where its front matter can't be read: that is reported, and the file left as it is."""
    synthesized: bool
    session_count: int
    tools: int
    joy: int
    errors: int
    lessons: int
    problem_count: int
    reference: str
    """The path that this file only points to."""
    replayed_from: tuple[str, ...]
    mitigates: tuple[str, ...]
    links: tuple[str, ...]
    """Targets of its edges."""
    alarms: str
    detail: str

    @property
    def signals(self) -> tuple[SignalMark, ...]:
        """In the order of the page."""
        return _alarms(self.alarms)[0] if self.alarms else ()

    @property
    def injects(self) -> tuple[InjectMark, ...]:
        """In the order of the page."""
        return _alarms(self.alarms)[1] if self.alarms else ()

    @property
    def sessions(self) -> tuple[str, ...]:
        """Ids of the sessions that it was made of."""
        return tuple(_part(self.detail, "sessions"))

    @property
    def edges(self) -> tuple[Edge, ...]:
        """Of its front matter, then of its markers."""
        return tuple(Edge(*edge) for edge in _part(self.detail, "edges"))

    @property
    def markers(self) -> tuple[Marker, ...]:
        """All of them; offsets count in the page's body. A posted one has the `date` that its heading says."""
        return markers_of(self.detail)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The unreadable parts."""
        return tuple(Problem(self.path, line, reason) for line, reason in _part(self.detail, "problems"))


def markers_of(detail: str, types: Container[str] | None = None) -> tuple[Marker, ...]:
    """Of an arc's `detail`; of these types alone where some are given."""
    return tuple(Marker(*mark) for mark in _part(detail, "markers") if types is None or mark[0] in types)


def _part(detail: str, name: str) -> list[Any]:
    part: list[Any] = orjson.loads(detail).get(name, []) if detail else []
    return part


# A tick asks several times, and the next one again.
@lru_cache(maxsize=65_536)
def _alarms(text: str) -> tuple[tuple[SignalMark, ...], tuple[InjectMark, ...]]:
    signals, injects = orjson.loads(text)
    return tuple(SignalMark(*mark) for mark in signals), tuple(InjectMark(*mark) for mark in injects)


@lru_cache(maxsize=65_536)
def identity(source: str, content: str) -> str:
    """Of a signal: its source, and 16 hex digits of its content's SHA-256."""
    return f"{source}:{hashlib.sha256(content.strip().encode()).hexdigest()[:16]}"


def raise_key(page: Arc, mark: SignalMark) -> str:
    """By which a raise of this mark is known again, whichever process raises it."""
    project = mark.project or page.project
    return f"vault:{page.id}:{mark.identity}:{mark.severity}" + (f":{project}" if project else "")


def row(arc: Arc) -> tuple[list[Any], str]:
    """The arc as JSON can keep it: what every tick needs, and `detail`, which is JSON in one line."""
    return list(arc[:-1]), arc.detail


def of_row(values: list[Any], detail: str) -> Arc:
    """The arc of such a row. ValueError where it is none."""
    if len(values) != len(Arc._fields) - 1:
        raise ValueError("not a row of an arc")
    values[-4:-1] = map(tuple, values[-4:-1])
    return Arc._make([*values, detail])
