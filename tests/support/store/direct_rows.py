"""Rows inserted directly into the database: states that no single call produces."""

from typing import Any

from sqlalchemy import Connection, Table, insert

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.schema.inserts import insert_rows
from openbrain.adapters.sql.schema.memory_rows import row_from_memory
from openbrain.adapters.sql.schema.tables import memories, memory_lineage
from openbrain.domain.memory import Memory


async def put(database: Database, *rows: Memory) -> None:
    """Insert these memories unchanged, without history or events."""

    def fill(connection: Connection) -> None:
        insert_rows(connection, memories, [row_from_memory(row, None) for row in rows])

    await database.write(fill)


async def put_lineage(database: Database, *links: tuple[str, str, int]) -> None:
    """Insert lineage rows: (child, parent, created_at)."""
    named = [
        {"child_id": child, "parent_id": parent, "kind": "superseded", "created_at": at} for child, parent, at in links
    ]
    await put_into(database, memory_lineage, *named)


async def put_into(database: Database, table: Table, *rows: dict[str, Any]) -> None:
    """Insert rows into any table."""

    def fill(connection: Connection) -> None:
        connection.execute(insert(table), list(rows))

    await database.write(fill)
