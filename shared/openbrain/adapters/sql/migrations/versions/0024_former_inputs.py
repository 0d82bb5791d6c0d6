"""Model inputs of earlier revisions, so that an erased memory takes their vectors along."""

import sqlalchemy as sa
from alembic import op

from openbrain.adapters.sql.migrations.columns import ascii_name

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    op.create_table(
        "former_inputs",
        sa.Column("memory_id", ascii_name(36), primary_key=True),
        sa.Column("input_hash", ascii_name(64), primary_key=True),
    )


def downgrade() -> None:
    op.drop_table("former_inputs")
