"""Until when quiet does not resolve a signal."""

import sqlalchemy as sa
from alembic import op

from openbrain.adapters.sql.migrations.columns import zero

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.add_column("signals", zero("held_until", sa.BigInteger))


def downgrade() -> None:
    op.drop_column("signals", "held_until")
