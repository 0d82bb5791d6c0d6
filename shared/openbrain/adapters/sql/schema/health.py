"""Reports settings of the database that may lose or mix up data."""

import re
from collections.abc import Sequence

from sqlalchemy import Connection, bindparam, inspect, text

from openbrain.adapters.sql.engine.sqlite.errors import NOT_PREPARED
from openbrain.adapters.sql.engine.statements import is_sqlite
from openbrain.adapters.sql.schema.column_types import BYTEWISE
from openbrain.adapters.sql.schema.tables import metadata

_OLDEST_MARIADB = (10, 6)


def examine(connection: Connection) -> tuple[str, str, tuple[str, ...]]:
    """Return product, version and problems, each with what to change."""
    if is_sqlite(connection):
        return "SQLite", _ask(connection, "SELECT sqlite_version()"), tuple(_sqlite_problems(connection))
    version = _ask(connection, "SELECT VERSION()")
    product = "MariaDB" if "mariadb" in version.lower() else "MySQL"
    return product, version, tuple(_mariadb_problems(connection, product, version))


def _ask(connection: Connection, question: str) -> str:
    return str(connection.exec_driver_sql(question).scalar_one())


def _sqlite_problems(connection: Connection) -> Sequence[str]:
    problems = []
    if _ask(connection, "PRAGMA journal_mode").lower() != "wal":
        problems.append(
            "journal_mode is not WAL: readers and the writer block each other; keep the file on a local disk"
        )
    if _ask(connection, "PRAGMA synchronous") != "2":
        problems.append("synchronous is not FULL: a power cut can lose what was acknowledged")
    return [*problems, *_schema_problems(connection)]


def _mariadb_problems(connection: Connection, product: str, version: str) -> Sequence[str]:
    problems = []
    number = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    if product != "MariaDB":
        problems.append("this is MySQL: use MariaDB 10.6 or later")
    elif number < _OLDEST_MARIADB:
        problems.append("this MariaDB is older than 10.6: upgrade it")
    if "STRICT_" not in _ask(connection, "SELECT @@SESSION.sql_mode"):
        problems.append("sql_mode is not strict: values that don't fit would be cut; add STRICT_ALL_TABLES")
    if _ask(connection, "SELECT @@GLOBAL.innodb_flush_log_at_trx_commit") != "1":
        problems.append("innodb_flush_log_at_trx_commit is not 1: a power cut can lose what was acknowledged")
    return [*problems, *_collation_problems(connection), *_schema_problems(connection)]


def _collation_problems(connection: Connection) -> Sequence[str]:
    compared = text(
        "SELECT table_name, column_name, collation_name FROM information_schema.columns"
        " WHERE table_schema = DATABASE() AND table_name IN :tables AND collation_name NOT IN :exact"
    ).bindparams(bindparam("tables", expanding=True), bindparam("exact", expanding=True))
    given = {"tables": sorted(metadata.tables), "exact": [BYTEWISE, "ascii_bin"]}
    return [
        f"{table}.{column} compares by {collation}, which takes different names for equal: run `openbrain db upgrade`"
        for table, column, collation in connection.execute(compared, given)
    ]


def lacks_columns(connection: Connection) -> bool:
    """True if a table is missing, or a column of one."""
    inspector = inspect(connection)
    tables = set(inspector.get_table_names())
    for name, table in metadata.tables.items():
        columns = {column["name"] for column in inspector.get_columns(name)} if name in tables else set()
        if not columns.issuperset(table.columns.keys()):
            return True
    return False


def _schema_problems(connection: Connection) -> Sequence[str]:
    return [NOT_PREPARED] if lacks_columns(connection) else []
