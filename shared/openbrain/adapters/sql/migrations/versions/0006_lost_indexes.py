"""Whether the index of a generation is the one that was filled."""

import sqlalchemy as sa
from alembic import op

from openbrain.adapters.sql.migrations.columns import zero

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.add_column("index_generations", zero("epoch", sa.BigInteger))
    op.add_column("index_generations", zero("lost_at", sa.BigInteger))


def downgrade() -> None:
    op.drop_column("index_generations", "lost_at")
    op.drop_column("index_generations", "epoch")
