"""Signals, halts, who listens, what was broadcast; ticks of the vault and the memories made of it."""

import sqlalchemy as sa
from alembic import op

from openbrain.adapters.sql.migrations.columns import (
    ascii_name,
    empty,
    given,
    long_bytes,
    long_text,
    name,
    serial,
    time,
    zero,
)

revision = "0005"
down_revision = "0004"

_TABLES = (
    *("signals", "signal_keys", "signal_history", "signal_acks", "halts", "halt_acks", "subscribers", "broadcasts"),
    *("webhooks", "webhook_dead_letters", "ticks", "vault_memories", "vault_writes"),
)


def upgrade() -> None:
    op.add_column("workspaces", zero("signal_seq", sa.BigInteger))
    _signals()
    _halts()
    _log()
    _vault()


def downgrade() -> None:
    for table in reversed(_TABLES):
        op.drop_table(table)
    op.drop_column("workspaces", "signal_seq")


def _signals() -> None:
    op.create_table(
        "signals",
        sa.Column("id", ascii_name(36), primary_key=True),
        given("workspace_id", name(64)),
        given("identity", ascii_name(64)),
        sa.Column("open_key", ascii_name(64)),
        given("source", name(255)),
        given("title", name(255)),
        given("content", long_text()),
        given("content_hash", ascii_name(64)),
        sa.Column("severity", sa.Integer, nullable=False),
        sa.Column("broadcast_severity", sa.Integer, nullable=False),
        given("state", ascii_name(16)),
        empty("org", name(128)),
        empty("project", name(255)),
        empty("dedup_key", name(255)),
        sa.Column("count", sa.BigInteger, nullable=False),
        sa.Column("storm", sa.Boolean, nullable=False),
        time("first_raised_at"),
        time("last_raised_at"),
        time("text_at"),
        time("quiet_since"),
        time("told_at"),
        sa.Column("expires_at", sa.BigInteger),
        sa.Column("acknowledged_at", sa.BigInteger),
        empty("acknowledged_by", name(100)),
        sa.Column("ended_at", sa.BigInteger),
        empty("ended_by", name(100)),
        empty("note", name(500)),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("worsened_seq", sa.BigInteger, nullable=False),
        sa.Column("due_at", sa.BigInteger),
        sa.UniqueConstraint("open_key", name="uq_signals_open_key"),
    )
    op.create_index("ix_signals_due_at", "signals", ["due_at"])
    op.create_index("ix_signals_workspace_id_first_raised_at", "signals", ["workspace_id", "first_raised_at", "id"])
    op.create_index(
        "ix_signals_workspace_id_state", "signals", ["workspace_id", "state", "broadcast_severity", "last_raised_at"]
    )
    op.create_index("ix_signals_workspace_id_source", "signals", ["workspace_id", "source", "first_raised_at"])
    op.create_table(
        "signal_keys",
        sa.Column("workspace_id", name(64), primary_key=True),
        sa.Column("key_hash", ascii_name(64), primary_key=True),
        given("signal_id", ascii_name(36)),
        given("raised_hash", ascii_name(64)),
        time("expires_at"),
    )
    op.create_index("ix_signal_keys_expires_at", "signal_keys", ["expires_at"])
    op.create_table(
        "signal_history",
        sa.Column("id", serial(), primary_key=True, autoincrement=True),
        given("workspace_id", name(64)),
        given("signal_id", ascii_name(36)),
        empty("halt_id", ascii_name(36)),
        sa.Column("seq", sa.BigInteger, nullable=False),
        given("step", ascii_name(16)),
        given("actor", name(100)),
        time("at"),
        given("state", ascii_name(16)),
        sa.Column("severity", sa.Integer, nullable=False),
        sa.Column("broadcast_severity", sa.Integer, nullable=False),
        sa.Column("count", sa.BigInteger, nullable=False),
        empty("note", name(500)),
    )
    op.create_index("ix_signal_history_signal_id", "signal_history", ["signal_id"])
    _acks("signal_acks", "signal_id")


def _acks(table: str, of: str) -> None:
    op.create_table(
        table,
        sa.Column(of, ascii_name(36), primary_key=True),
        sa.Column("agent_id", name(100), primary_key=True),
        given("workspace_id", name(64)),
        time("at"),
    )


