"""The script that Alembic runs: on the connection, and inside the lock, that `schema_commands` made."""

from alembic import context
from sqlalchemy import event

from openbrain.adapters.sql.engine.statements import is_sqlite
from openbrain.adapters.sql.migrations.repeatable import repeatable
from openbrain.adapters.sql.schema.tables import metadata

connection = context.config.attributes["connection"]
if not is_sqlite(connection):  # there, all migrations are one transaction
    event.listen(connection, "before_cursor_execute", repeatable, retval=True)
context.configure(connection=connection, target_metadata=metadata)
context.run_migrations()
