"""Paused consumer groups, and groups of external readers."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, RowMapping, Table, and_, delete, select

from openbrain.adapters.sql.engine.database import TimedPart
from openbrain.adapters.sql.engine.statements import insert_missing
from openbrain.adapters.sql.schema.tables import group_pauses, outside_groups
from openbrain.ports.streams import OutsideGroup, Pause

_PAUSES = select(group_pauses).order_by(group_pauses.c.name)
"""Built once: every consumer asks every few seconds."""


class SqlGroups(TimedPart):
    """`ports.streams.Groups`."""

    async def pause_group(self, name: str, actor: str, reason: str) -> Pause:
        row = {"name": name, "actor": actor, "reason": reason, "paused_at": self._clock.now()}
        return Pause(**await self._write(_ensured_row, group_pauses, row))

    async def resume_group(self, name: str) -> bool:
        return await self._done_once(_delete, group_pauses, group_pauses.c.name == name)

    async def pauses(self) -> Sequence[Pause]:
        return [Pause(**row) for row in await self._rows(_PAUSES)]

    async def register_group(self, stream: str, name: str, actor: str, reason: str) -> OutsideGroup:
        row = {"stream": stream, "name": name, "actor": actor, "reason": reason, "created_at": self._clock.now()}
        return OutsideGroup(**await self._write(_ensured_row, outside_groups, row))

    async def unregister_group(self, stream: str, name: str) -> bool:
        this = outside_groups.c.stream == stream, outside_groups.c.name == name
        return await self._done_once(_delete, outside_groups, *this)

    async def outside_groups(self) -> Sequence[OutsideGroup]:
        query = select(outside_groups).order_by(outside_groups.c.stream, outside_groups.c.name)
        return [OutsideGroup(**row) for row in await self._rows(query)]


def _ensured_row(connection: Connection, table: Table, row: Mapping[str, Any]) -> RowMapping:
    """Return the row of this key; create it if it is missing."""
    connection.execute(insert_missing(connection, table), row)
    key = and_(*(column == row[column.name] for column in table.primary_key))
    return connection.execute(select(table).where(key)).mappings().one()


def _delete(connection: Connection, table: Table, *these: ColumnElement[bool]) -> int:
    return connection.execute(delete(table).where(*these)).rowcount
