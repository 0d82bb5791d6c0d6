"""The current tables in an empty database, by statements that are compiled once per run."""

from typing import Any

from sqlalchemy import Connection, Dialect
from sqlalchemy.engine.mock import MockConnection

from openbrain.adapters.sql.schema.tables import metadata

_STATEMENTS: dict[str, list[str]] = {}


def make_tables(connection: Connection) -> None:
    """Do what `metadata.create_all` does, which checks whether each table exists and compiles its statements each
    time."""
    name = connection.dialect.name
    if name == "mysql" and connection.exec_driver_sql("SHOW TABLES LIKE 'memories'").first():
        return  # created once for many tests
    if name not in _STATEMENTS:
        _STATEMENTS[name] = _statements(connection.dialect)
    for statement in _STATEMENTS[name]:
        connection.exec_driver_sql(statement)


def _statements(dialect: Dialect) -> list[str]:
    found: list[str] = []

    def keep(element: Any, *_parameters: Any, **_options: Any) -> None:
        found.append(str(element.compile(dialect=dialect)))

    metadata.create_all(MockConnection(dialect, keep), checkfirst=False)
    return found
