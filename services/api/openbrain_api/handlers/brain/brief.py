"""A brief: decisions, what is stuck, what changed."""

import asyncio
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace

from openbrain.contract.brain.brief import DAYS_DEFAULT, Brief, BriefItem, BriefQuery
from openbrain.domain.access.permissions import Permission
from openbrain.domain.access.visibility import Criteria, visible
from openbrain.domain.memory import DAY, Memory, MemoryType
from openbrain.domain.signals.values import Halt, Signal
from openbrain.domain.times import from_datetime, to_datetime
from openbrain.vault.pages.bodies import clipped, first_line
from openbrain_api.http.response import Response, respond
from openbrain_api.http.route import Call, Nothing, Route
from openbrain_api.memories.context.gathering import open_incidents
from openbrain_api.vaults.arcs import Seen, recent_arcs
from openbrain_api.vaults.writes import readable_vault

TITLE_CHARS = 200
_LISTS = ("decided", "stuck", "changed")
Items = list[tuple[int, BriefItem]]
"""Items with their times in microseconds."""


@Route("GET", "/v1/brain/brief", permission=Permission.BRAIN_READ, response=Brief, cost=10)
async def brief(call: Call[Nothing, BriefQuery]) -> Response:
    """List decisions, what is stuck, and what changed since a date."""
    started = time.perf_counter()
    query = call.query
    call.actor.may_ask_for(query.org or "")
    now = call.api.clock.now()
    since = now - DAYS_DEFAULT * DAY if query.since is None else from_datetime(query.since)
    wanted = query.limit + 1
    decided = await _memories(call, Criteria(types=(MemoryType.DECISION,), since=since), wanted, now)
    others = Criteria(types=tuple(kind for kind in MemoryType if kind is not MemoryType.DECISION))
    recent = [row for row in await _memories(call, others, wanted, now) if row.created_at >= since]
    folder = readable_vault(call, query.org)
    # Stuck arcs changed some time ago: look back the default number of days, even if the request asks for fewer.
    still_since = min(since, now - DAYS_DEFAULT * DAY)
    arcs = [] if folder is None else await asyncio.to_thread(recent_arcs, folder, still_since, query.project or "")
    halts, signals = await open_incidents(
        call.api.store, call.actor.viewer(), query.org or "", query.project or "", wanted
    )
    # An incident's arc is about its signal: show only the signal.
    known = (*(row.signal_id for row in halts), *(row.id for row in signals))
    arcs = [entry for entry in arcs if not (known and entry.arc.id.endswith(known))]
    lists: dict[str, Items] = {
        "decided": [(row.occurred_at, _memory(row, row.occurred_at)) for row in decided],
        "stuck": [*_incidents(halts, signals), *_arcs(entry for entry in arcs if entry.stuck)],
        "changed": [
            *((row.created_at, _memory(row, row.created_at)) for row in recent),
            *_arcs(entry for entry in arcs if entry.at >= since and not entry.stuck),
        ],
    }
    ordered = {name: sorted(lists[name], key=lambda item: -item[0]) for name in _LISTS}
    content = {
        "since": to_datetime(since),
        **{name: [shown for _, shown in ordered[name][: query.limit]] for name in _LISTS},
        "more": [name for name in _LISTS if len(ordered[name]) > query.limit],
        "vault": folder is not None,
        "took_ms": round((time.perf_counter() - started) * 1000, 3),
    }
    return respond(content)


async def _memories(call: Call[Nothing, BriefQuery], narrowed: Criteria, limit: int, now: int) -> Sequence[Memory]:
    query = call.query
    criteria = replace(narrowed, org=query.org or "", project=query.project or "", only_project=True)
    viewer = await call.viewer(query.session_id)
    return await call.api.store.memories.listing(visible(viewer, criteria, now), limit)


def _incidents(halts: Sequence[Halt], signals: Sequence[Signal]) -> Items:
    # A halt and its signal have the same title: show only the halt.
    halting = {row.signal_id for row in halts}
    return [
        *((row.raised_at, _halt(row)) for row in halts),
        *((row.last_raised_at, _signal(row)) for row in signals if row.id not in halting),
    ]


def _memory(row: Memory, at: int) -> BriefItem:
    return _item("memory", row.id, row.content, str(row.type), at, row.org, row.project)


def _signal(row: Signal) -> BriefItem:
    return _item("signal", row.id, row.title, f"{row.severity} {row.state}", row.last_raised_at, row.org, row.project)


def _halt(row: Halt) -> BriefItem:
    return _item("halt", row.id, row.title or "Halt", str(row.state), row.raised_at, row.org, row.project)


def _arcs(arcs: Iterable[Seen]) -> Items:
    return [
        (entry.at, _item("arc", entry.arc.path, entry.arc.title, entry.arc.status, entry.at, "", entry.arc.project))
        for entry in arcs
    ]


def _item(kind: str, name: str, text: str, state: str, at: int, org: str, project: str) -> BriefItem:
    return BriefItem.model_validate(
        {
            "kind": kind,
            "id": name,
            "title": clipped(first_line(text, TITLE_CHARS * 2), TITLE_CHARS),
            "state": state,
            "org": org or None,
            "project": project or None,
            "at": to_datetime(at),
        }
    )
