"""The writers of the indexes, and the generations that each knows. Entries expire by the database's clock."""

from collections.abc import Mapping, Sequence

import orjson
from sqlalchemy import Connection, delete, select, text

from openbrain.adapters.sql.engine.database import Part
from openbrain.adapters.sql.engine.statements import NOW_MARIADB, NOW_SQLITE, database_now, is_sqlite
from openbrain.adapters.sql.indexes.generations import read_all, written_of
from openbrain.adapters.sql.schema.tables import index_writers as table
from openbrain.domain.memory import HOUR, MICROSECONDS
from openbrain.ports.store.generations import Generation, IndexKind, IndexWriter

_CONFIRM = """INSERT INTO index_writers (consumer, kind, builder, names, expires_at)
 VALUES (:consumer, :kind, :builder, :names, {now} + :span) {otherwise}"""
_OTHERWISE_SQLITE = """ON CONFLICT (consumer, kind) DO UPDATE SET
 builder = excluded.builder, names = excluded.names, expires_at = excluded.expires_at"""
_OTHERWISE_MARIADB = """ON DUPLICATE KEY UPDATE
 builder = VALUES(builder), names = VALUES(names), expires_at = VALUES(expires_at)"""

_CONFIRM_SQLITE = text(_CONFIRM.format(now=NOW_SQLITE, otherwise=_OTHERWISE_SQLITE))
_CONFIRM_MARIADB = text(_CONFIRM.format(now=NOW_MARIADB, otherwise=_OTHERWISE_MARIADB))


class SqlIndexWriters(Part):
    """`ports.generations.IndexWriters`."""

    async def confirm(self, consumer: str, kind: IndexKind, builder: str, seconds: float) -> Sequence[Generation]:
        row = {"consumer": consumer, "kind": kind.value, "builder": builder, "span": round(seconds * MICROSECONDS)}
        return await self._write(_confirm, kind, row)

    async def withdraw(self, consumer: str, kind: IndexKind) -> None:
        await self._change(delete(table).where(table.c.consumer == consumer, table.c.kind == kind.value))

    async def writers(self, kind: IndexKind) -> Sequence[IndexWriter]:
        return await self._read(_writers, kind)

    async def purge_writers(self) -> int:
        return await self._write(_purge)


def _confirm(connection: Connection, kind: IndexKind, row: Mapping[str, object]) -> list[Generation]:
    # A shared lock: writers don't block each other, only changes of the generations.
    written = read_all(connection, written_of(kind).with_for_update(read=True))
    names = orjson.dumps(sorted(item.name for item in written)).decode()
    connection.execute(_CONFIRM_SQLITE if is_sqlite(connection) else _CONFIRM_MARIADB, {**row, "names": names})
    return written


def _writers(connection: Connection, kind: IndexKind) -> list[IndexWriter]:
    living = table.c.expires_at > database_now(connection)
    query = select(table).where(table.c.kind == kind.value, living).order_by(table.c.consumer)
    return [
        IndexWriter(
            consumer=row["consumer"], kind=kind, builder=row["builder"], names=frozenset(orjson.loads(row["names"]))
        )
        for row in connection.execute(query).mappings()
    ]


def _purge(connection: Connection) -> int:
    gone = table.c.expires_at < database_now(connection) - HOUR
    return connection.execute(delete(table).where(gone)).rowcount
