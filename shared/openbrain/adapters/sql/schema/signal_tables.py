"""Tables of signals: signals, acknowledgements, halts, subscribers, broadcasts and webhooks.

As in `tables`: microseconds, and '' for absent strings. Severities are ranks, 0 for info to 3 for nuclear.
"""

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, Table, text

from openbrain.adapters.sql.schema.column_types import (
    ERROR_CHARS,
    ascii_name,
    count,
    empty,
    long_bytes,
    long_text,
    metadata,
    name,
    serial,
)

signals = Table(
    "signals",
    metadata,
    Column("id", ascii_name(36), primary_key=True),
    Column("workspace_id", name(64), nullable=False),
    # Hash of what identifies the signal.
    Column("identity", ascii_name(64), nullable=False),
    # Hash of workspace and identity while it is open, else NULL: the unique key allows one open signal of an identity.
    Column("open_key", ascii_name(64), unique=True),
    Column("source", name(255), nullable=False),
    Column("title", name(255), nullable=False),
    Column("content", long_text(), nullable=False),
    Column("content_hash", ascii_name(64), nullable=False),
    Column("severity", Integer, nullable=False),
    Column("broadcast_severity", Integer, nullable=False),
    Column("state", ascii_name(16), nullable=False),
    empty("org", name(128)),
    empty("project", name(255)),
    empty("dedup_key", name(255)),
    Column("count", BigInteger, nullable=False),
    Column("storm", Boolean, nullable=False),
    Column("first_raised_at", BigInteger, nullable=False),
    Column("last_raised_at", BigInteger, nullable=False),
    Column("text_at", BigInteger, nullable=False),
    Column("quiet_since", BigInteger, nullable=False),
    Column("told_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    Column("acknowledged_at", BigInteger),
    empty("acknowledged_by", name(100)),
    Column("ended_at", BigInteger),
    empty("ended_by", name(100)),
    empty("note", name(500)),
    Column("seq", BigInteger, nullable=False),
    Column("worsened_seq", BigInteger, nullable=False),
    # Not resolved by quiet before this time.
    Column("held_until", BigInteger, nullable=False, server_default=text("0")),
    # The time of its next automatic change; NULL for none.
    Column("due_at", BigInteger, index=True),
    Index("ix_signals_workspace_id_first_raised_at", "workspace_id", "first_raised_at", "id"),
    Index("ix_signals_workspace_id_state", "workspace_id", "state", "broadcast_severity", "last_raised_at"),
    Index("ix_signals_workspace_id_source", "workspace_id", "source", "first_raised_at"),
)

signal_keys = Table(
    "signal_keys",
    metadata,
    Column("workspace_id", name(64), primary_key=True),
    Column("key_hash", ascii_name(64), primary_key=True),
    Column("signal_id", ascii_name(36), nullable=False),
    # Hash of what was raised.
    Column("raised_hash", ascii_name(64), nullable=False),
    Column("expires_at", BigInteger, nullable=False, index=True),
)

signal_history = Table(
    "signal_history",
    metadata,
    Column("id", serial(), primary_key=True, autoincrement=True),
    Column("workspace_id", name(64), nullable=False),
    Column("signal_id", ascii_name(36), nullable=False, index=True),
    empty("halt_id", ascii_name(36)),
    Column("seq", BigInteger, nullable=False),
    Column("step", ascii_name(16), nullable=False),
    Column("actor", name(100), nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("state", ascii_name(16), nullable=False),
    Column("severity", Integer, nullable=False),
    Column("broadcast_severity", Integer, nullable=False),
    Column("count", BigInteger, nullable=False),
    empty("note", name(500)),
)

signal_acks = Table(
    "signal_acks",
    metadata,
    Column("signal_id", ascii_name(36), primary_key=True),
    Column("agent_id", name(100), primary_key=True),
    Column("workspace_id", name(64), nullable=False),
    Column("at", BigInteger, nullable=False),
)

halts = Table(
    "halts",
    metadata,
    Column("id", ascii_name(36), primary_key=True),
    Column("workspace_id", name(64), nullable=False),
    Column("signal_id", ascii_name(36), nullable=False, unique=True),
    Column("scope", ascii_name(16), nullable=False),
    empty("org", name(128)),
    empty("project", name(255)),
    Column("state", ascii_name(16), nullable=False),
    empty("title", name(255)),
    empty("raised_by", name(100)),
    Column("raised_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    Column("ended_at", BigInteger),
    empty("ended_by", name(100)),
    empty("note", name(500)),
    Column("seq", BigInteger, nullable=False),
    Index("ix_halts_workspace_id_raised_at", "workspace_id", "raised_at", "id"),
    # Finds the few open ones by either column.
    Index("ix_halts_state_expires_at", "state", "expires_at"),
)

halt_acks = Table(
    "halt_acks",
    metadata,
    Column("halt_id", ascii_name(36), primary_key=True),
    Column("agent_id", name(100), primary_key=True),
    Column("workspace_id", name(64), nullable=False),
    Column("at", BigInteger, nullable=False),
)

subscribers = Table(
    "subscribers",
    metadata,
    Column("workspace_id", name(64), primary_key=True),
    Column("agent_id", name(100), primary_key=True),
    Column("cursor_seq", BigInteger, nullable=False),
    empty("via", ascii_name(16)),
    empty("org", name(128)),
    empty("project", name(255)),
    Column("seen_at", BigInteger, nullable=False, index=True),
)

broadcasts = Table(
    "broadcasts",
    metadata,
    Column("workspace_id", name(64), primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("signal_id", ascii_name(36), nullable=False),
    empty("org", name(128)),
    # True for a halt of the whole workspace: viewers of other orgs receive it too.
    Column("everyone", Boolean, nullable=False),
    Column("body", long_bytes(), nullable=False),
    Column("at", BigInteger, nullable=False, index=True),
)

webhooks = Table(
    "webhooks",
    metadata,
    Column("id", ascii_name(36), primary_key=True),
    Column("workspace_id", name(64), nullable=False),
    Column("url", name(2000), nullable=False),
    # The key that signs the bodies; never shown again.
    Column("secret", name(255), nullable=False),
    # The lowest severity that is delivered.
    Column("min_severity", Integer, nullable=False),
    # Like a key's orgs: JSON, or NULL for all.
    Column("orgs", long_text()),
    Column("without_org", Boolean, nullable=False, server_default=text("1")),
    Column("created_by", name(100), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("disabled_at", BigInteger),
    # The seq up to which everything is delivered or given up.
    Column("cursor_seq", BigInteger, nullable=False),
    # Attempts for the first broadcast after the cursor.
    count("attempts"),
    Column("next_attempt_at", BigInteger, nullable=False, server_default=text("0")),
    Column("delivered_at", BigInteger),
    empty("error", name(ERROR_CHARS)),
    Index("ix_webhooks_workspace_id_created_at", "workspace_id", "created_at", "id"),
    Index("ix_webhooks_next_attempt_at", "next_attempt_at"),
)

webhook_dead_letters = Table(
    "webhook_dead_letters",
    metadata,
    Column("webhook_id", ascii_name(36), primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("workspace_id", name(64), nullable=False),
    Column("body", long_bytes(), nullable=False),
    Column("attempts", Integer, nullable=False),
    empty("error", name(ERROR_CHARS)),
    Column("at", BigInteger, nullable=False, index=True),
)