def _halts() -> None:
    op.create_table(
        "halts",
        sa.Column("id", ascii_name(36), primary_key=True),
        given("workspace_id", name(64)),
        given("signal_id", ascii_name(36)),
        given("scope", ascii_name(16)),
        empty("org", name(128)),
        empty("project", name(255)),
        given("state", ascii_name(16)),
        empty("title", name(255)),
        empty("raised_by", name(100)),
        time("raised_at"),
        sa.Column("expires_at", sa.BigInteger),
        sa.Column("ended_at", sa.BigInteger),
        empty("ended_by", name(100)),
        empty("note", name(500)),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.UniqueConstraint("signal_id", name="uq_halts_signal_id"),
    )
    op.create_index("ix_halts_workspace_id_raised_at", "halts", ["workspace_id", "raised_at", "id"])
    op.create_index("ix_halts_state_expires_at", "halts", ["state", "expires_at"])
    _acks("halt_acks", "halt_id")


def _log() -> None:
    op.create_table(
        "subscribers",
        sa.Column("workspace_id", name(64), primary_key=True),
        sa.Column("agent_id", name(100), primary_key=True),
        sa.Column("cursor_seq", sa.BigInteger, nullable=False),
        empty("via", ascii_name(16)),
        empty("org", name(128)),
        empty("project", name(255)),
        time("seen_at"),
    )
    op.create_index("ix_subscribers_seen_at", "subscribers", ["seen_at"])
    op.create_table(
        "broadcasts",
        sa.Column("workspace_id", name(64), primary_key=True),
        sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
        given("signal_id", ascii_name(36)),
        empty("org", name(128)),
        sa.Column("everyone", sa.Boolean, nullable=False),
        sa.Column("body", long_bytes(), nullable=False),
        time("at"),
    )
    op.create_index("ix_broadcasts_at", "broadcasts", ["at"])
    op.create_table(
        "webhooks",
        sa.Column("id", ascii_name(36), primary_key=True),
        given("workspace_id", name(64)),
        given("url", name(2000)),
        given("secret", name(255)),
        sa.Column("min_severity", sa.Integer, nullable=False),
        sa.Column("orgs", long_text()),
        sa.Column("without_org", sa.Boolean, nullable=False, server_default=sa.text("1")),
        given("created_by", name(100)),
        time("created_at"),
        sa.Column("disabled_at", sa.BigInteger),
        sa.Column("cursor_seq", sa.BigInteger, nullable=False),
        zero("attempts"),
        zero("next_attempt_at", sa.BigInteger),
        sa.Column("delivered_at", sa.BigInteger),
        empty("error", name(1000)),
    )
    op.create_index("ix_webhooks_workspace_id_created_at", "webhooks", ["workspace_id", "created_at", "id"])
    op.create_index("ix_webhooks_next_attempt_at", "webhooks", ["next_attempt_at"])
    op.create_table(
        "webhook_dead_letters",
        sa.Column("webhook_id", ascii_name(36), primary_key=True),
        sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
        given("workspace_id", name(64)),
        sa.Column("body", long_bytes(), nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        empty("error", name(1000)),
        time("at"),
    )
    op.create_index("ix_webhook_dead_letters_at", "webhook_dead_letters", ["at"])


def _vault() -> None:
    op.create_table(
        "ticks",
        sa.Column("id", ascii_name(36), primary_key=True),
        given("workspace_id", name(64)),
        sa.Column("slot", name(255)),
        given("state", ascii_name(16)),
        given("request", long_text()),
        sa.Column("report", long_text()),
        empty("error", name(1000)),
        empty("holder", name(200)),
        zero("held_until", sa.BigInteger),
        time("requested_at"),
        sa.Column("started_at", sa.BigInteger),
        sa.Column("finished_at", sa.BigInteger),
    )
    op.create_index("uq_ticks_workspace_id_slot", "ticks", ["workspace_id", "slot"], unique=True)
    op.create_index("ix_ticks_workspace_id_requested_at", "ticks", ["workspace_id", "requested_at", "id"])
    op.create_index("ix_ticks_state_held_until", "ticks", ["state", "held_until"])
    op.create_table(
        "vault_memories",
        sa.Column("workspace_id", name(64), primary_key=True),
        sa.Column("arc", name(255), primary_key=True),
        sa.Column("marker", ascii_name(64), primary_key=True),
        given("memory_id", ascii_name(36)),
        given("content_hash", ascii_name(64)),
        time("updated_at"),
    )
    op.create_index("ix_vault_memories_memory_id", "vault_memories", ["memory_id"])
    op.create_table(
        "vault_writes",
        sa.Column("workspace_id", name(64), primary_key=True),
        sa.Column("key_hash", ascii_name(64), primary_key=True),
        given("content_hash", ascii_name(64)),
        given("path", name(1024)),
        time("at"),
        time("expires_at"),
        sa.Column("done", sa.Boolean, nullable=False),
    )
    op.create_index("ix_vault_writes_workspace_id_expires_at", "vault_writes", ["workspace_id", "expires_at"])
