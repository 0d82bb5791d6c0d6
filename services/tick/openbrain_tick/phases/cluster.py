"""Cluster: sessions in groups, each an arc. What is there is never written anew.

A session belongs to one arc for good. A group that meets arcs gives its new sessions to the first of them, with the
counts; everything else on that page, which people and the reasoner have worked on, stays as it is.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from openbrain.domain.times import to_datetime
from openbrain.vault.front_matter.document import Front, read
from openbrain.vault.pages.arc_parsing import parse_arc
from openbrain.vault.pages.arcs import Arc
from openbrain_tick.phases.extract import Session
from openbrain_tick.phases.plan import Plan
from openbrain_tick.phases.stubs import Group, bullet, page

GAP: Final = timedelta(minutes=120)
_LIVING = frozenset({"active", "complete", "stalled"})
_SOURCES = "## Source sessions"


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


def cluster(plan: Plan, sessions: Iterable[Session]) -> None:
    """Arcs for these sessions, in the folder of today. Counts clusters_created and clusters_extended."""
    run = _Run(plan, to_datetime(plan.now_us), {session.session_id: session for session in sessions})
    for arc in sorted(plan.pages.values(), key=lambda each: (each.merged, each.path)):
        run.endings.add(arc.id.rpartition("-")[2])
        for session_id in arc.sessions:
            run.owners.setdefault(session_id, arc.path)
    for group in groups(run.counted.values()):
        run.place(group)


@dataclass(frozen=True, slots=True)
class _Run:
    """Groups are placed one after the other."""

    plan: Plan
    now: datetime
    counted: Mapping[str, Session]
    owners: dict[str, str] = field(default_factory=dict)
    """Session -> path of its arc, as it was before."""
    endings: set[str] = field(default_factory=set)
    """Of the ids of all arcs: the hash of a cluster's sessions stands there."""

    def place(self, group: Group) -> None:
        met = {self.owners[each.session_id]: None for each in group.sessions if each.session_id in self.owners}
        arcs = sorted((self.plan.pages[path] for path in met), key=lambda arc: arc.merged)
        new = [session for session in group.sessions if session.session_id not in self.owners]
        if arcs and not arcs[0].merged:
            self._extend(group, arcs, new)
        elif new:
            self._create(Group(tuple(new)), [arc.id for arc in arcs])

    def _create(self, group: Group, siblings: Sequence[str]) -> None:
        path = f"clusters/{self.now.date().isoformat()}/{group.cluster_id}.md"
        if group.cluster_id.rpartition("-")[2] in self.endings or not self.plan.vacant(path):
            return
        text = page(group, self.now, siblings)
        self.plan.draft.write(path, text)
        self.plan.pages[path] = parse_arc(path, text, self.plan.now_us * 1000)
        self.plan.counts["clusters_created"] += 1

    def _extend(self, group: Group, met: Sequence[Arc], new: Sequence[Session]) -> None:
        arc = met[0]
        text = self.plan.text(arc.path)
        if text is None:
            return
        front = read(text, arc.path).front
        values: dict[str, Any] = {}
        if new:
            values["source_sessions"] = [*arc.sessions, *(session.session_id for session in new)]
        signals = self._signals(front, arc, new)
        if signals != front.get("signals"):
            values["signals"] = signals
        if values and arc.status in _LIVING:
            values["status"] = group.status(self.now)
        if linked := _linked(front, met):
            values["edges"] = linked
        if values:
            self.plan.edit(arc, values, body=lambda body: _with_bullets(body, new))
            self.plan.counts["clusters_extended"] += 1

    def _signals(self, front: Front, arc: Arc, new: Sequence[Session]) -> Any:
        """The counts of all its sessions where all are at hand; else those of the new ones are added to what is there.
        They never fall: a transcript may be gone, what happened is not."""
        value = front.get("signals")
        whole = all(session_id in self.counted for session_id in arc.sessions)
        if not (whole or new):
            return value
        held = dict(value) if isinstance(value, Mapping) else {}
        for name, count in Group((*(self.counted[each] for each in arc.sessions if whole), *new)).signals.items():
            old = held.get(name)
            old = old if isinstance(old, int) else 0
            held[name] = max(old, count) if whole else old + count
        return held


def _linked(front: Front, met: Sequence[Arc]) -> list[Any]:
    """Its edges with those to the other arcs that the group meets; [] where none is lacking."""
    held = front.get("edges")
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
