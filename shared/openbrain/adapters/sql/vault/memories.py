"""The memories that were made of a vault's markers, and clients' writes to it.

Expired rows of writes are deleted by the next request of their workspace.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from sqlalchemy import ColumnElement, Connection, and_, delete, select, tuple_, update

from openbrain.adapters.sql.engine.database import TimedPart
from openbrain.adapters.sql.engine.statements import among, chunks, slots
from openbrain.adapters.sql.schema.inserts import insert_rows
from openbrain.adapters.sql.schema.vault_tables import vault_memories as table
from openbrain.adapters.sql.schema.vault_tables import vault_writes
from openbrain.domain.errors import Conflict
from openbrain.domain.ids import joined_hash
from openbrain.ports.store.vault import VaultMemory, VaultWrite

_NO_ARC = ""
"""The arc of the row with the digest: no real arc has this name."""
_MARKERS = table.c.arc != _NO_ARC
_REPLACE = f"REPLACE INTO {table.name} ({', '.join(table.columns.keys())}) VALUES ({{}})"  # noqa: S608 - of our table
"""Both databases support this statement."""


class SqlVault(TimedPart):
    """`ports.vault.Vault`."""

    async def vault_memories(self, workspace_id: str) -> Sequence[VaultMemory]:
        columns = (table.c.arc, table.c.marker, table.c.memory_id, table.c.content_hash, table.c.project)
        query = select(*columns).where(table.c.workspace_id == workspace_id, _MARKERS)
        ordered = query.order_by(table.c.arc, table.c.marker)
        return [VaultMemory(**row) for row in await self._rows(ordered)]

    async def record_vault_memories(
        self, workspace_id: str, put: Sequence[VaultMemory], drop: Collection[tuple[str, str]]
    ) -> None:
        now = self._clock.now()
        rows = {
            (item.arc, item.marker): (
                *(workspace_id, item.arc, item.marker, item.memory_id, item.content_hash),
                *(now, item.project),
            )
            for item in put
        }
        dropped, new = sorted({*drop} - rows.keys()), [row for _, row in sorted(rows.items())]
        await self._write(_replace, workspace_id, dropped, new)

    async def vault_digest(self, workspace_id: str) -> str:
        query = select(table.c.content_hash).where(table.c.workspace_id == workspace_id, table.c.arc == _NO_ARC)
        return await self._scalar(query) or ""

    async def note_vault_digest(self, workspace_id: str, digest: str) -> None:
        row = VaultMemory(arc=_NO_ARC, marker="", memory_id="", content_hash=digest)
        await self.record_vault_memories(workspace_id, [row], ())

    async def memories_of_arcs(self, workspace_id: str, arcs: Collection[str]) -> Mapping[str, tuple[str, ...]]:
        names = sorted({arc for arc in arcs if arc != _NO_ARC})
        return await self._read(_of_arcs, workspace_id, names)

    async def claim_vault_write(self, write: VaultWrite) -> VaultWrite:
        return await self._write(_claim, write, self._clock.now())

    async def finish_vault_write(self, write: VaultWrite) -> None:
        await self._change(update(vault_writes).where(_row_of(write)).values(done=True))


def _replace(
    connection: Connection, workspace_id: str, dropped: Sequence[tuple[str, str]], new: Sequence[tuple[object, ...]]
) -> None:
    for some in chunks(dropped):
        mine = and_(table.c.workspace_id == workspace_id, tuple_(table.c.arc, table.c.marker).in_(some))
        connection.execute(delete(table).where(mine))
    for part in chunks(new):
        connection.exec_driver_sql(_REPLACE.format(slots(connection, len(table.columns))), part)


def _of_arcs(connection: Connection, workspace_id: str, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    by_arc: dict[str, dict[str, None]] = {}
    query = select(table.c.arc, table.c.memory_id).where(table.c.workspace_id == workspace_id)
    query = query.order_by(table.c.arc, table.c.memory_id)
    for arc, memory_id in among(connection, query, table.c.arc, names):
        by_arc.setdefault(arc, {})[memory_id] = None
    return {arc: tuple(ids) for arc, ids in by_arc.items()}


def _claim(connection: Connection, write: VaultWrite, now: int) -> VaultWrite:
    connection.execute(
        delete(vault_writes).where(vault_writes.c.workspace_id == write.workspace_id, vault_writes.c.expires_at <= now)
    )
    key_hash = joined_hash(write.key)
    row = (write.workspace_id, key_hash, write.content_hash, write.path, write.at, write.expires_at, False)
    insert_rows(connection, vault_writes, [row], missing=True)
    claimed = connection.execute(select(vault_writes).where(_row_of(write))).one()
    if claimed.content_hash != write.content_hash:
        raise Conflict("this idempotency key was used for other content: take a new key for something new")
    return replace(write, path=claimed.path, at=claimed.at, expires_at=claimed.expires_at, done=bool(claimed.done))


def _row_of(write: VaultWrite) -> ColumnElement[bool]:
    return and_(vault_writes.c.workspace_id == write.workspace_id, vault_writes.c.key_hash == joined_hash(write.key))
