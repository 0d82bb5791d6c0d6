"""Tables of lifecycle operations: changes with the data to undo them, and the policies of workspaces."""

from sqlalchemy import BigInteger, Column, ColumnElement, Index, Integer, Table, select

from openbrain.adapters.sql.schema.column_types import ascii_name, empty, long_text, metadata, name, serial

operation_changes = Table(
    "operation_changes",
    metadata,
    # Ascending in the order of the changes.
    Column("id", serial(), primary_key=True, autoincrement=True),
    Column("workspace_id", name(64), nullable=False, index=True),
    Column("operation_id", ascii_name(36), nullable=False),
    Column("memory_id", ascii_name(36), nullable=False, index=True),
    Column("action", ascii_name(16), nullable=False),
    Column("why", name(500), nullable=False),
    # The memory's version after the change.
    Column("version", Integer, nullable=False),
    Column("into_id", ascii_name(36)),
    # The columns that differ, with their old values.
    Column("before", long_text(), nullable=False),
    Column("at", BigInteger, nullable=False, index=True),
    # The result of undoing it; '' before.
    empty("undone", ascii_name(16)),
    # An operation changes a memory once.
    Index("uq_operation_changes_operation_id", "operation_id", "memory_id", unique=True),
    sqlite_autoincrement=True,
)

lifecycle_policies = Table(
    "lifecycle_policies",
    metadata,
    Column("workspace_id", name(64), primary_key=True),
    # As given, in JSON.
    Column("document", long_text(), nullable=False),
    # The filters of its legal holds, in JSON: read by every transaction that removes something.
    Column("holds", long_text(), nullable=False),
    Column("actor", name(100), nullable=False),
    Column("updated_at", BigInteger, nullable=False),
)


def without_hold(workspace: ColumnElement[str]) -> ColumnElement[bool]:
    """Return the condition that the workspace has no legal hold. For rows whose relation to a hold is unknown: none of
    them is removed while there is one."""
    holding = select(lifecycle_policies.c.workspace_id).where(lifecycle_policies.c.holds != "[]")
    return workspace.not_in(holding)
