"""Tables of lifecycle operations: what each changed, and how that is undone; each workspace's policies."""

from sqlalchemy import BigInteger, Column, ColumnElement, Index, Integer, Table, select

from openbrain.adapters.sql.schema.column_types import ascii_name, empty, long_text, metadata, name, serial

operation_changes = Table(
    "operation_changes",
    metadata,
    # In the order of the changes.
    Column("id", serial(), primary_key=True, autoincrement=True),
    Column("workspace_id", name(64), nullable=False, index=True),
    Column("operation_id", ascii_name(36), nullable=False),
    Column("memory_id", ascii_name(36), nullable=False, index=True),
    Column("action", ascii_name(16), nullable=False),
    Column("why", name(500), nullable=False),
    # Of the memory, when this was done.
    Column("version", Integer, nullable=False),
    Column("into_id", ascii_name(36)),
    # The columns that differ, as they were.
    Column("before", long_text(), nullable=False),
    Column("at", BigInteger, nullable=False, index=True),
    # What became of it; '' until it is to be undone.
    empty("undone", ascii_name(16)),
    # An operation changes a memory once.
    Index("uq_operation_changes_operation_id", "operation_id", "memory_id", unique=True),
    sqlite_autoincrement=True,
)

lifecycle_policies = Table(
    "lifecycle_policies",
    metadata,
    Column("workspace_id", name(64), primary_key=True),
    # As it was given, JSON.
    Column("document", long_text(), nullable=False),
    # The filters of its legal holds, as JSON: asked for by every transaction that lets something go.
    Column("holds", long_text(), nullable=False),
    Column("actor", name(100), nullable=False),
    Column("updated_at", BigInteger, nullable=False),
)


def without_hold(workspace: ColumnElement[str]) -> ColumnElement[bool]:
    """Whether no legal hold stands in that workspace: of what can't be told whether it bears on one, nothing goes."""
    holding = select(lifecycle_policies.c.workspace_id).where(lifecycle_policies.c.holds != "[]")
    return workspace.not_in(holding)
