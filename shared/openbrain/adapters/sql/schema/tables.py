"""The tables: one set for MariaDB and SQLite.

Times are microseconds since 1970, UTC. Absent strings are '' instead of NULL, so that a plain comparison suffices.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Computed,
    Float,
    Index,
    Integer,
    Table,
    and_,
    column,
    exists,
    or_,
    text,
)

from openbrain.adapters.sql.schema import agent_tables, lifecycle_tables, signal_tables, vault_tables
from openbrain.adapters.sql.schema.column_types import (
    ERROR_CHARS,
    ascii_name,
    count,
    empty,
    long_bytes,
    long_text,
    metadata_value,
    name,
    serial,
)
from openbrain.adapters.sql.schema.column_types import (
    metadata as metadata,  # noqa: PLC0414 - whoever asks here has all tables
)
from openbrain.domain.limits import METADATA_VALUE_CHARS

_MODULES = (signal_tables, vault_tables, agent_tables, lifecycle_tables)
OTHERS = tuple(table for module in _MODULES for table in vars(module).values() if isinstance(table, Table))
"""The tables of the other modules, in the same metadata."""

workspaces = Table(
    "workspaces",
    metadata,
    Column("id", name(64), primary_key=True),
    Column("name", name(100), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    # Quotas; NULL for none.
    Column("max_memories", BigInteger),
    Column("max_bytes", BigInteger),
    # What is done with personal data in new content, and the key of its hashes; NULL for nothing.
    Column("personal_data", ascii_name(16)),
    Column("personal_data_key", ascii_name(64)),
    # From this time on its keys are invalid; the row is deleted last.
    Column("deleted_at", BigInteger),
    # The number of its last broadcast, assigned under this row's lock.
    Column("signal_seq", BigInteger, nullable=False, server_default=text("0")),
)

OPEN_WORKSPACE = workspaces.c.deleted_at.is_(None)

workspace_usage = Table(
    "workspace_usage",
    metadata,
    Column("workspace_id", name(64), primary_key=True),
    Column("memories", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("counted_at", BigInteger, nullable=False),
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", ascii_name(36), primary_key=True),
    Column("workspace_id", name(64), nullable=False, index=True),
    Column("name", name(100), nullable=False),
    Column("secret_hash", ascii_name(64), nullable=False, unique=True),
    empty("agent_id", name(100)),
    Column("permissions", long_text(), nullable=False),
    Column("orgs", long_text(), nullable=True),
    Column("without_org", Boolean, nullable=False),
    Column("act_as", long_text(), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    Column("revoked_at", BigInteger),
    # Requests per minute; NULL for the default of the settings.
    Column("rate_limit", Integer),
    # The key that this one replaces.
    Column("replaces_id", ascii_name(36)),
    # MCP toolsets, in JSON; NULL for the core only.
    Column("toolsets", long_text(), nullable=True),
)

OF_OPEN_WORKSPACE = ~exists().where(workspaces.c.id == api_keys.c.workspace_id, ~OPEN_WORKSPACE)
"""The condition for keys whose workspace is not being deleted."""


def valid_key(now: int) -> ColumnElement[bool]:
    """Return the condition for keys that are neither revoked nor expired."""
    return and_(api_keys.c.revoked_at.is_(None), or_(api_keys.c.expires_at.is_(None), api_keys.c.expires_at > now))


BY_AGE = "ix_memories_workspace_id_created_at"
BY_PROJECT = "ix_memories_workspace_id_project"
SESSION_TURN = "ix_memories_session_id_turn"
TURNS = "ix_memories_turns"
CONVERSATION = "ix_memories_workspace_id_conversation"
CONVERSATION_KEY = "sessionId"
"""The metadata key by which clients ask for the turns of a conversation: it has an index."""

memories = Table(
    "memories",
    metadata,
    Column("id", ascii_name(36), primary_key=True),
    Column("workspace_id", name(64), nullable=False),
    empty("org", name(128)),
    empty("project", name(255)),
    empty("agent_id", name(100)),
    empty("session_id", name(255)),
    Column("turn", Integer),
    empty("speaker", name(100)),
    Column("memory_scope", ascii_name(8), nullable=False),
    Column("audience", name(400), nullable=False),
    Column("type", ascii_name(16), nullable=False),
    Column("content", long_text(), nullable=False),
    Column("tags", long_text(), nullable=False),
    Column("metadata", long_text(), nullable=False),
    empty("source", name(255)),
    Column("confidence", Float(53), nullable=False),
    Column("supersedes_id", ascii_name(36)),
    Column("version", Integer, nullable=False),
    Column("revision", BigInteger, nullable=False),
    Column("content_hash", ascii_name(64), nullable=False),
    Column("dedupe_key", ascii_name(64), unique=True),
    Column("occurred_at", BigInteger, nullable=False),
    Column("confirmed_at", BigInteger, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    Column("archived_at", BigInteger),
    Column("deleted_at", BigInteger),
    Column("reason", ascii_name(16)),
    Column("indexed_at", BigInteger),
    Column("text_revision", BigInteger, nullable=False, server_default=text("0")),
    Column("vector_revision", BigInteger, nullable=False, server_default=text("0")),
    count("passages_high"),
    empty("text_error", name(ERROR_CHARS)),
    Column("text_error_revision", BigInteger, nullable=False, server_default=text("0")),
    empty("vector_error", name(ERROR_CHARS)),
    Column("vector_error_revision", BigInteger, nullable=False, server_default=text("0")),
    Column("wants_vector", Boolean, nullable=False),
    empty("title", name(200)),
    # NULL for none, since older code writes none.
    Column("aliases", long_text()),
    empty("identity", ascii_name(64)),
    # Computed from the metadata by the database, so that the two can't differ.
    Column("conversation", name(METADATA_VALUE_CHARS), Computed(metadata_value(column("metadata"), CONVERSATION_KEY))),
    Index(BY_AGE, "workspace_id", "created_at", "id"),
    Index("ix_memories_supersedes_id", "supersedes_id"),
    # Due memories have no reason: expired ones are not scanned again.
    Index("ix_memories_reason_expires_at", "reason", "expires_at"),
    # Memories of an agent, of all, or of a session, without scanning everything newer.
    Index("ix_memories_workspace_id_memory_scope", "workspace_id", "memory_scope", "agent_id", "created_at", "id"),
    # Memories of a project by type, newest first. The type is last: entries of other types are skipped without reading
    # their rows.
    Index(BY_PROJECT, "workspace_id", "project", "memory_scope", "created_at", "id", "type"),
    # The memories of an agent with the highest confidence, without sorting all.
    Index(
        "ix_memories_workspace_id_confidence",
        *("workspace_id", "memory_scope", "agent_id", "confidence", "created_at", "id", "project"),
    ),
    # Most memories have no turn: SQLite leaves them out of the index.
    Index(SESSION_TURN, "workspace_id", "session_id", "turn", sqlite_where=text("turn IS NOT NULL")),
    # Which of the candidates of a recall are turns, without reading the rows of the others.
    Index(TURNS, "id", sqlite_where=text("turn IS NOT NULL")).ddl_if(dialect="sqlite"),
    # The newest turns of a conversation without scanning those of others.
    Index(
        CONVERSATION,
        *("workspace_id", "conversation", "created_at", "id"),
        sqlite_where=text("conversation IS NOT NULL"),
    ),
)

memory_lineage = Table(
    "memory_lineage",
    metadata,
    Column("child_id", ascii_name(36), primary_key=True),
    Column("parent_id", ascii_name(36), primary_key=True, index=True),
    Column("kind", ascii_name(16), nullable=False),
    Column("created_at", BigInteger, nullable=False),
)
MERGED = "merged"
"""The kind of lineage from a memory to those that dedupe or consolidate merged into it."""

embeddings = Table(
    "embeddings",
    metadata,
    Column("input_hash", ascii_name(64), primary_key=True),
    Column("model", ascii_name(64), primary_key=True),
    Column("vector", long_bytes(), nullable=False),
    # States of the input's tokens, of any version; NULL if token states were off.
    Column("states", long_bytes()),
    Column("created_at", BigInteger, nullable=False),
)

memory_passages = Table(
    "memory_passages",
    metadata,
    Column("memory_id", ascii_name(36), primary_key=True),
    Column("model", ascii_name(64), primary_key=True),
    Column("passage", Integer, primary_key=True, autoincrement=False),
    Column("revision", BigInteger, nullable=False),
    Column("input_hash", ascii_name(64), nullable=False),
    # Rows in the primary key's tree: a recall reads those of 180 memories.
    sqlite_with_rowid=False,
)

former_inputs = Table(
    "former_inputs",
    metadata,
    # Inputs of earlier revisions: their vectors are removed when the memory is erased.
    Column("memory_id", ascii_name(36), primary_key=True),
    Column("input_hash", ascii_name(64), primary_key=True),
)

index_generations = Table(
    "index_generations",
    metadata,
    Column("kind", ascii_name(8), primary_key=True),
    Column("name", name(255), primary_key=True),
    empty("model", ascii_name(64)),
    empty("model_name", name(255)),
    count("dimensions"),
    Column("builder", ascii_name(64), nullable=False),
    Column("status", ascii_name(16), nullable=False),
    # Equal to kind while serving, else NULL: the unique key allows one serving generation of a kind.
    Column("serving", ascii_name(8), unique=True),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False, server_default=text("0")),
    Column("epoch", BigInteger, nullable=False, server_default=text("0")),
    Column("lost_at", BigInteger, nullable=False, server_default=text("0")),
)

index_writers = Table(
    "index_writers",
    metadata,
    Column("consumer", name(200), primary_key=True),
    Column("kind", ascii_name(8), primary_key=True),
    Column("builder", ascii_name(64), nullable=False),
    # The generations that it knows, in JSON.
    Column("names", long_text(), nullable=False),
    # In the database's clock.
    Column("expires_at", BigInteger, nullable=False),
)

memory_history = Table(
    "memory_history",
    metadata,
    Column("id", serial(), primary_key=True, autoincrement=True),
    Column("memory_id", ascii_name(36), nullable=False, index=True),
    Column("workspace_id", name(64), nullable=False),
    Column("version", Integer, nullable=False),
    Column("revision", BigInteger, nullable=False),
    Column("action", ascii_name(16), nullable=False),
    Column("actor", name(100), nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("before", long_text()),
    Column("after", long_text()),
    empty("note", name(500)),
)

memory_usage = Table(
    "memory_usage",
    metadata,
    Column("memory_id", ascii_name(36), primary_key=True),
    count("recall_count"),
    Column("last_recalled_at", BigInteger),
    count("used"),
    count("ignored"),
)

recalls = Table(
    "recalls",
    metadata,
    Column("id", ascii_name(36), primary_key=True),
    Column("workspace_id", name(64), nullable=False),
    empty("agent_id", name(100)),
    # '' unless enabled in the settings.
    Column("query", long_text(), nullable=False),
    Column("results", long_text(), nullable=False),
    Column("took_ms", Float(53), nullable=False),
    Column("created_at", BigInteger, nullable=False, index=True),
    Index("ix_recalls_workspace_id_created_at", "workspace_id", "created_at"),
)

recall_feedback = Table(
    "recall_feedback",
    metadata,
    Column("recall_id", ascii_name(36), primary_key=True),
    Column("memory_id", ascii_name(36), primary_key=True),
    Column("workspace_id", name(64), nullable=False, index=True),
    # Who gave it, by the name used in the history.
    Column("actor", name(100), nullable=False),
    Column("verdict", ascii_name(16), nullable=False),
    # The change of the confidence.
    Column("step", Float(53), nullable=False),
    empty("reason", name(500)),
    Column("at", BigInteger, nullable=False),
    Index("ix_recall_feedback_memory_id_at", "memory_id", "at"),
)

operations = Table(
    "operations",
    metadata,
    Column("id", ascii_name(36), primary_key=True),
    Column("workspace_id", name(64), nullable=False),
    Column("kind", ascii_name(32), nullable=False),
    Column("status", ascii_name(16), nullable=False),
    Column("actor", name(100), nullable=False),
    Column("request", long_text(), nullable=False),
    count("done"),
    Column("total", Integer),
    Column("result", long_text()),
    empty("error", name(ERROR_CHARS)),
    Column("cancel_requested", Boolean, nullable=False),
    # The holder, and the end of its hold; '' and 0 while queued and when ended.
    empty("holder", name(200)),
    Column("held_until", BigInteger, nullable=False, server_default=text("0")),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Column("finished_at", BigInteger),
    Index("ix_operations_workspace_id_created_at", "workspace_id", "created_at", "id"),
    Index("ix_operations_status_held_until", "status", "held_until"),
)

outbox = Table(
    "outbox",
    metadata,
    Column("id", serial(), primary_key=True, autoincrement=True),
    Column("stream", name(255), nullable=False),
    Column("body", long_bytes(), nullable=False),
    sqlite_autoincrement=True,
)

idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    Column("workspace_id", name(64), primary_key=True),
    Column("key_hash", ascii_name(64), primary_key=True),
    Column("memory_id", ascii_name(36), nullable=False),
    Column("content_hash", ascii_name(64), nullable=False),
    Column("expires_at", BigInteger, nullable=False, index=True),
)

group_pauses = Table(
    "group_pauses",
    metadata,
    Column("name", name(100), primary_key=True),
    Column("actor", name(100), nullable=False),
    empty("reason", name(500)),
    Column("paused_at", BigInteger, nullable=False),
)

outside_groups = Table(
    "outside_groups",
    metadata,
    Column("stream", name(255), primary_key=True),
    Column("name", name(100), primary_key=True),
    Column("actor", name(100), nullable=False),
    empty("reason", name(500)),
    Column("created_at", BigInteger, nullable=False),
)

leases = Table(
    "leases",
    metadata,
    Column("name", name(100), primary_key=True),
    Column("holder", name(200), nullable=False),
    Column("expires_at", BigInteger, nullable=False),
)
