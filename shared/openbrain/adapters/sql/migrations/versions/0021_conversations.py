"""Index over the conversation that the metadata name, so that its newest turns are found without reading others."""

import sqlalchemy as sa
from alembic import op

from openbrain.adapters.sql.migrations.columns import name

revision = "0021"
down_revision = "0020"

_NAME = "ix_memories_workspace_id_conversation"
_PATH = """'$."sessionId"'"""
_SQLITE = (
    f"CASE json_type(metadata, {_PATH}) WHEN 'text' THEN json_extract(metadata, {_PATH})"
    f" WHEN 'integer' THEN CAST(json_extract(metadata, {_PATH}) AS TEXT)"
    " WHEN 'true' THEN 'true' WHEN 'false' THEN 'false' END"
)
_VALUE = f"JSON_EXTRACT(metadata, {_PATH})"
_MARIADB = (
    f"CASE WHEN JSON_TYPE({_VALUE}) IN ('STRING', 'INTEGER', 'BOOLEAN') AND CHAR_LENGTH(JSON_UNQUOTE({_VALUE})) <= 256"
    f" THEN CONVERT(JSON_UNQUOTE({_VALUE}) USING utf8mb4) COLLATE utf8mb4_nopad_bin END"
)


def upgrade() -> None:
    value = _SQLITE if op.get_bind().dialect.name == "sqlite" else _MARIADB
    op.add_column("memories", sa.Column("conversation", name(256), sa.Computed(value)))
    columns = ["workspace_id", "conversation", "created_at", "id"]
    op.create_index(_NAME, "memories", columns, sqlite_where=sa.text("conversation IS NOT NULL"))


def downgrade() -> None:
    op.drop_index(_NAME, table_name="memories")
    op.drop_column("memories", "conversation")
