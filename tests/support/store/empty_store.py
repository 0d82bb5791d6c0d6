"""An SQLite file with the tables of today and nothing in them: made once, then copied."""

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
    """Whether that could be done: there must be one to copy, and no file yet."""
    file = _file(database_url)
    if file is None or not _FILES or file.exists():
        return False
    file.write_bytes(_FILES[0])
    return True


def keep_tables(database_url: str) -> None:
    """To be copied, where it is an SQLite file."""
    file = _file(database_url)
    if file is not None and not _FILES:
        with closing(sqlite3.connect(file)) as connection:
            _FILES.append(connection.serialize())
