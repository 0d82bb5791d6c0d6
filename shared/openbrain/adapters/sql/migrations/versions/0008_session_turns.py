"""Index over session and turn."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

_NAME = "ix_memories_session_id_turn"


def upgrade() -> None:
    columns = ["workspace_id", "session_id", "turn"]
    op.create_index(_NAME, "memories", columns, sqlite_where=sa.text("turn IS NOT NULL"))


def downgrade() -> None:
    op.drop_index(_NAME, table_name="memories")
