"""Index over what an agent keeps, the surest first: a context reads the two hundred that it tells of, not all."""

from alembic import op

revision = "0022"
down_revision = "0021"

_NAME = "ix_memories_workspace_id_confidence"


def upgrade() -> None:
    # The project stands last: others are passed over without their rows.
    columns = ["workspace_id", "memory_scope", "agent_id", "confidence", "created_at", "id", "project"]
    op.create_index(_NAME, "memories", columns)


def downgrade() -> None:
    op.drop_index(_NAME, table_name="memories")
