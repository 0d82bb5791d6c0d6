"""Operations that outlive a request, what was recalled, quotas, limits of a key."""

import sqlalchemy as sa
from alembic import op

from openbrain.adapters.sql.migrations.columns import ascii_name, empty, given, long_text, name, time, zero

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    for column in ("max_memories", "max_bytes", "deleted_at"):
        op.add_column("workspaces", sa.Column(column, sa.BigInteger))
    op.add_column("api_keys", sa.Column("rate_limit", sa.Integer))
    op.add_column("api_keys", sa.Column("replaces_id", ascii_name(36)))
    op.create_table(
        "workspace_usage",
        sa.Column("workspace_id", name(64), primary_key=True),
        time("memories"),
        time("bytes"),
        time("counted_at"),
    )
    op.create_table(
        "recalls",
        sa.Column("id", ascii_name(36), primary_key=True),
        given("workspace_id", name(64)),
        empty("agent_id", name(100)),
        given("query", long_text()),
        given("results", long_text()),
        sa.Column("took_ms", sa.Float(53), nullable=False),
        time("created_at"),
    )
    op.create_index("ix_recalls_created_at", "recalls", ["created_at"])
    op.create_index("ix_recalls_workspace_id_created_at", "recalls", ["workspace_id", "created_at"])
    op.create_table(
        "operations",
        sa.Column("id", ascii_name(36), primary_key=True),
        given("workspace_id", name(64)),
        given("kind", ascii_name(32)),
        given("status", ascii_name(16)),
        given("actor", name(100)),
        given("request", long_text()),
        zero("done"),
        sa.Column("total", sa.Integer),
        sa.Column("result", long_text()),
        empty("error", name(1000)),
        sa.Column("cancel_requested", sa.Boolean, nullable=False),
        empty("holder", name(200)),
        zero("held_until", sa.BigInteger),
        time("created_at"),
        time("updated_at"),
        sa.Column("finished_at", sa.BigInteger),
    )
    op.create_index("ix_operations_workspace_id_created_at", "operations", ["workspace_id", "created_at", "id"])
    op.create_index("ix_operations_status_held_until", "operations", ["status", "held_until"])


def downgrade() -> None:
    for table in ("operations", "recalls", "workspace_usage"):
        op.drop_table(table)
    op.drop_column("api_keys", "replaces_id")
    op.drop_column("api_keys", "rate_limit")
    for column in ("deleted_at", "max_bytes", "max_memories"):
        op.drop_column("workspaces", column)
