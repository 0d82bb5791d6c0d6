"""Tables of agents among themselves: what they wrote to each other, and their sessions. As in `tables`."""

from sqlalchemy import BigInteger, Column, Index, Integer, Table

from openbrain.adapters.sql.schema.column_types import ascii_name, empty, long_text, name
from openbrain.adapters.sql.schema.metadata import metadata

mailboxes = Table(
    "mailboxes",
    metadata,
    Column("workspace_id", name(64), primary_key=True),
    Column("agent_id", name(100), primary_key=True),
    # Of its last message, given under this row's lock: who reads behind a number misses none.
    Column("seq", BigInteger, nullable=False),
)

messages = Table(
    "messages",
    metadata,
    Column("id", ascii_name(36), primary_key=True),
    Column("workspace_id", name(64), nullable=False),
    Column("recipient", name(100), nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("sender", name(100), nullable=False),
    empty("org", name(128)),
    empty("subject", name(255)),
    Column("content", long_text(), nullable=False),
    # Of the sender's idempotency key; NULL without one.
    Column("key_hash", ascii_name(64)),
    Column("content_hash", ascii_name(64), nullable=False),
    Column("created_at", BigInteger, nullable=False, index=True),
    Column("read_at", BigInteger),
    Index("uq_messages_workspace_id_recipient_seq", "workspace_id", "recipient", "seq", unique=True),
    Index("uq_messages_workspace_id_key_hash", "workspace_id", "key_hash", unique=True),
    Index("ix_messages_workspace_id_recipient_read_at", "workspace_id", "recipient", "read_at", "seq"),
    Index("ix_messages_workspace_id_sender", "workspace_id", "sender", "recipient", "created_at", "id"),
)

sessions = Table(
    "sessions",
    metadata,
    Column("workspace_id", name(64), primary_key=True),
    Column("id", name(255), primary_key=True),
    # Its owner: two agents may use the same id, of two sessions.
    Column("agent_id", name(100), primary_key=True),
    empty("org", name(128)),
    empty("project", name(255)),
    Column("policy", ascii_name(16), nullable=False),
    Column("days", Integer, nullable=False),
    # JSON.
    Column("invited", long_text(), nullable=False),
    Column("started_at", BigInteger, nullable=False),
    Column("ended_at", BigInteger),
    Column("hand_over_id", ascii_name(36)),
    Index("ix_sessions_workspace_id_project", "workspace_id", "project", "ended_at"),
)

session_agents = Table(
    "session_agents",
    metadata,
    Column("workspace_id", name(64), primary_key=True),
    Column("session_id", name(255), primary_key=True),
    # One session of an id is all that an agent can be of.
    Column("agent_id", name(100), primary_key=True),
    Column("owner", name(100), nullable=False),
    Column("started_at", BigInteger, nullable=False),
    Index("ix_session_agents_workspace_id_agent_id", "workspace_id", "agent_id", "started_at", "session_id"),
)

TABLES = (mailboxes, messages, sessions, session_agents)
