"""INSERT statements as finished text for the driver: made once from the tables, used with plain tuples."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Table

from openbrain.adapters.sql.statements import insert_missing

_TEXTS: dict[tuple[str, str, bool], str] = {}


def insert_rows(connection: Connection, table: Table, rows: Sequence[tuple[Any, ...]], *, missing: bool = False) -> int:
    """Insert rows of all columns, in the table's order, but for one that the database numbers itself.

    With `missing`, a row whose id or unique key is taken is left out. Returns the driver's count of rows inserted,
    which with `missing` is true on SQLite only.
    """
    if not rows:
        return 0
    key = connection.dialect.name, table.name, missing
    text = _TEXTS.get(key) or _TEXTS.setdefault(key, _compiled(connection, table, missing=missing))
    # One row as it is: the drivers take a slower way for a list.
    return connection.exec_driver_sql(text, rows[0] if len(rows) == 1 else list(rows)).rowcount


def _compiled(connection: Connection, table: Table, *, missing: bool) -> str:
    columns = [column.name for column in table.columns if column is not table.autoincrement_column]
    statement = insert_missing(connection.dialect, table) if missing else table.insert()
    return str(statement.inline().compile(dialect=connection.dialect, column_keys=columns))
