"""Standing queries, their matches, and the memories that wait to be matched."""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.types import TypeEngine

from openbrain.adapters.sql.migrations.columns import ascii_name, empty, given, long_bytes, long_text, name, time

revision = "0015"
down_revision = "0014"

_MATCHES = "uq_messages_memory_id_subscription_id"
_OF_QUERY = "ix_messages_subscription_id"
_COLUMNS: dict[str, TypeEngine[Any]] = {
    "subscription_id": ascii_name(36),
    "memory_id": ascii_name(36),
    "memory_revision": sa.BigInteger(),
    "similarity": sa.Float(53),
    "withdrawn_at": sa.BigInteger(),
}


def upgrade() -> None:
    for column, type_ in _COLUMNS.items():
        op.add_column("messages", sa.Column(column, type_))
    op.create_index(_MATCHES, "messages", ["memory_id", "subscription_id"], unique=True)
    op.create_index(_OF_QUERY, "messages", ["subscription_id"])
    op.create_table(
        "standing_queries",
        sa.Column("id", ascii_name(36), primary_key=True),
        given("workspace_id", name(64)),
        given("agent_id", name(100)),
        given("key_id", ascii_name(36)),
        sa.Column("orgs", long_text()),
        sa.Column("without_org", sa.Boolean, nullable=False),
        given("query", long_text()),
        given("criteria", long_text()),
        sa.Column("min_similarity", sa.Float(53), nullable=False),
        sa.Column("include_own", sa.Boolean, nullable=False),
        time("created_at"),
        sa.Column("deleted_at", sa.BigInteger),
        time("change_seq"),
    )
    op.create_index("ix_standing_queries_key_id", "standing_queries", ["key_id"])
    op.create_index("ix_standing_queries_deleted_at", "standing_queries", ["deleted_at"])
    changes = ["workspace_id", "change_seq"]
    op.create_index("uq_standing_queries_workspace_id_change_seq", "standing_queries", changes, unique=True)
    mine = ["workspace_id", "agent_id", "created_at", "id"]
    op.create_index("ix_standing_queries_workspace_id_agent_id", "standing_queries", mine)
    op.create_table(
        "standing_query_vectors",
        sa.Column("query_id", ascii_name(36), primary_key=True),
        sa.Column("model", ascii_name(64), primary_key=True),
        given("workspace_id", name(64)),
        sa.Column("vector", long_bytes(), nullable=False),
    )
    op.create_index("ix_standing_query_vectors_workspace_id", "standing_query_vectors", ["workspace_id"])
    op.create_table(
        "standing_query_counters",
        sa.Column("workspace_id", name(64), primary_key=True),
        time("change_seq"),
        sa.Column("queries", sa.Integer, nullable=False),
    )
    op.create_table(
        "match_queue",
        sa.Column("memory_id", ascii_name(36), primary_key=True),
        given("workspace_id", name(64)),
        time("revision"),
        empty("model", ascii_name(64)),
        time("due_at"),
    )
    op.create_index("ix_match_queue_workspace_id", "match_queue", ["workspace_id"])
    op.create_index("ix_match_queue_due_at", "match_queue", ["due_at"])


def downgrade() -> None:
    for table in ("match_queue", "standing_query_counters", "standing_query_vectors", "standing_queries"):
        op.drop_table(table)
    op.drop_index(_OF_QUERY, table_name="messages")
    op.drop_index(_MATCHES, table_name="messages")
    # What was delivered is no message of an agent's.
    op.execute(sa.text("DELETE FROM messages WHERE memory_id IS NOT NULL"))
    for column in _COLUMNS:
        op.drop_column("messages", column)
