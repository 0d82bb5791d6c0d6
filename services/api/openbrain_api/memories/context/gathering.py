"""Gather the items of a context in order, without duplicates."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from openbrain.contract.brain.context import ContextItem, ContextQuery, Section
from openbrain.domain.access.visibility import AllOf, Condition, Criteria, OneOf, Viewer, matches, visible
from openbrain.domain.memory import Memory, MemoryType, Scope
from openbrain.domain.signals.values import OPEN_STATES, Halt, HaltState, Severity, Signal
from openbrain.domain.text.instructions import text_labels
from openbrain.domain.times import to_datetime
from openbrain.ports.store.signals import SignalFilter
from openbrain.ports.store.store import Store
from openbrain.vault.files.folder import Folder
from openbrain.vault.pages.bodies import clipped
from openbrain_api.http.route import Call, Nothing
from openbrain_api.vaults.feed import read_feed
from openbrain_api.vaults.writes import readable_vault

CHARS = 1200
"""Most characters of one item; the full text can be read by its id."""
MOST = 200
"""Most memories read for one part."""
RECENT = 20
ALARMS = 50
HALTS = 100
"""Open halts read at once."""
TAGS = 12
HAND_OVER = "hand-over"
"""The tag of hand-overs from one session to the next."""
HAND_OVERS = 5
"""Latest hand-overs that are checked for one that is active and visible."""
_RULES = (MemoryType.CONVENTION, MemoryType.ARCHITECTURE)
_OPEN = (MemoryType.PLAN, MemoryType.BUG)
_OTHERS = tuple(kind for kind in MemoryType if kind not in (MemoryType.DECISION, *_RULES, *_OPEN))


async def gathered(call: Call[Nothing, ContextQuery], viewer: Viewer) -> Sequence[ContextItem]:
    """All items, the most urgent first."""
    query, store = call.query, call.api.store
    source = _Memories(call, viewer)
    memories = asyncio.gather(
        source.own(), source.conventions(), source.of_project(), source.hand_over(), source.of_session()
    )
    alarms = open_incidents(store, viewer, query.org or "", query.project or "", ALARMS)
    (halts, signals), (own, conventions, project, hand_over, session), pages, tags = await asyncio.gather(
        alarms, memories, _vault(call), _tags(call, viewer)
    )
    parts = [
        *(_halt(row) for row in halts),
        *(_signal(row) for row in signals),
        *(_memory(Section.OWN, row) for row in own),
        *(_memory(Section.CONVENTIONS, row) for row in conventions),
        *(_memory(Section.PROJECT, row) for row in project),
        *(_memory(Section.HAND_OVER, row) for row in hand_over),
        *(_memory(Section.SESSION, row) for row in session),
        *pages,
        *tags,
    ]
    left_to_us = {row.id for row in hand_over}
    once = {item.id: item for item in reversed(parts) if item.id not in left_to_us or item.section is Section.HAND_OVER}
    return list(reversed(once.values()))


async def last_hand_over(store: Store, viewer: Viewer, org: str, project: str, now: int) -> Memory | None:
    """The last visible hand-over of the project's sessions; without a project, that of the agent's own sessions."""
    ids = await store.sessions.hand_overs(viewer, org, project, HAND_OVERS)
    rows = await store.memories.rows(ids)
    seen = visible(viewer, Criteria(), now)
    hand_overs = (rows[memory_id] for memory_id in ids if memory_id in rows)
    return next((row for row in hand_overs if row.alive(now) and matches(seen, row)), None)


async def open_incidents(
    store: Store, viewer: Viewer, org: str, project: str, limit: int
) -> tuple[Sequence[Halt], Sequence[Signal]]:
    """Open halts, and open signals of severity warning or higher, that concern work in that org and project; the newest
    `limit` of each."""
    wanted = SignalFilter(states=OPEN_STATES, min_severity=Severity.WARNING, org=org, project=project, or_of_none=True)
    halts = await _open_halts(store, viewer, org, project, limit)
    return halts, await store.signals.signals(viewer, wanted, limit)


async def _open_halts(store: Store, viewer: Viewer, org: str, project: str, limit: int) -> Sequence[Halt]:
    """Read on until there are enough that apply: those of other projects must not hide an older one."""
    found: list[Halt] = []
    before: tuple[int, str] | None = None
    while len(found) < limit:
        rows = await store.halts.halts(viewer, HALTS, states=(HaltState.OPEN,), before=before)
        found += [row for row in rows if row.concerns(org, project)]
        if len(rows) < HALTS:
            break
        before = rows[-1].raised_at, rows[-1].id
    return found[:limit]


class _Memories:
    """The visible memories of each part."""

    def __init__(self, call: Call[Nothing, ContextQuery], viewer: Viewer) -> None:
        self._store: Store = call.api.store
        self._viewer, self._query, self._now = viewer, call.query, call.api.clock.now()

    async def own(self) -> Sequence[Memory]:
        """The agent's own, by confidence."""
        mine = Criteria(scopes=(Scope.AGENT,), agents=(self._viewer.agent_id,))
        return await self._surest(mine, *self._here())

    async def conventions(self) -> Sequence[Memory]:
        """Shared conventions, and the project's own."""
        of_all = self._surest(Criteria(scopes=(Scope.SHARED,), types=_RULES))
        if not (here := self._here()):
            return await of_all
        of_project = self._surest(Criteria(scopes=(Scope.PROJECT,), types=_RULES), *here)
        conventions = [row for rows in await asyncio.gather(of_all, of_project) for row in rows]
        return sorted(conventions, key=lambda row: (-row.confidence, -row.created_at))[:MOST]

    async def of_project(self) -> Sequence[Memory]:
        """The newest decisions, then plans and bugs, then other types. Each kind: the project's own, then those
        without a project, which apply to every one."""
        parts = await asyncio.gather(*(self._newest_of(types) for types in ((MemoryType.DECISION,), _OPEN, _OTHERS)))
        return [row for rows in parts for row in rows]

    async def hand_over(self) -> Sequence[Memory]:
        """The last hand-over of the project."""
        org, project = self._query.org or "", self._query.project or ""
        hand_over = await last_hand_over(self._store, self._viewer, org, project, self._now)
        return (hand_over,) if hand_over else ()

    async def of_session(self) -> Sequence[Memory]:
        """The latest memories of the named session, oldest first."""
        if not self._query.session_id:
            return ()
        agents = (self._viewer.agent_id, *self._viewer.session_agents)
        of_agents = visible(self._viewer, Criteria(scopes=(Scope.SESSION,), agents=agents), self._now)
        rows = await self._store.memories.listing(of_agents, RECENT * 2)
        return list(reversed(rows))

    def _here(self) -> tuple[Condition, ...]:
        """Condition: of the project, or of none. It omits "or shared", which the other conditions make redundant and no
        database index supports."""
        project = self._query.project
        return (OneOf("project", (project, "")),) if project else ()

    async def _newest_of(self, types: tuple[MemoryType, ...]) -> Sequence[Memory]:
        project = self._query.project or ""
        own = Criteria(scopes=(Scope.PROJECT,), project=project, only_project=True, types=types)
        rows = await self._newest(own, RECENT)
        if not project or len(rows) >= RECENT:
            return rows
        return [*rows, *await self._of_none(types, RECENT - len(rows))]

    async def _of_none(self, types: tuple[MemoryType, ...], limit: int) -> Sequence[Memory]:
        """The newest without a project. Read scope by scope, so that a database index gives the order."""
        rest = [
            row
            for scope in (Scope.PROJECT, Scope.SHARED)
            for row in await self._newest(Criteria(scopes=(scope,), types=types), limit, OneOf("project", ("",)))
        ]
        return sorted(rest, key=lambda row: (row.created_at, row.id), reverse=True)[:limit]

    async def _surest(self, criteria: Criteria, *more: Condition) -> Sequence[Memory]:
        """By confidence, of the org or of none: an agent's own and shared memories mostly have no org."""
        condition = AllOf((visible(self._viewer, criteria, self._now), *more))
        if org := self._query.org:
            condition = AllOf((condition, OneOf("org", (org, ""))))
        return await self._store.memories.listing(condition, MOST, surest=True)

    async def _newest(self, criteria: Criteria, limit: int, *more: Condition) -> Sequence[Memory]:
        within = replace(criteria, org=self._query.org or "")
        condition = AllOf((visible(self._viewer, within, self._now), *more))
        return await self._store.memories.listing(condition, limit)


