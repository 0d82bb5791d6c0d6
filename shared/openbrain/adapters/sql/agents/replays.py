"""Replays of standing queries, and their progress."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, delete, func, select, update

from openbrain.adapters.sql.agents.standing_queries import begin_replay, query_from_row
from openbrain.adapters.sql.engine.database import Part
from openbrain.adapters.sql.schema.agent_tables import LIVE_QUERY, standing_queries, standing_replays
from openbrain.domain.errors import NotFound
from openbrain.ports.subscriptions import Replay


class SqlReplays(Part):
    """`ports.subscriptions.Replays`."""

    async def start_replay(self, replay: Replay) -> None:
        await self._write(_start, replay)

    async def replays(self, limit: int) -> Sequence[Replay]:
        query = select(standing_replays).join(standing_queries, _QUERY).where(LIVE_QUERY)
        return await self._read(_replays, query.order_by(func.random()).limit(limit))

    async def replays_of(self, ids: Sequence[str]) -> Mapping[str, Replay]:
        query = select(standing_replays).where(standing_replays.c.query_id.in_(ids))
        replays = await self._read(_replays, query)
        return {replay.query.id: replay for replay in replays}

    async def replayed(self, replay: Replay, before: tuple[int, str] | None) -> None:
        this = _as_read(replay)
        if before is None:
            await self._change(delete(standing_replays).where(this))
        else:
            await self._change(update(standing_replays).where(this).values(before_at=before[0], before_id=before[1]))


_QUERY = standing_queries.c.id == standing_replays.c.query_id


def _as_read(replay: Replay) -> ColumnElement[bool]:
    table, (at, memory_id) = standing_replays.c, replay.before
    place = and_(table.before_at == at, table.before_id == memory_id)
    return and_(table.query_id == replay.query.id, table.since == replay.since, table.again.is_(replay.again), place)


def _start(connection: Connection, replay: Replay) -> None:
    if not begin_replay(connection, replay):
        raise NotFound("no subscription with this id")


def _replays(connection: Connection, query: Select[Any]) -> list[Replay]:
    rows = connection.execute(query).all()
    if not rows:
        return []
    named = select(standing_queries).where(standing_queries.c.id.in_([row.query_id for row in rows]))
    queries = {row["id"]: query_from_row(row) for row in connection.execute(named).mappings()}
    return [
        Replay(
            query=queries[row.query_id],
            since=row.since,
            before=(row.before_at, row.before_id),
            again=bool(row.again),
        )
        for row in rows
        if row.query_id in queries
    ]
