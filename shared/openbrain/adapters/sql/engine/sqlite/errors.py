"""Translates SQLite's errors."""

import sqlite3

from sqlalchemy.exc import DBAPIError

from openbrain.domain.errors import OpenBrainError, SetupError, TryLater

NOT_PREPARED = "the truth's tables are missing or of another version: run `openbrain db upgrade`"


def translated(error: DBAPIError | sqlite3.Error) -> OpenBrainError | None:
    """Return the error for the caller; None if the statement itself was refused (a constraint, a value)."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    if not isinstance(cause, sqlite3.Error):
        return None
    # The lowest byte of an extended code is the primary code.
    match getattr(cause, "sqlite_errorcode", 0) & 0xFF:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return TryLater("another process holds the truth's write lock: try again")
        case sqlite3.SQLITE_FULL:
            return TryLater("the disk that holds the truth is full: free some space")
        case sqlite3.SQLITE_IOERR:
            return TryLater("the disk that holds the truth fails: look at the system's log")
        case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
            return SetupError(
                "the truth's file can't be opened for writing: check its path and the rights on its folder"
            )
        case sqlite3.SQLITE_NOTADB | sqlite3.SQLITE_CORRUPT:
            return SetupError("the truth's file is damaged or not of SQLite: put back a backup, or name another file")
    if isinstance(cause, sqlite3.OperationalError) and str(cause).startswith(("no such table", "no such column")):
        return SetupError(NOT_PREPARED)
    return None
