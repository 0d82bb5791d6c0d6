"""On SQLite, an index of the memories that are turns, by id."""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"

_NAME = "ix_memories_turns"


def upgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        op.create_index(_NAME, "memories", ["id"], sqlite_where=sa.text("turn IS NOT NULL"))


def downgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        op.drop_index(_NAME, table_name="memories")
