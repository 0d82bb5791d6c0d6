"""Cluster: groups sessions into arcs. Existing pages are extended, not rewritten.

A session belongs to one arc permanently. If sessions of a group already belong to arcs, the first of these gets the new
sessions, edges to the others, and updated counts and status; the rest of its page, which people and the reasoner edit,
stays unchanged.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from openbrain.domain.times import from_datetime, to_datetime
from openbrain.vault.front_matter.document import Front, Page, read
from openbrain.vault.markers.fences import line_break_of
from openbrain.vault.pages.arcs import Arc
from openbrain_tick.plan.arcs.new_arc import BULLET, Group, bullet, counted_lines, counts, page, read_counts, status_of
from openbrain_tick.plan.extract import Session
from openbrain_tick.plan.plan import Plan

GAP: Final = timedelta(minutes=120)
_LIVING = frozenset({"active", "complete", "stalled"})
_SOURCES = "## Source sessions"


def groups(sessions: Iterable[Session]) -> Iterator[Group]:
    """Groups of sessions of one project, at most 120 minutes apart; a compacted session is a group of its own."""
    together: list[Session] = []
    for session in sorted(sessions, key=lambda item: (item.project, item.start, item.session_id)):
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


def cluster(plan: Plan, sessions: Iterable[Session], earlier: Callable[[str], Session | None] = lambda _: None) -> None:
    """Create or extend arcs for these sessions; new ones in today's folder. Counts clusters_created and
    clusters_extended. `earlier` returns a session of an arc that is not among these; None if it is gone."""
    run = _Run(plan, to_datetime(plan.now_us), {session.session_id: session for session in sessions}, earlier)
    for arc in sorted(plan.pages.values(), key=lambda item: (item.merged, item.path)):
        run.endings.add(arc.id.rpartition("-")[2])
        for session_id in arc.sessions:
            run.owners.setdefault(session_id, arc.path)
    for group in groups(run.counted.values()):
        run.place(group)


def note_activity(plan: Plan, sessions: Iterable[Session]) -> None:
    """Write the end of each arc's last session into its page, by which `update_status` then goes."""
    ends = {session.session_id: session.end for session in sessions}
    for arc in [arc for arc in plan.arcs() if arc.session_count and arc.writable]:
        last = max((ends[item] for item in arc.sessions if item in ends), default=None)
        if last is not None and from_datetime(last) > arc.last_activity_us:
            plan.edit(arc, {"last_activity": last.isoformat()})


def update_status(plan: Plan) -> None:
    """Update the status of arcs whose last activity is known: arcs without new sessions do not stay active."""
    now = to_datetime(plan.now_us)
    for arc in plan.arcs():
        if arc.last_activity_us and arc.status in _LIVING and arc.writable:
            status = status_of(to_datetime(arc.last_activity_us), now)
            if status != arc.status:
                plan.edit(arc, {"status": status}, quiet=True)


@dataclass(frozen=True, slots=True)
class _Run:
    """Places groups in arcs, one after the other."""

    plan: Plan
    now: datetime
    counted: Mapping[str, Session]
    earlier: Callable[[str], Session | None]
    owners: dict[str, str] = field(default_factory=dict)
    """Session id -> path of its arc before this run."""
    endings: set[str] = field(default_factory=set)
    """Last parts of the ids of all arcs; for a cluster that is the hash of its sessions."""

    def place(self, group: Group) -> None:
        met = {self.owners[item.session_id]: None for item in group.sessions if item.session_id in self.owners}
        arcs = sorted((self.plan.pages[path] for path in met), key=lambda arc: arc.merged)
        new = [session for session in group.sessions if session.session_id not in self.owners]
        if arcs and not arcs[0].merged:
            self._extend(arcs, new)
        elif new:
            self._create(Group(tuple(new)), [arc.id for arc in arcs])

    def _create(self, group: Group, siblings: Sequence[str]) -> None:
        path = f"clusters/{self.now.date().isoformat()}/{group.cluster_id}.md"
        if group.cluster_id.rpartition("-")[2] in self.endings or not self.plan.vacant(path):
            return
        self.plan.add(path, page(group, self.now, siblings))
        self.plan.counts["clusters_created"] += 1

    def _extend(self, met: Sequence[Arc], new: Sequence[Session]) -> None:
        arc = met[0]
        text = self.plan.text(arc.path)
        if text is None:
            return
        page = read(text, arc.path)
        front = page.front
        sessions = (self.counted.get(item) or self.earlier(item) for item in arc.sessions)
        known = [session for session in sessions if session is not None]
        values: dict[str, Any] = {}
        if new:
            values["source_sessions"] = [*arc.sessions, *(session.session_id for session in new)]
        count = _counted(page, arc, known, new)
        values |= _signals(front, count)
        if linked := _linked(front, met):
            values["edges"] = linked
        body = _with_bullets(_with_counts(page.body, count, {item.session_id: item for item in known}), new)
        only_time = not values and body == page.body
        status = Group((*known, *new)).status(self.now)
        if arc.status in _LIVING and status != arc.status:
            values["status"] = status
        if values or not only_time:
            edited = self.plan.edit(arc, values, body=lambda _: body, quiet=only_time)
            self.plan.counts["clusters_extended"] += edited is not arc and not only_time


