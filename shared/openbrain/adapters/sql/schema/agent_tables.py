"""Tables of agents: messages, sessions, and standing queries. Conventions as in `tables`."""

from sqlalchemy import BigInteger, Boolean, Column, Float, Index, Integer, Table, and_, text

from openbrain.adapters.sql.schema.column_types import (
    ERROR_CHARS,
    ascii_name,
    count,
    empty,
    long_bytes,
    long_text,
    metadata,
    name,
)

mailboxes = Table(
    "mailboxes",
    metadata,
    Column("workspace_id", name(64), primary_key=True),
    Column("agent_id", name(100), primary_key=True),
    # The number of its last message, assigned under this row's lock: a reader that continues after a number misses
    # none.
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
    # Hash of the sender's idempotency key; NULL without one.
    Column("key_hash", ascii_name(64)),
    Column("content_hash", ascii_name(64), nullable=False),
    Column("created_at", BigInteger, nullable=False, index=True),
    Column("read_at", BigInteger),
    # For a match of a standing query; NULL in messages of agents. The memory's text is not copied.
    Column("subscription_id", ascii_name(36)),
    Column("memory_id", ascii_name(36)),
    Column("memory_revision", BigInteger),
    Column("similarity", Float(53)),
    Column("withdrawn_at", BigInteger),
    Index("uq_messages_memory_id_subscription_id", "memory_id", "subscription_id", unique=True),
    Index("ix_messages_subscription_id", "subscription_id"),
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
    # The owner: two agents may use the same id for two sessions.
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
    # An agent can be in only one session with the same id.
    Column("agent_id", name(100), primary_key=True),
    Column("owner", name(100), nullable=False),
    Column("started_at", BigInteger, nullable=False),
    Index("ix_session_agents_workspace_id_agent_id", "workspace_id", "agent_id", "started_at", "session_id"),
)

OF_SESSION = and_(
    session_agents.c.workspace_id == sessions.c.workspace_id,
    session_agents.c.session_id == sessions.c.id,
    session_agents.c.owner == sessions.c.agent_id,
)
"""Join condition of agents and their sessions."""

standing_queries = Table(
    "standing_queries",
    metadata,
    Column("id", ascii_name(36), primary_key=True),
    Column("workspace_id", name(64), nullable=False),
    Column("agent_id", name(100), nullable=False),
    # The key that created it, or its successor: the query ends with that key.
    Column("key_id", ascii_name(36), nullable=False, index=True),
    Column("orgs", long_text()),
    Column("without_org", Boolean, nullable=False),
    Column("query", long_text(), nullable=False),
    # JSON.
    Column("criteria", long_text(), nullable=False),
    Column("min_similarity", Float(53), nullable=False),
    Column("include_own", Boolean, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    # Kept for a while after removal, without its text, so that every process notices it.
    Column("deleted_at", BigInteger, index=True),
    # The number of its last change within the workspace.
    Column("change_seq", BigInteger, nullable=False),
    Index("uq_standing_queries_workspace_id_change_seq", "workspace_id", "change_seq", unique=True),
    Index("ix_standing_queries_workspace_id_agent_id", "workspace_id", "agent_id", "created_at", "id"),
)

LIVE_QUERY = standing_queries.c.deleted_at.is_(None)

standing_query_vectors = Table(
    "standing_query_vectors",
    metadata,
    Column("query_id", ascii_name(36), primary_key=True),
    Column("model", ascii_name(64), primary_key=True),
    Column("workspace_id", name(64), nullable=False, index=True),
    Column("vector", long_bytes(), nullable=False),
)

standing_query_counters = Table(
    "standing_query_counters",
    metadata,
    Column("workspace_id", name(64), primary_key=True),
    # The number of the last change of its standing queries, assigned under this row's lock.
    Column("change_seq", BigInteger, nullable=False),
    # Queries that are not removed.
    Column("queries", Integer, nullable=False),
)

standing_replays = Table(
    "standing_replays",
    metadata,
    Column("query_id", ascii_name(36), primary_key=True),
    Column("workspace_id", name(64), nullable=False, index=True),
    Column("since", BigInteger, nullable=False),
    # The memory examined last; the replay goes back in time.
    Column("before_at", BigInteger, nullable=False),
    Column("before_id", ascii_name(36), nullable=False),
    # True to deliver again what was already delivered.
    Column("again", Boolean, nullable=False),
)

standing_webhooks = Table(
    "standing_webhooks",
    metadata,
    # The id of its query.
    Column("id", ascii_name(36), primary_key=True),
    Column("workspace_id", name(64), nullable=False, index=True),
    Column("url", name(2000), nullable=False),
    # The key that signs the bodies; never shown again.
    Column("secret", name(255), nullable=False),
    # The number in the agent's inbox up to which everything is posted or given up.
    Column("cursor_seq", BigInteger, nullable=False),
    count("attempts"),
    Column("next_attempt_at", BigInteger, nullable=False, server_default=text("0"), index=True),
    Column("delivered_at", BigInteger),
    count("given_up"),
    empty("error", name(ERROR_CHARS)),
)

match_queue = Table(
    "match_queue",
    metadata,
    Column("memory_id", ascii_name(36), primary_key=True),
    Column("workspace_id", name(64), nullable=False, index=True),
    Column("revision", BigInteger, nullable=False),
    # The model that embedded it; '' if it was not embedded, or has ended.
    empty("model", ascii_name(64)),
    # From this time on it is matched without its event.
    Column("due_at", BigInteger, nullable=False, index=True),
)
