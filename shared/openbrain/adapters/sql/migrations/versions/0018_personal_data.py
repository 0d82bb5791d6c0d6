"""The policy for personal data in a workspace."""

from alembic import op
from sqlalchemy import Column

from openbrain.adapters.sql.migrations.columns import ascii_name

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    op.add_column("workspaces", Column("personal_data", ascii_name(16)))
    op.add_column("workspaces", Column("personal_data_key", ascii_name(64)))


def downgrade() -> None:
    op.drop_column("workspaces", "personal_data_key")
    op.drop_column("workspaces", "personal_data")
