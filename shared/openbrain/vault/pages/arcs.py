"""Arcs: the parsed data of a page. The tick keeps it, so that an unchanged page costs only a `stat`."""

import hashlib
from collections.abc import Container
from functools import lru_cache
from typing import Any, NamedTuple

import orjson

from openbrain.vault.values import Marker, Problem


class Edge(NamedTuple):
    """From the arc that contains it to `target`, an arc's id."""

    type: str
    target: str


class SignalMark(NamedTuple):
    """A @signal marker of a page. Severity: info, warning, critical, nuclear or resolved. `verify` names a probe."""

    severity: str
    source: str
    content: str
    line: int
    verify: str
    cleared: str
    """When it was resolved (ISO); empty if not recorded."""
    project: str = ""
    """The marker's own project; empty: that of its page."""

    @property
    def identity(self) -> str:
        """Key from source and content, independent of page and severity."""
        return identity(self.source, self.content)


class InjectMark(NamedTuple):
    """An @inject marker of a page. `target`: who should read it; '' for everyone."""

    target: str
    content: str
    line: int
    ttl_days: int | None


class Arc(NamedTuple):
    """A page. `ranked`: it is an arc, with heat and graduation; of other pages only the markers count.

    `alarms` and `detail` are JSON, decoded by the properties on demand: most ticks need little of most arcs.
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
    """The value in the file; None if there is none."""
    created_us: int
    dated: bool
    """Whether the page contains its creation date; otherwise `created_us` is the day of its last change."""
    ranked: bool
    named: bool
    """Whether its front matter says that it is an arc (`cluster_id`), in any folder."""
    merged: bool
    """Whether the arc's content was merged into another arc."""
    last_activity_us: int
    """End of the last session; 0 if the page does not say."""
    writable: bool
    """False if its front matter can't be read; such a file is reported and not changed."""
    synthesized: bool
    session_count: int
    tools: int
    joy: int
    errors: int
    lessons: int
    problem_count: int
    reference: str
    """The path that this file refers to, if it is only a reference; else empty."""
    replayed_from: tuple[str, ...]
    mitigates: tuple[str, ...]
    links: tuple[str, ...]
    """Targets of the arc's edges."""
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
        """Ids of the sessions that it was made from."""
        return tuple(_part(self.detail, "sessions"))

    @property
    def edges(self) -> tuple[Edge, ...]:
        """Those of its front matter, then those of its markers."""
        return tuple(Edge(*edge) for edge in _part(self.detail, "edges"))

    @property
    def markers(self) -> tuple[Marker, ...]:
        """All markers, with offsets into the page's body. A posted one has the `date` of its heading."""
        return markers_of(self.detail)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The unreadable parts."""
        return tuple(Problem(self.path, line, reason) for line, reason in _part(self.detail, "problems"))


def markers_of(detail: str, types: Container[str] | None = None) -> tuple[Marker, ...]:
    """The markers in an arc's `detail`; only those of `types` if given."""
    return tuple(Marker(*mark) for mark in _part(detail, "markers") if types is None or mark[0] in types)


def _part(detail: str, name: str) -> list[Any]:
    part: list[Any] = orjson.loads(detail).get(name, []) if detail else []
    return part


# A tick decodes the same text several times, and so does the next one.
@lru_cache(maxsize=65_536)
def _alarms(text: str) -> tuple[tuple[SignalMark, ...], tuple[InjectMark, ...]]:
    signals, injects = orjson.loads(text)
    return tuple(SignalMark(*mark) for mark in signals), tuple(InjectMark(*mark) for mark in injects)


@lru_cache(maxsize=65_536)
def identity(source: str, content: str) -> str:
    """Key of a signal: its source, and the first 16 hex digits of its content's SHA-256."""
    return f"{source}:{hashlib.sha256(content.strip().encode()).hexdigest()[:16]}"


def raise_key(page: Arc, mark: SignalMark) -> str:
    """Idempotency key for raising this signal, the same in every process."""
    project = mark.project or page.project
    return f"vault:{page.id}:{mark.identity}:{mark.severity}" + (f":{project}" if project else "")


def row(arc: Arc) -> tuple[list[Any], str]:
    """The arc in a form for the index file: JSON values that every tick needs, and `detail`, JSON in one line."""
    return list(arc[:-1]), arc.detail


def of_row(values: list[Any], detail: str) -> Arc:
    """The arc from such a row. ValueError if it is not one."""
    if len(values) != len(Arc._fields) - 1:
        raise ValueError("not a row of an arc")
    values[-4:-1] = map(tuple, values[-4:-1])
    return Arc._make([*values, detail])
