"""Ticks as rows. A hold is a holder's name and an expiry, taken and kept by compare-and-set. Events go to the
outbox."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from sqlalchemy import Connection, RowMapping, and_, or_, select, update

from openbrain.adapters.sql.engine.database import TimedPart
from openbrain.adapters.sql.engine.statements import first_of, insert_missing
from openbrain.adapters.sql.outbox.event_bytes import Announcement, announcement
from openbrain.adapters.sql.outbox.relay import append
from openbrain.adapters.sql.schema.column_types import ERROR_CHARS
from openbrain.adapters.sql.schema.memory_rows import json_text
from openbrain.adapters.sql.schema.tables import workspaces
from openbrain.adapters.sql.schema.vault_tables import ticks as table
from openbrain.domain.errors import NotFound
from openbrain.domain.events.data import TickCompleted, TickRequested
from openbrain.domain.events.streams import TICK_COMPLETED, TICK_REQUESTED
from openbrain.domain.memory import DAY, MICROSECONDS
from openbrain.ports.store.vault import Tick, TickJob, TickState

_OPEN = table.c.state.in_([state.value for state in TickState if not state.ended])
_PLAIN = [column for column in table.c if column.name not in ("holder", "held_until", "report")]
_WHOLE = [*_PLAIN, table.c.report]
_PRIVATE = "diff"
"""The part of a report that has contents: for the requester, not for subscribers of the event."""


class SqlTicks(TimedPart):
    """`ports.vault.Ticks`."""

    async def request_tick(self, job: TickJob, *, announce: bool = True) -> Tick:
        return await self._write(_request, job, self._clock.now(), announce=announce)

    async def tick(self, workspace_id: str, tick_id: str) -> Tick | None:
        query = select(*_WHOLE).where(table.c.id == tick_id, table.c.workspace_id == workspace_id)
        return await self._read(first_of, query, _tick)

    async def ticks(self, workspace_id: str, limit: int) -> Sequence[Tick]:
        newest = (table.c.requested_at.desc(), table.c.id.desc())
        query = select(*_PLAIN).where(table.c.workspace_id == workspace_id).order_by(*newest).limit(limit)
        return [_tick(row) for row in await self._rows(query)]

    async def hold_tick(self, tick_id: str, holder: str, seconds: float) -> Tick | None:
        now = self._clock.now()
        return await self._write(_hold, tick_id, holder, now, now + round(seconds * MICROSECONDS))

    async def keep_tick(self, tick_id: str, holder: str, seconds: float) -> bool:
        until = self._clock.now() + round(seconds * MICROSECONDS)
        return await self._change(update(table).where(_held(tick_id, holder)).values(held_until=until)) == 1

    async def finish_tick(self, tick_id: str, holder: str, report: Mapping[str, Any], error: str = "") -> bool:
        return await self._done_once(_finish, tick_id, holder, report, error, self._clock.now())

    async def put_off_tick(self, tick_id: str, holder: str, seconds: float, why: str) -> bool:
        until = self._clock.now() + round(seconds * MICROSECONDS)
        values = {"state": TickState.PENDING.value, "holder": "", "held_until": until, "error": why[:ERROR_CHARS]}
        put_off = update(table).where(_held(tick_id, holder)).values(values)
        return await self._done_once(lambda connection: connection.execute(put_off).rowcount)

    async def announce_ticks(self, idle_since: int, limit: int) -> int:
        return await self._write(_announce, idle_since, limit, self._clock.now())

    async def purge_ticks(self, ended_before: int, limit: int) -> int:
        past = select(table.c.id).where(~_OPEN, table.c.finished_at < ended_before).limit(limit)
        return await self._remove(table, past)


def _request(connection: Connection, job: TickJob, now: int, *, announce: bool) -> Tick:
    # Under the workspace's row lock, so that the loser of a race for a slot sees the winner's row.
    workspace = select(workspaces.c.id).where(workspaces.c.id == job.workspace_id).with_for_update()
    if connection.scalar(workspace) is None:
        raise NotFound("no workspace with this id")
    same = table.c.id == job.id
    if job.slot is not None:
        same = or_(same, and_(table.c.workspace_id == job.workspace_id, table.c.slot == job.slot))
    there = connection.execute(select(*_WHOLE).where(same)).mappings().first()
    if there is not None:
        if there["workspace_id"] != job.workspace_id:
            raise NotFound("no tick with this id")
        return _tick(there)
    row = {
        "id": job.id,
        "workspace_id": job.workspace_id,
        "slot": job.slot,
        "state": TickState.PENDING.value,
        "request": json_text({"actor": job.actor, "extract": job.extract, "ai": job.ai, "dry_run": job.dry_run}),
        "held_until": now,
        "requested_at": now,
    }
    connection.execute(insert_missing(connection, table), row)
    if announce:
        append(connection, [_requested(job, now)])
    return Tick(job=job, state=TickState.PENDING, requested_at=now)


def _hold(connection: Connection, tick_id: str, holder: str, now: int, until: int) -> Tick | None:
    pending = table.c.state == TickState.PENDING.value
    free = or_(pending, table.c.held_until <= now, table.c.holder == holder)
    query = select(*_WHOLE).where(table.c.id == tick_id, _OPEN, free).with_for_update()
    row = connection.execute(query).mappings().first()
    if row is None:
        return None
    started = row["started_at"] or now
    values = {"state": TickState.RUNNING.value, "holder": holder, "held_until": until, "started_at": started}
    connection.execute(update(table).where(table.c.id == tick_id).values(values))
    return _tick({**row, "state": TickState.RUNNING.value, "started_at": started})


def _finish(connection: Connection, tick_id: str, holder: str, report: Mapping[str, Any], error: str, now: int) -> bool:
    row = connection.execute(select(*_PLAIN).where(_held(tick_id, holder)).with_for_update()).mappings().first()
    if row is None:
        return False
    state = TickState.FAILED if error else TickState.COMPLETED
    values = {
        "state": state.value,
        "report": json_text(report),
        "error": error[:ERROR_CHARS],
        "holder": "",
        "held_until": 0,
        "finished_at": now,
    }
    connection.execute(update(table).where(table.c.id == tick_id).values(values))
    public = {name: value for name, value in report.items() if name != _PRIVATE}
    data = TickCompleted(
        workspace_id=row["workspace_id"],
        slot=row["slot"] or tick_id,
        job_id=tick_id,
        state=state.value,
        error=error[:ERROR_CHARS] or None,
        report=public,
    )
    append(connection, [announcement(TICK_COMPLETED, data, tick_id, now)])
    return True


def _announce(connection: Connection, idle_since: int, limit: int, now: int) -> int:
    # Otherwise a tick that nobody can finish would be retried for ever.
    given_up = {"state": TickState.FAILED.value, "error": "nobody finished it within a day", "finished_at": now}
    connection.execute(
        update(table).where(_OPEN, table.c.held_until < idle_since, table.c.requested_at < now - DAY).values(given_up)
    )
    idle = select(*_WHOLE).where(_OPEN, table.c.held_until < idle_since).limit(limit)
    rows = connection.execute(idle.with_for_update(skip_locked=True)).mappings().all()
    for row in rows:
        connection.execute(update(table).where(table.c.id == row["id"]).values(held_until=now))
    append(connection, [_requested(_tick(row).job, now) for row in rows])
    return len(rows)


def _requested(job: TickJob, now: int) -> Announcement:
    data = TickRequested(
        workspace_id=job.workspace_id,
        slot=job.slot or job.id,
        extract=job.extract,
        dry_run=job.dry_run,
        ai=job.ai,
        job_id=job.id,
    )
    return announcement(TICK_REQUESTED, data, job.id, now)


def _held(tick_id: str, holder: str) -> Any:
    return and_(table.c.id == tick_id, table.c.holder == holder, table.c.state == TickState.RUNNING.value)


def _tick(row: RowMapping | Mapping[str, Any]) -> Tick:
    request = orjson.loads(row["request"])
    return Tick(
        job=TickJob(id=row["id"], workspace_id=row["workspace_id"], slot=row["slot"], **request),
        state=TickState(row["state"]),
        requested_at=row["requested_at"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        report=orjson.loads(row.get("report") or "{}"),
        error=row["error"],
    )
