"""Tables of the vault: ticks, the memories made of markers, and writes of clients. Conventions as in `tables`."""

from sqlalchemy import BigInteger, Boolean, Column, Index, Table, text

from openbrain.adapters.sql.schema.column_types import ERROR_CHARS, ascii_name, empty, long_text, metadata, name

ticks = Table(
    "ticks",
    metadata,
    # The job's id.
    Column("id", ascii_name(36), primary_key=True),
    Column("workspace_id", name(64), nullable=False),
    # Identifies requests for the same tick; NULL for a dry run.
    Column("slot", name(255)),
    # pending, running, completed, failed
    Column("state", ascii_name(16), nullable=False),
    Column("request", long_text(), nullable=False),
    Column("report", long_text()),
    empty("error", name(ERROR_CHARS)),
    # The holder, and the end of its hold.
    empty("holder", name(200)),
    Column("held_until", BigInteger, nullable=False, server_default=text("0")),
    Column("requested_at", BigInteger, nullable=False),
    Column("started_at", BigInteger),
    Column("finished_at", BigInteger),
    Index("uq_ticks_workspace_id_slot", "workspace_id", "slot", unique=True),
    Index("ix_ticks_workspace_id_requested_at", "workspace_id", "requested_at", "id"),
    Index("ix_ticks_state_held_until", "state", "held_until"),
)

vault_memories = Table(
    "vault_memories",
    metadata,
    Column("workspace_id", name(64), primary_key=True),
    Column("arc", name(255), primary_key=True),
    # Hash of what identifies the marker within the arc.
    Column("marker", ascii_name(64), primary_key=True),
    Column("memory_id", ascii_name(36), nullable=False, index=True),
    Column("content_hash", ascii_name(64), nullable=False),
    Column("updated_at", BigInteger, nullable=False),
)

vault_writes = Table(
    "vault_writes",
    metadata,
    Column("workspace_id", name(64), primary_key=True),
    Column("key_hash", ascii_name(64), primary_key=True),
    Column("content_hash", ascii_name(64), nullable=False),
    Column("path", name(1024), nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    # True if the file is known to be written.
    Column("done", Boolean, nullable=False),
    Index("ix_vault_writes_workspace_id_expires_at", "workspace_id", "expires_at"),
)