def _counted(page: Page, arc: Arc, known: Sequence[Session], new: Sequence[Session]) -> dict[str, float]:
    """The arc's counts: of all its sessions if all are available; otherwise the page's counts plus the new sessions.
    Counts never decrease, because a transcript may be gone."""
    page_counts = read_counts(page.body.splitlines())
    old: dict[str, float] = {} if page_counts is None else page_counts[1]
    old |= {"errors": arc.errors, "joy": arc.joy, "tools": arc.tools, "sessions": len(arc.sessions)}
    everything, added = counts([*known, *new]), counts(new)
    all_known = len(known) == len(arc.sessions)
    return {
        name: max(old.get(name, 0) + (0 if all_known else added[name]), count) for name, count in everything.items()
    } | {"sessions": old["sessions"] + len(new)}


def _signals(front: Front, count: Mapping[str, float]) -> dict[str, Any]:
    """The front matter's counts, if they change."""
    value = front.get("signals")
    held = dict(value) if isinstance(value, Mapping) else {}
    signals = held | {name: int(count[name]) for name in ("errors", "joy", "tools")}
    return {"signals": signals} if signals != value else {}


def _with_counts(body: str, count: Mapping[str, float], known: Mapping[str, Session]) -> str:
    """Update the lines with the counts; edited lines stay unchanged."""
    end = line_break_of(body)
    lines = body.split(end)
    if (page_counts := read_counts(lines)) is not None:
        lines[page_counts[0] : page_counts[0] + 3] = counted_lines(count)
    for at, line in enumerate(lines):
        if (match := BULLET.fullmatch(line)) and (session := known.get(match[1])) is not None:
            lines[at] = bullet(session)
    return end.join(lines)


def _linked(front: Front, met: Sequence[Arc]) -> list[Any]:
    """The arc's edges plus the missing ones to the group's other arcs; [] if none is missing."""
    held = front.get("edges")
    edges = list(held) if isinstance(held, Sequence) and not isinstance(held, str) else []
    there = {target for edge in edges if isinstance(edge, Mapping) for target in edge.values()}
    lacking = [{"sibling": arc.id} for arc in met[1:] if arc.id not in there and arc.id != met[0].id and not arc.merged]
    return [*edges, *lacking] if lacking else []


def _with_bullets(body: str, new: Sequence[Session]) -> str:
    """Add the sessions at the end of their section, which is created if it is missing."""
    if not new:
        return body
    end = line_break_of(body)
    lines = body.split(end)
    if _SOURCES not in lines:
        lines = [*_stripped(lines), "", _SOURCES, "", ""]
    first = len(lines) - 1 - lines[::-1].index(_SOURCES)
    behind = next((at for at in range(first + 1, len(lines)) if lines[at].startswith("## ")), len(lines))
    section = _stripped(lines[first:behind])
    section += [""] * (len(section) == 1)
    return end.join([*lines[:first], *section, *(bullet(item) for item in new), "", *lines[behind:]])


def _stripped(lines: Sequence[str]) -> list[str]:
    kept = list(lines)
    while kept and not kept[-1].strip():
        kept.pop()
    return kept
