"""Tools that are listed to a key over MCP."""

import sqlalchemy as sa
from alembic import op

from openbrain.adapters.sql.migrations.columns import long_text

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    op.add_column("api_keys", sa.Column("toolsets", long_text(), nullable=True))


def downgrade() -> None:
    op.drop_column("api_keys", "toolsets")
