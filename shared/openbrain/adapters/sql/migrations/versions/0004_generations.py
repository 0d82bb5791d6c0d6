"""Generations beside the one that serves, and who writes them; what operators said of groups of streams."""

import sqlalchemy as sa
from alembic import op

from openbrain.adapters.sql.migrations.columns import ascii_name, empty, given, long_text, name, time, zero

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.add_column("index_generations", empty("model_name", name(255)))
    op.add_column("index_generations", zero("updated_at", sa.BigInteger))
    op.create_table(
        "index_writers",
        sa.Column("consumer", name(200), primary_key=True),
        sa.Column("kind", ascii_name(8), primary_key=True),
        given("builder", ascii_name(64)),
        given("names", long_text()),
        time("expires_at"),
    )
    op.create_table(
        "group_pauses",
        sa.Column("name", name(100), primary_key=True),
        given("actor", name(100)),
        empty("reason", name(500)),
        time("paused_at"),
    )
    op.create_table(
        "outside_groups",
        sa.Column("stream", name(255), primary_key=True),
        sa.Column("name", name(100), primary_key=True),
        given("actor", name(100)),
        empty("reason", name(500)),
        time("created_at"),
    )


def downgrade() -> None:
    op.drop_table("outside_groups")
    op.drop_table("group_pauses")
    op.drop_table("index_writers")
    op.drop_column("index_generations", "updated_at")
    op.drop_column("index_generations", "model_name")
