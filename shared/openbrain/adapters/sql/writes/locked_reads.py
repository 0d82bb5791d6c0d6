"""Reads rows for a transaction that changes them."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Connection, select

from openbrain.adapters.sql.memories.rows import locked_rows
from openbrain.adapters.sql.schema.memory_rows import WHOLE, memory_from_row
from openbrain.adapters.sql.schema.tables import memories, memory_lineage
from openbrain.domain.memory import Memory


def locked(connection: Connection, memory_id: str) -> Memory | None:
    """Return the row, locked until the transaction ends."""
    return next(iter(locked_rows(connection, memories.c.id == memory_id)), None)


def by_id(connection: Connection, ids: Sequence[str]) -> dict[str, Memory]:
    return {memory.id: memory for memory in _all(connection, memories.c.id.in_(ids))} if ids else {}


def holders(connection: Connection, keys: Sequence[str]) -> dict[str, Memory]:
    """Return the memories that hold these duplicate keys."""
    if not keys:
        return {}
    query = select(memories.c.dedupe_key, *WHOLE).where(memories.c.dedupe_key.in_(keys))
    return {row[0]: memory_from_row(row[1:]) for row in connection.execute(query)}


def head(connection: Connection, memory_id: str) -> Memory | None:
    """Return the live end of the chain that a superseded memory belongs to."""
    start = select(memory_lineage.c.child_id).where(memory_lineage.c.parent_id == memory_id)
    chain = start.cte("chain", recursive=True)
    # UNION, not UNION ALL: terminates even if there is a cycle.
    chain = chain.union(
        select(memory_lineage.c.child_id).join_from(
            memory_lineage, chain, memory_lineage.c.parent_id == chain.c.child_id
        )
    )
    living = memories.c.id.in_(select(chain.c.child_id)), memories.c.reason.is_(None)
    rows = _all(connection, *living)
    return rows[0] if rows else None


def _all(connection: Connection, *where: ColumnElement[bool]) -> list[Memory]:
    return [memory_from_row(row) for row in connection.execute(select(*WHOLE).where(*where))]
