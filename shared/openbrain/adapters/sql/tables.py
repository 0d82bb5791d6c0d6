"""The truth's tables: one set for MariaDB and SQLite.

Strings that are compared are compared byte for byte on both. Times are microseconds since 1970, UTC. Strings that may
be absent are '' and not NULL, so that a plain comparison is enough.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects import mysql
from sqlalchemy.types import TypeEngine

BYTEWISE = "utf8mb4_nopad_bin"

metadata = MetaData(
    naming_convention={"ix": "ix_%(table_name)s_%(column_0_N_name)s", "uq": "uq_%(table_name)s_%(column_0_N_name)s"}
)


def _name(length: int) -> TypeEngine[str]:
    return String(length).with_variant(mysql.VARCHAR(length, collation=BYTEWISE), "mysql", "mariadb")


def _ascii(length: int) -> TypeEngine[str]:
    return String(length).with_variant(
        mysql.VARCHAR(length, charset="ascii", collation="ascii_bin"), "mysql", "mariadb"
    )


def _long_text() -> TypeEngine[str]:
    return Text().with_variant(mysql.MEDIUMTEXT(collation=BYTEWISE), "mysql", "mariadb")


def _long_bytes() -> TypeEngine[bytes]:
    return LargeBinary().with_variant(mysql.MEDIUMBLOB(), "mysql", "mariadb")


def _serial() -> TypeEngine[int]:
    return BigInteger().with_variant(Integer(), "sqlite")


def _empty(name: str, type_: TypeEngine[str]) -> "Column[str]":
    return Column(name, type_, nullable=False, server_default="")


def _count(name: str) -> "Column[int]":
    return Column(name, Integer, nullable=False, server_default=text("0"))


workspaces = Table(
    "workspaces",
    metadata,
    Column("id", _name(64), primary_key=True),
    Column("name", _name(100), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    # Quotas; NULL for none.
    Column("max_memories", BigInteger),
    Column("max_bytes", BigInteger),
    # Since then its keys open nothing; the row goes last.
    Column("deleted_at", BigInteger),
)

workspace_usage = Table(
    "workspace_usage",
    metadata,
    Column("workspace_id", _name(64), primary_key=True),
    Column("memories", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("counted_at", BigInteger, nullable=False),
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", _ascii(36), primary_key=True),
    Column("workspace_id", _name(64), nullable=False, index=True),
    Column("name", _name(100), nullable=False),
    Column("secret_hash", _ascii(64), nullable=False, unique=True),
    _empty("agent_id", _name(100)),
    Column("permissions", _long_text(), nullable=False),
    Column("orgs", _long_text(), nullable=True),
    Column("without_org", Boolean, nullable=False),
    Column("act_as", _long_text(), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    Column("revoked_at", BigInteger),
    # Requests a minute; NULL takes the setting.
    Column("rate_limit", Integer),
    # The key that this one was made to replace.
    Column("replaces_id", _ascii(36)),
)

memories = Table(
    "memories",
    metadata,
    Column("id", _ascii(36), primary_key=True),
    Column("workspace_id", _name(64), nullable=False),
    _empty("org", _name(128)),
    _empty("project", _name(255)),
    _empty("agent_id", _name(100)),
    _empty("session_id", _name(255)),
    Column("turn", Integer),
    _empty("speaker", _name(100)),
    Column("memory_scope", _ascii(8), nullable=False),
    Column("audience", _name(400), nullable=False),
    Column("type", _ascii(16), nullable=False),
    Column("content", _long_text(), nullable=False),
    Column("tags", _long_text(), nullable=False),
    Column("metadata", _long_text(), nullable=False),
    _empty("source", _name(255)),
    Column("confidence", Float(53), nullable=False),
    Column("supersedes_id", _ascii(36)),
    Column("version", Integer, nullable=False),
    Column("revision", BigInteger, nullable=False),
    Column("content_hash", _ascii(64), nullable=False),
    Column("dedupe_key", _ascii(64), unique=True),
    Column("occurred_at", BigInteger, nullable=False),
    Column("confirmed_at", BigInteger, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    Column("archived_at", BigInteger),
    Column("deleted_at", BigInteger),
    Column("reason", _ascii(16)),
    Column("indexed_at", BigInteger),
    Column("text_revision", BigInteger, nullable=False, server_default=text("0")),
    Column("vector_revision", BigInteger, nullable=False, server_default=text("0")),
    _count("passages_high"),
    _empty("text_error", _name(1000)),
    Column("text_error_revision", BigInteger, nullable=False, server_default=text("0")),
    _empty("vector_error", _name(1000)),
    Column("vector_error_revision", BigInteger, nullable=False, server_default=text("0")),
    Column("wants_vector", Boolean, nullable=False),
    Index("ix_memories_workspace_id_created_at", "workspace_id", "created_at", "id"),
    Index("ix_memories_supersedes_id", "supersedes_id"),
    # Due memories are those without a reason: the expired ones are not walked through again.
    Index("ix_memories_reason_expires_at", "reason", "expires_at"),
)

memory_lineage = Table(
    "memory_lineage",
    metadata,
    Column("child_id", _ascii(36), primary_key=True),
    Column("parent_id", _ascii(36), primary_key=True, index=True),
    Column("kind", _ascii(16), nullable=False),
    Column("created_at", BigInteger, nullable=False),
)

embeddings = Table(
    "embeddings",
    metadata,
    Column("input_hash", _ascii(64), primary_key=True),
    Column("model", _ascii(64), primary_key=True),
    Column("vector", _long_bytes(), nullable=False),
    Column("created_at", BigInteger, nullable=False),
)

memory_passages = Table(
    "memory_passages",
    metadata,
    Column("memory_id", _ascii(36), primary_key=True),
    Column("model", _ascii(64), primary_key=True),
    Column("passage", Integer, primary_key=True, autoincrement=False),
    Column("revision", BigInteger, nullable=False),
    Column("input_hash", _ascii(64), nullable=False),
)

index_generations = Table(
    "index_generations",
    metadata,
    Column("kind", _ascii(8), primary_key=True),
    Column("name", _name(255), primary_key=True),
    _empty("model", _ascii(64)),
    _count("dimensions"),
    Column("builder", _ascii(64), nullable=False),
    Column("status", _ascii(16), nullable=False),
    # Equal to kind while serving, else NULL: the unique key allows one serving generation of a kind.
    Column("serving", _ascii(8), unique=True),
    Column("created_at", BigInteger, nullable=False),
)

memory_history = Table(
    "memory_history",
    metadata,
    Column("id", _serial(), primary_key=True, autoincrement=True),
    Column("memory_id", _ascii(36), nullable=False, index=True),
    Column("workspace_id", _name(64), nullable=False),
    Column("version", Integer, nullable=False),
    Column("revision", BigInteger, nullable=False),
    Column("action", _ascii(16), nullable=False),
    Column("actor", _name(100), nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("before", _long_text()),
    Column("after", _long_text()),
    _empty("note", _name(500)),
)

memory_usage = Table(
    "memory_usage",
    metadata,
    Column("memory_id", _ascii(36), primary_key=True),
    _count("recall_count"),
    Column("last_recalled_at", BigInteger),
    _count("used"),
    _count("ignored"),
)

recalls = Table(
    "recalls",
    metadata,
    Column("id", _ascii(36), primary_key=True),
    Column("workspace_id", _name(64), nullable=False),
    _empty("agent_id", _name(100)),
    # '' unless settings ask for it.
    Column("query", _long_text(), nullable=False),
    Column("results", _long_text(), nullable=False),
    Column("took_ms", Float(53), nullable=False),
    Column("created_at", BigInteger, nullable=False, index=True),
    Index("ix_recalls_workspace_id_created_at", "workspace_id", "created_at"),
)

operations = Table(
    "operations",
    metadata,
    Column("id", _ascii(36), primary_key=True),
    Column("workspace_id", _name(64), nullable=False),
    Column("kind", _ascii(32), nullable=False),
    Column("status", _ascii(16), nullable=False),
    Column("actor", _name(100), nullable=False),
    Column("request", _long_text(), nullable=False),
    _count("done"),
    Column("total", Integer),
    Column("result", _long_text()),
    _empty("error", _name(1000)),
    Column("cancel_requested", Boolean, nullable=False),
    # Who works on it, and until when that counts; '' and 0 while queued and when ended.
    _empty("holder", _name(200)),
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
    Column("id", _serial(), primary_key=True, autoincrement=True),
    Column("stream", _name(255), nullable=False),
    Column("body", _long_bytes(), nullable=False),
    sqlite_autoincrement=True,
)

idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    Column("workspace_id", _name(64), primary_key=True),
    Column("key_hash", _ascii(64), primary_key=True),
    Column("memory_id", _ascii(36), nullable=False),
    Column("content_hash", _ascii(64), nullable=False),
    Column("expires_at", BigInteger, nullable=False, index=True),
)

leases = Table(
    "leases",
    metadata,
    Column("name", _name(100), primary_key=True),
    Column("holder", _name(200), nullable=False),
    Column("expires_at", BigInteger, nullable=False),
)
