"""Changes made by lifecycle operations, and the policies by which they run."""

import sqlalchemy as sa
from alembic import op

from openbrain.adapters.sql.migrations.columns import ascii_name, empty, given, long_text, name, serial, time

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    op.create_table(
        "operation_changes",
        sa.Column("id", serial(), primary_key=True, autoincrement=True),
        given("workspace_id", name(64)),
        given("operation_id", ascii_name(36)),
        given("memory_id", ascii_name(36)),
        given("action", ascii_name(16)),
        given("why", name(500)),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("into_id", ascii_name(36)),
        given("before", long_text()),
        time("at"),
        empty("undone", ascii_name(16)),
        sqlite_autoincrement=True,
    )
    for column in ("workspace_id", "memory_id", "at"):
        op.create_index(f"ix_operation_changes_{column}", "operation_changes", [column])
    op.create_index(
        "uq_operation_changes_operation_id", "operation_changes", ["operation_id", "memory_id"], unique=True
    )
    op.create_table(
        "lifecycle_policies",
        sa.Column("workspace_id", name(64), primary_key=True),
        given("document", long_text()),
        given("holds", long_text()),
        given("actor", name(100)),
        time("updated_at"),
    )


def downgrade() -> None:
    for table in ("lifecycle_policies", "operation_changes"):
        op.drop_table(table)
