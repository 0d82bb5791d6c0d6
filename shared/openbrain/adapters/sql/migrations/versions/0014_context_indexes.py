"""Indexes for the boot context: a project's newest memories, and its last hand-overs."""

from alembic import op

revision = "0014"
down_revision = "0013"

_BY_PROJECT = "ix_memories_workspace_id_project"
_HAND_OVERS = "ix_sessions_workspace_id_project"


def upgrade() -> None:
    columns = ["workspace_id", "project", "memory_scope", "created_at", "id", "type"]
    op.create_index(_BY_PROJECT, "memories", columns)
    op.create_index(_HAND_OVERS, "sessions", ["workspace_id", "project", "ended_at"])


def downgrade() -> None:
    op.drop_index(_HAND_OVERS, table_name="sessions")
    op.drop_index(_BY_PROJECT, table_name="memories")
