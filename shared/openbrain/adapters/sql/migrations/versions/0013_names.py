"""Names of memories."""

import sqlalchemy as sa
from alembic import op

from openbrain.adapters.sql.migrations.columns import empty, long_text, name

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    op.add_column("memories", empty("title", name(200)))
    op.add_column("memories", sa.Column("aliases", long_text()))


def downgrade() -> None:
    op.drop_column("memories", "aliases")
    op.drop_column("memories", "title")
