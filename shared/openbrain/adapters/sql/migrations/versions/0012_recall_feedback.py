"""Feedback on recalls."""

import sqlalchemy as sa
from alembic import op

from openbrain.adapters.sql.migrations.columns import ascii_name, empty, given, name, time

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.create_table(
        "recall_feedback",
        sa.Column("recall_id", ascii_name(36), primary_key=True),
        sa.Column("memory_id", ascii_name(36), primary_key=True),
        given("workspace_id", name(64)),
        given("actor", name(100)),
        given("verdict", ascii_name(16)),
        sa.Column("step", sa.Float(53), nullable=False),
        empty("reason", name(500)),
        time("at"),
    )
    op.create_index("ix_recall_feedback_workspace_id", "recall_feedback", ["workspace_id"])
    op.create_index("ix_recall_feedback_memory_id_at", "recall_feedback", ["memory_id", "at"])


def downgrade() -> None:
    op.drop_table("recall_feedback")
