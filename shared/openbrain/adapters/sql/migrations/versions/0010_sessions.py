"""Sessions and their agents; an index over scope and agent."""

import sqlalchemy as sa
from alembic import op

from openbrain.adapters.sql.migrations.columns import ascii_name, empty, given, long_text, name, time

revision = "0010"
down_revision = "0009"

_BY_SCOPE = "ix_memories_workspace_id_memory_scope"


def upgrade() -> None:
    op.create_table(
        "sessions",
        sa.Column("workspace_id", name(64), primary_key=True),
        sa.Column("id", name(255), primary_key=True),
        sa.Column("agent_id", name(100), primary_key=True),
        empty("org", name(128)),
        empty("project", name(255)),
        given("policy", ascii_name(16)),
        sa.Column("days", sa.Integer, nullable=False),
        given("invited", long_text()),
        time("started_at"),
        sa.Column("ended_at", sa.BigInteger),
        sa.Column("hand_over_id", ascii_name(36)),
    )
    op.create_table(
        "session_agents",
        sa.Column("workspace_id", name(64), primary_key=True),
        sa.Column("session_id", name(255), primary_key=True),
        sa.Column("agent_id", name(100), primary_key=True),
        given("owner", name(100)),
        time("started_at"),
    )
    mine = ["workspace_id", "agent_id", "started_at", "session_id"]
    op.create_index("ix_session_agents_workspace_id_agent_id", "session_agents", mine)
    op.create_index(_BY_SCOPE, "memories", ["workspace_id", "memory_scope", "agent_id", "created_at", "id"])


def downgrade() -> None:
    op.drop_index(_BY_SCOPE, table_name="memories")
    op.drop_table("session_agents")
    op.drop_table("sessions")
