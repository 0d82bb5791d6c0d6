"""The write-ahead log of SQLite, which keeps what was overwritten until it is cut off."""

import sqlite3
from contextlib import closing

from openbrain.domain.errors import TryLater


def cut_log(file: str, patience_s: float) -> str:
    """Fold the log back into the file and cut it to nothing. `TryLater` while a reader still looks into it."""
    with closing(sqlite3.connect(file, timeout=patience_s, isolation_level=None)) as connection:
        connection.execute("PRAGMA secure_delete = ON")
        try:
            busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except sqlite3.OperationalError:
            busy = 1
    if busy:
        raise TryLater("the write-ahead log is in use: it is cut off as soon as its readers are done")
    return "cut off"
