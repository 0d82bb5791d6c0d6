"""SQLite keeps the passages of memories in the tree of their primary key, without a second one by row number."""

from alembic import op

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    _rebuild(sqlite_with_rowid=False)


def downgrade() -> None:
    _rebuild(sqlite_with_rowid=True)


def _rebuild(*, sqlite_with_rowid: bool) -> None:
    if op.get_bind().dialect.name == "sqlite":
        settings = {"sqlite_with_rowid": sqlite_with_rowid}
        with op.batch_alter_table("memory_passages", recreate="always", table_kwargs=settings):
            pass
