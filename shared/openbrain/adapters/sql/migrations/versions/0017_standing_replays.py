"""Replays of standing queries."""

import sqlalchemy as sa
from alembic import op

from openbrain.adapters.sql.migrations.columns import ascii_name, given, name, time

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    op.create_table(
        "standing_replays",
        sa.Column("query_id", ascii_name(36), primary_key=True),
        given("workspace_id", name(64)),
        time("since"),
        time("before_at"),
        given("before_id", ascii_name(36)),
        sa.Column("again", sa.Boolean, nullable=False),
    )
    op.create_index("ix_standing_replays_workspace_id", "standing_replays", ["workspace_id"])


def downgrade() -> None:
    op.drop_table("standing_replays")
