"""Clients' writes to a vault. Rows past their time go with the next request of their workspace."""

from sqlalchemy import Connection, and_, delete, select
from sqlalchemy.sql.elements import ColumnElement

from openbrain.adapters.sql.schema.inserts import insert_rows
from openbrain.adapters.sql.schema.vault_tables import vault_writes as table
from openbrain.domain.errors import Conflict
from openbrain.domain.ids import joined_hash
from openbrain.ports.store.vault import VaultWrite


def claim(connection: Connection, write: VaultWrite, now: int) -> VaultWrite:
    connection.execute(delete(table).where(table.c.workspace_id == write.workspace_id, table.c.expires_at <= now))
    key_hash = joined_hash(write.key)
    row = (write.workspace_id, key_hash, write.content_hash, write.path, write.at, write.expires_at, False)
    insert_rows(connection, table, [row], missing=True)
    claimed = connection.execute(select(table).where(row_of(write))).one()
    if claimed.content_hash != write.content_hash:
        raise Conflict("this idempotency key was used for other content: take a new key for something new")
    return VaultWrite(
        workspace_id=write.workspace_id,
        key=write.key,
        content_hash=claimed.content_hash,
        path=claimed.path,
        at=claimed.at,
        expires_at=claimed.expires_at,
        done=bool(claimed.done),
    )


def row_of(write: VaultWrite) -> ColumnElement[bool]:
    return and_(table.c.workspace_id == write.workspace_id, table.c.key_hash == joined_hash(write.key))