async def _vault(call: Call[Nothing, ContextQuery]) -> Sequence[ContextItem]:
    """Inject blocks, hot arcs and intent from the feed; none for keys that may not read the vault."""
    folder = readable_vault(call, call.query.org)
    return () if folder is None else await asyncio.to_thread(_pages, folder)


def _pages(folder: Folder) -> Sequence[ContextItem]:
    feed = read_feed(folder)
    return [
        _item(Section.VAULT, "page", f"brain-feed/{entry['id']}", str(entry["severity"]), str(entry["content"]))
        for word in ("inject", "hot", "intent")
        for entry in feed.named(word)
    ]


async def _tags(call: Call[Nothing, ContextQuery], viewer: Viewer) -> Sequence[ContextItem]:
    query = call.query
    criteria = Criteria(org=query.org or "", project=query.project or "", only_project=True)
    condition = visible(viewer, criteria, call.api.clock.now())
    counts, _ = await call.api.discovery.counts(("tags",), condition, TAGS)
    text = ", ".join(f"{tag.value} ({tag.count})" for tag in counts if tag.value)
    return (_item(Section.TAGS, "tags", "tags", "", text),) if text else ()


def _memory(section: Section, row: Memory) -> ContextItem:
    return _item(
        section,
        "memory",
        row.id,
        str(row.type),
        row.content,
        agent_id=row.agent_id,
        source=row.source,
        org=row.org,
        project=row.project,
        confidence=row.confidence,
        at=row.occurred_at,
    )


def _signal(row: Signal) -> ContextItem:
    text = f"{row.title}\n{row.content}" if row.content else row.title
    return _item(
        Section.ALARMS,
        "signal",
        row.id,
        f"{row.severity} {row.state}",
        text,
        source=row.source,
        org=row.org,
        project=row.project,
        at=row.first_raised_at,
    )


def _halt(row: Halt) -> ContextItem:
    state = f"{row.state}, scope {row.scope}"
    text = row.title or "Halt"
    return _item(Section.ALARMS, "halt", row.id, state, text, org=row.org, project=row.project, at=row.raised_at)


def _item(section: Section, kind: str, name: str, state: str, text: str, **provenance: Any) -> ContextItem:
    at = provenance.pop("at", None)
    fields: dict[str, Any] = dict.fromkeys(("agent_id", "source", "org", "project", "confidence"))
    fields |= {key: value for key, value in provenance.items() if value not in (None, "")}
    shown = clipped(text.strip(), CHARS)
    return ContextItem(
        section=section,
        kind=kind,
        id=name,
        state=state,
        text=shown,
        labels=text_labels(text),
        clipped=shown != text.strip(),
        at=None if at is None else to_datetime(at),
        **fields,
    )
