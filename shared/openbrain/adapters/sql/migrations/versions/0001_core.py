"""Memories, their audit, lineage and vectors, tenants and keys, the outbox."""

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

revision = "0001"
down_revision = None


def upgrade() -> None:
    _tenants()
    _memories()
    _about_memories()
    _vectors()
    _machinery()


def downgrade() -> None:
    for table in (
        *("idempotency_keys", "outbox", "index_generations", "memory_passages", "embeddings"),
        *("memory_history", "memory_lineage", "memories", "api_keys", "workspaces"),
    ):
        op.drop_table(table)


def _tenants() -> None:
    op.create_table(
        "workspaces",
        sa.Column("id", name(64), primary_key=True),
        given("name", name(100)),
        time("created_at"),
    )
    op.create_table(
        "api_keys",
        sa.Column("id", ascii_name(36), primary_key=True),
        given("workspace_id", name(64)),
        given("name", name(100)),
        given("secret_hash", ascii_name(64)),
        empty("agent_id", name(100)),
        given("permissions", long_text()),
        sa.Column("orgs", long_text()),
        sa.Column("without_org", sa.Boolean, nullable=False),
        given("act_as", long_text()),
        time("created_at"),
        sa.Column("expires_at", sa.BigInteger),
        sa.Column("revoked_at", sa.BigInteger),
        sa.UniqueConstraint("secret_hash", name="uq_api_keys_secret_hash"),
    )
    op.create_index("ix_api_keys_workspace_id", "api_keys", ["workspace_id"])


def _memories() -> None:
    op.create_table(
        "memories",
        sa.Column("id", ascii_name(36), primary_key=True),
        given("workspace_id", name(64)),
        empty("org", name(128)),
        empty("project", name(255)),
        empty("agent_id", name(100)),
        empty("session_id", name(255)),
        sa.Column("turn", sa.Integer),
        empty("speaker", name(100)),
        given("memory_scope", ascii_name(8)),
        given("audience", name(400)),
        given("type", ascii_name(16)),
        given("content", long_text()),
        given("tags", long_text()),
        given("metadata", long_text()),
        empty("source", name(255)),
        sa.Column("confidence", sa.Float(53), nullable=False),
        sa.Column("supersedes_id", ascii_name(36)),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
        given("content_hash", ascii_name(64)),
        sa.Column("dedupe_key", ascii_name(64)),
        time("occurred_at"),
        time("confirmed_at"),
        time("created_at"),
        time("updated_at"),
        sa.Column("expires_at", sa.BigInteger),
        sa.Column("archived_at", sa.BigInteger),
        sa.Column("deleted_at", sa.BigInteger),
        sa.Column("reason", ascii_name(16)),
        sa.Column("indexed_at", sa.BigInteger),
        zero("text_revision", sa.BigInteger),
        zero("vector_revision", sa.BigInteger),
        zero("passages_high"),
        sa.Column("wants_vector", sa.Boolean, nullable=False),
        sa.UniqueConstraint("dedupe_key", name="uq_memories_dedupe_key"),
    )
    op.create_index("ix_memories_workspace_id_created_at", "memories", ["workspace_id", "created_at", "id"])
    op.create_index("ix_memories_supersedes_id", "memories", ["supersedes_id"])
    op.create_index("ix_memories_expires_at", "memories", ["expires_at"])


def _about_memories() -> None:
    op.create_table(
        "memory_lineage",
        sa.Column("child_id", ascii_name(36), primary_key=True),
        sa.Column("parent_id", ascii_name(36), primary_key=True),
        given("kind", ascii_name(16)),
        time("created_at"),
    )
    op.create_index("ix_memory_lineage_parent_id", "memory_lineage", ["parent_id"])
    op.create_table(
        "memory_history",
        sa.Column("id", serial(), primary_key=True, autoincrement=True),
        given("memory_id", ascii_name(36)),
        given("workspace_id", name(64)),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
        given("action", ascii_name(16)),
        given("actor", name(100)),
        time("at"),
        sa.Column("before", long_text()),
        sa.Column("after", long_text()),
        empty("note", name(500)),
    )
    op.create_index("ix_memory_history_memory_id", "memory_history", ["memory_id"])


def _vectors() -> None:
    op.create_table(
        "embeddings",
        sa.Column("input_hash", ascii_name(64), primary_key=True),
        sa.Column("model", ascii_name(64), primary_key=True),
        sa.Column("vector", long_bytes(), nullable=False),
        time("created_at"),
    )
    op.create_table(
        "memory_passages",
        sa.Column("memory_id", ascii_name(36), primary_key=True),
        sa.Column("model", ascii_name(64), primary_key=True),
        sa.Column("passage", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
        given("input_hash", ascii_name(64)),
    )
    op.create_table(
        "index_generations",
        sa.Column("kind", ascii_name(8), primary_key=True),
        sa.Column("name", name(255), primary_key=True),
        empty("model", ascii_name(64)),
        zero("dimensions"),
        given("builder", ascii_name(64)),
        given("status", ascii_name(16)),
        sa.Column("serving", ascii_name(8)),
        time("created_at"),
        sa.UniqueConstraint("serving", name="uq_index_generations_serving"),
    )


def _machinery() -> None:
    op.create_table(
        "outbox",
        sa.Column("id", serial(), primary_key=True, autoincrement=True),
        given("stream", name(255)),
        sa.Column("body", long_bytes(), nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "idempotency_keys",
        sa.Column("workspace_id", name(64), primary_key=True),
        sa.Column("key_hash", ascii_name(64), primary_key=True),
        given("memory_id", ascii_name(36)),
        given("content_hash", ascii_name(64)),
        time("expires_at"),
    )
    op.create_index("ix_idempotency_keys_expires_at", "idempotency_keys", ["expires_at"])
