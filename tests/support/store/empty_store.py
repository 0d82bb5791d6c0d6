"""An SQLite file with the current tables and no rows: made once, then copied."""

import sqlite3
from contextlib import closing
from pathlib import Path

from openbrain.adapters.sql.engine.database import SQLITE
from openbrain.adapters.sql.engine.opening import parse

_FILES: list[bytes] = []


def _file(database_url: str) -> Path | None:
    address = parse(database_url)
    return Path(str(address.database)) if address.get_backend_name() == SQLITE else None


def copy_tables(database_url: str) -> bool:
    """Copy the tables to a new file; False if there is nothing to copy yet or the file exists."""
    file = _file(database_url)
    if file is None or not _FILES or file.exists():
        return False
    file.write_bytes(_FILES[0])
    return True


def keep_tables(database_url: str) -> None:
    """Keep this database for copying, if it is an SQLite file and the first one."""
    file = _file(database_url)
    if file is not None and not _FILES:
        with closing(sqlite3.connect(file)) as connection:
            _FILES.append(connection.serialize())
