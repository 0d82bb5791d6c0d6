"""Index failures, usage of memories and leases; an index of due memories without the expired ones."""

import sqlalchemy as sa
from alembic import op

from openbrain.adapters.sql.migrations.columns import ascii_name, empty, given, name, time, zero

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    for index in ("text", "vector"):
        op.add_column("memories", empty(f"{index}_error", name(1000)))
        op.add_column("memories", zero(f"{index}_error_revision", sa.BigInteger))
    # Expired rows stay: an index on the time alone would be walked through all of them, every second.
    op.create_index("ix_memories_reason_expires_at", "memories", ["reason", "expires_at"])
    op.drop_index("ix_memories_expires_at", "memories")
    op.create_table(
        "memory_usage",
        sa.Column("memory_id", ascii_name(36), primary_key=True),
        zero("recall_count"),
        sa.Column("last_recalled_at", sa.BigInteger),
        zero("used"),
        zero("ignored"),
    )
    op.create_table(
        "leases",
        sa.Column("name", name(100), primary_key=True),
        given("holder", name(200)),
        time("expires_at"),
    )


def downgrade() -> None:
    op.drop_table("leases")
    op.drop_table("memory_usage")
    op.create_index("ix_memories_expires_at", "memories", ["expires_at"])
    op.drop_index("ix_memories_reason_expires_at", "memories")
    for index in ("text", "vector"):
        op.drop_column("memories", f"{index}_error_revision")
        op.drop_column("memories", f"{index}_error")
