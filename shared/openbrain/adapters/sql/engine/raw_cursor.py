"""The driver's own cursor, for the statements of every write: SQLAlchemy's way to it costs more than they do.

Connection, transaction and errors stay SQLAlchemy's.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.engine.interfaces import DBAPICursor

CURSOR = "openbrain.cursor"


def run(connection: Connection, statement: str, values: Sequence[Any] = ()) -> DBAPICursor:
    """Run a statement with a tuple of values, or with a list of tuples once for each; raises what `execute` raises.

    A connection has one such cursor: read what it gives before the next statement.
    """
    # Lasts as long as the connection does; SQLAlchemy clears `info` when it opens another.
    cursor: DBAPICursor | None = connection.info.get(CURSOR)
    if cursor is None:
        cursor = connection.info[CURSOR] = connection.connection.cursor()
    try:
        if isinstance(values, list):
            cursor.executemany(statement, values)
        else:
            cursor.execute(statement, values)
    except BaseException as error:  # noqa: BLE001 - it goes on
        # Translates, and gives up connections that are lost: whoever catches must see no difference.
        connection._handle_dbapi_exception(error, None, None, None, None)
    return cursor
