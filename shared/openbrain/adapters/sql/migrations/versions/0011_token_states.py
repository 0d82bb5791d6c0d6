"""Token states beside the vectors."""

import sqlalchemy as sa
from alembic import op

from openbrain.adapters.sql.migrations.columns import long_bytes

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.add_column("embeddings", sa.Column("states", long_bytes()))


def downgrade() -> None:
    op.drop_column("embeddings", "states")
