"""The script that Alembic runs: on the connection, and inside the lock, that `schema_commands` made."""

from alembic import context

from openbrain.adapters.sql.schema.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
