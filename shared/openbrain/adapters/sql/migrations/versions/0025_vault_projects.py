"""The project of a marker's memory, so that a page that is given another one moves it."""

import sqlalchemy as sa
from alembic import op

from openbrain.adapters.sql.migrations.columns import name

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    op.add_column("vault_memories", sa.Column("project", name(255), nullable=True))


def downgrade() -> None:
    op.drop_column("vault_memories", "project")
