"""What stands beside a turn of a session is found without a walk."""

from alembic import op

from openbrain.adapters.sql.schema.tables import SESSION_TURN, memories

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    next(index for index in memories.indexes if index.name == SESSION_TURN).create(op.get_bind(), checkfirst=True)


def downgrade() -> None:
    op.drop_index(SESSION_TURN, table_name="memories")
