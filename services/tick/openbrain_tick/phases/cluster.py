"""Cluster: sessions in groups, each an arc. What is there is never written anew.

A session belongs to one arc for good. A group that meets arcs gives its new sessions to the first of them, with the
counts; everything else on that page, which people and the reasoner have worked on, stays as it is.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, Protocol

from openbrain.errors import Invalid
from openbrain.vault.changes import Change, sha256
from openbrain.vault.front_matter import Page, read
from openbrain.vault.values import Problem
from openbrain_tick.phases.extract import Session
from openbrain_tick.phases.stubs import Group, bullet, page

GAP: Final = timedelta(minutes=120)
_LIVING = frozenset({"active", "complete", "stalled"})
_SOURCES = "## Source sessions"


class KnownArc(Protocol):
    """An arc that is there."""

    @property
    def id(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def sessions(self) -> tuple[str, ...]: ...
    @property
    def merged(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Clustered:
    """What clustering would write."""

    changes: tuple[Change, ...] = ()
    created: tuple[str, ...] = ()
    """Ids of new arcs."""
    extended: tuple[str, ...] = ()
    """Ids of arcs that got sessions or counts."""
    problems: tuple[Problem, ...] = ()


def groups(sessions: Iterable[Session]) -> Iterator[Group]:
    """Sessions of one project with at most 120 minutes between; one that was compacted stands alone."""
    together: list[Session] = []
    for session in sorted(sessions, key=lambda each: (each.project, each.start, each.session_id)):
        if together and not _joins(together[-1], session):
            yield Group(tuple(together))
            together = []
        together.append(session)
    if together:
        yield Group(tuple(together))


def _joins(before: Session, session: Session) -> bool:
    return (
        before.project == session.project
        and session.start - before.end <= GAP
        and not before.compactions
        and not session.compactions
    )


def cluster(
    sessions: Sequence[Session], arcs: Iterable[KnownArc], text_of: Callable[[str], str], now: datetime
) -> Clustered:
    """Arcs for these sessions, in the folder of today. `text_of` reads the page at a path of the vault."""
    run = _Run({session.session_id: session for session in sessions}, arcs, text_of, now)
    for group in groups(run.counted.values()):
        run.place(group)
    return Clustered(
        tuple(Change(path, before, text.encode()) for path, (before, text) in run.written.items()),
        tuple(run.created),
        tuple(run.extended),
        tuple(run.problems),
    )


class _Run:
    """What is known while groups are placed, one after the other."""

    def __init__(
        self, counted: dict[str, Session], arcs: Iterable[KnownArc], text_of: Callable[[str], str], now: datetime
    ) -> None:
        self.counted, self.text_of, self.now = counted, text_of, now
        self.owners: dict[str, KnownArc] = {}
        self.endings: set[str] = set()
        for arc in sorted(arcs, key=lambda each: (each.merged, each.path)):
            self.endings.add(arc.id.rpartition("-")[2])
            for session_id in arc.sessions:
                self.owners.setdefault(session_id, arc)
        self.written: dict[str, tuple[str | None, str]] = {}
        """Path -> hash of what is there, and the new text."""
        self.created: list[str] = []
        self.extended: dict[str, None] = {}
        self.problems: list[Problem] = []

    def place(self, group: Group) -> None:
        met = {owner.path: owner for each in group.sessions if (owner := self.owners.get(each.session_id))}
        if met:
            self._extend(group, list(met.values()))
        elif group.cluster_id.rpartition("-")[2] not in self.endings:
            path = f"clusters/{self.now.date().isoformat()}/{group.cluster_id}.md"
            self.written[path] = (None, page(group, self.now))
            self.created.append(group.cluster_id)

    def _extend(self, group: Group, met: Sequence[KnownArc]) -> None:
        path = met[0].path
        text = self.written[path][1] if path in self.written else self.text_of(path)
        found = read(text, path)
        if found.front.broken:
            self.problems += found.problems
            return
        new = [session for session in group.sessions if session.session_id not in self.owners]
        values = self._values(group, met, found, new)
        if values:
            try:
                front = found.front.with_values(values)
            except Invalid as error:
                self.problems.append(Problem(path, 1, str(error)))
                return
            after = replace(found, front=front, body=_with_bullets(found.body, new)).text()
            before = self.written[path][0] if path in self.written else sha256(text.encode())
            self.written[path] = (before, after)
            self.extended[met[0].id] = None

    def _values(self, group: Group, met: Sequence[KnownArc], found: Page, new: Sequence[Session]) -> Mapping[str, Any]:
        held = found.front.strings("source_sessions")
        values: dict[str, Any] = {}
        if new:
            values["source_sessions"] = [*held, *(session.session_id for session in new)]
        signals = _counts(found, held, new, self.counted)
        if signals != found.front.get("signals"):
            values["signals"] = signals
        if values and found.front.text("status") in _LIVING:
            values["status"] = group.status(self.now)
        if linked := _linked(found, met):
            values["edges"] = linked
        return values


def _counts(
    found: Page, sessions: Sequence[str], new: Sequence[Session], counted: Mapping[str, Session]
) -> dict[str, Any]:
    """The counts of all its sessions where all are at hand; else those of the new ones are added to what stands there.
    They never fall: a transcript may be gone, what happened is not."""
    value = found.front.get("signals")
    held = dict(value) if isinstance(value, Mapping) else {}
    whole = all(session_id in counted for session_id in sessions)
    if not (whole or new):
        return held
    summed = Group((*(counted[each] for each in sessions if whole), *new)).signals
    for name, count in summed.items():
        old = held.get(name, 0)
        old = old if isinstance(old, int) else 0
        held[name] = max(old, count) if whole else old + count
    return held


def _linked(found: Page, met: Sequence[KnownArc]) -> list[Any]:
    """Its edges with those to the other arcs that the group meets; [] where none is lacking."""
    held = found.front.get("edges")
    edges = list(held) if isinstance(held, Sequence) and not isinstance(held, str) else []
    there = {target for edge in edges if isinstance(edge, Mapping) for target in edge.values()}
    lacking = [{"sibling": arc.id} for arc in met[1:] if arc.id not in there and arc.id != met[0].id and not arc.merged]
    return [*edges, *lacking] if lacking else []


def _with_bullets(body: str, new: Sequence[Session]) -> str:
    """The sessions at the end of their section; where there is none it is made."""
    if not new:
        return body
    end = "\r\n" if "\r\n" in body else "\n"
    lines = body.split(end)
    if _SOURCES not in lines:
        lines = [*_stripped(lines), "", _SOURCES, "", ""]
    first = len(lines) - 1 - lines[::-1].index(_SOURCES)
    behind = next((at for at in range(first + 1, len(lines)) if lines[at].startswith("## ")), len(lines))
    section = _stripped(lines[first:behind])
    section += [""] * (len(section) == 1)
    return end.join([*lines[:first], *section, *(bullet(each) for each in new), "", *lines[behind:]])


def _stripped(lines: Sequence[str]) -> list[str]:
    kept = list(lines)
    while kept and not kept[-1].strip():
        kept.pop()
    return kept
