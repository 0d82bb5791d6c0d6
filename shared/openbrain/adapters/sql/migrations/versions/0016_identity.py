"""The identity by which a memory is recognized when it is submitted again."""

from alembic import op

from openbrain.adapters.sql.migrations.columns import ascii_name, empty

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.add_column("memories", empty("identity", ascii_name(64)))


def downgrade() -> None:
    op.drop_column("memories", "identity")
