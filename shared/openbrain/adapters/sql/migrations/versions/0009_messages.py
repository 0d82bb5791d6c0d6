"""Messages between agents."""

import sqlalchemy as sa
from alembic import op

from openbrain.adapters.sql.migrations.columns import ascii_name, empty, given, long_text, name, time

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.create_table(
        "mailboxes",
        sa.Column("workspace_id", name(64), primary_key=True),
        sa.Column("agent_id", name(100), primary_key=True),
        time("seq"),
    )
    op.create_table(
        "messages",
        sa.Column("id", ascii_name(36), primary_key=True),
        given("workspace_id", name(64)),
        given("recipient", name(100)),
        time("seq"),
        given("sender", name(100)),
        empty("org", name(128)),
        empty("subject", name(255)),
        given("content", long_text()),
        sa.Column("key_hash", ascii_name(64)),
        given("content_hash", ascii_name(64)),
        time("created_at"),
        sa.Column("read_at", sa.BigInteger),
    )
    whose = ["workspace_id", "recipient"]
    op.create_index("uq_messages_workspace_id_recipient_seq", "messages", [*whose, "seq"], unique=True)
    op.create_index("uq_messages_workspace_id_key_hash", "messages", ["workspace_id", "key_hash"], unique=True)
    op.create_index("ix_messages_workspace_id_recipient_read_at", "messages", [*whose, "read_at", "seq"])
    both = ["workspace_id", "sender", "recipient", "created_at", "id"]
    op.create_index("ix_messages_workspace_id_sender", "messages", both)
    op.create_index("ix_messages_created_at", "messages", ["created_at"])


def downgrade() -> None:
    op.drop_table("messages")
    op.drop_table("mailboxes")
