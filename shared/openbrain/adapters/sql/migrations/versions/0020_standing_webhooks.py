"""Webhooks of standing queries."""

import sqlalchemy as sa
from alembic import op

from openbrain.adapters.sql.migrations.columns import ascii_name, empty, given, name, time, zero

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    op.create_table(
        "standing_webhooks",
        sa.Column("id", ascii_name(36), primary_key=True),
        given("workspace_id", name(64)),
        given("url", name(2000)),
        given("secret", name(255)),
        time("cursor_seq"),
        zero("attempts"),
        zero("next_attempt_at", sa.BigInteger),
        sa.Column("delivered_at", sa.BigInteger),
        zero("given_up"),
        empty("error", name(1000)),
    )
    for column in ("workspace_id", "next_attempt_at"):
        op.create_index(f"ix_standing_webhooks_{column}", "standing_webhooks", [column])


def downgrade() -> None:
    op.drop_table("standing_webhooks")
