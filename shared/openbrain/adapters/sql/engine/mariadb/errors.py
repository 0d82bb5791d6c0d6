"""Translates MariaDB's errors."""

from sqlalchemy.exc import DBAPIError

from openbrain.adapters.sql.engine.sqlite.errors import NOT_PREPARED
from openbrain.domain.errors import OpenBrainError, SetupError, TryLater

BUSY = "the database is busy: try again"
UNWILLING = "the database takes no writes now: check whether another server is the primary now, and its disk and memory"
CROWDED = "the database allows no further connection: raise its max_connections, or lower OPENBRAIN_TRUTH__POOL"
DOWN = "the database can't be reached: check that MariaDB runs and that its URL is right"

_DEADLOCK, _LOCK_TIMEOUT, _CHANGED_SINCE_READ = 1213, 1205, 1020
_LOST = {2006, 2013, 2014, 2055, 4031, 1053, 1927}
_CROWDED = {1040, 1203, 1226}
_DISK_FULL = 1021
_READ_ONLY = {1290, 1792, 1836}
_NO_ROOM = {1026, 1030, 1114, 3, 20, 28}
"""On a disk. The low numbers are the operating system's and its library's, as for the disk of temporary files."""
_UNWILLING = {*_READ_ONLY, *_NO_ROOM, 1047, 1037, 1041, 1180}
"""Read-only; not ready, such as a node that is joining; no room on disk, for a commit or in memory."""
_INTERRUPTED = {1317, 1969}
_NO_CONNECTION = {2002, 2003, 2005}
_REFUSED = {1044, 1045, 1049, 1142, 1143, 1698}
_NO_TABLE = {1054, 1146}


def code(error: BaseException) -> int:
    """Return the number of the server's or the client's error, 0 if it has none."""
    cause = error.orig if isinstance(error, DBAPIError) else None
    number = cause.args[0] if cause is not None and cause.args else 0
    return number if isinstance(number, int) else 0


def locked(error: BaseException | None) -> bool:
    """True if others held a lock for too long."""
    return error is not None and code(error) == _LOCK_TIMEOUT


def leads_elsewhere(error: BaseException) -> bool:
    """True if the server is a former primary: connections to it are useless, the address may lead to the new one."""
    return code(error) in _READ_ONLY


def repeatable(error: BaseException) -> bool:
    """True if the same transaction may succeed when it is retried at once."""
    if isinstance(error, DBAPIError):
        return error.connection_invalidated or code(error) in {_DEADLOCK, _LOCK_TIMEOUT, _CHANGED_SINCE_READ} | _LOST
    return isinstance(error, ConnectionError)


def translated(error: BaseException) -> OpenBrainError | None:
    """Return the error for the caller; None if the statement itself was refused (a constraint, a value)."""
    if not isinstance(error, DBAPIError):
        return TryLater(DOWN)
    number = code(error)
    if number in _UNWILLING:
        return TryLater(UNWILLING)
    if number in _CROWDED:
        return TryLater(CROWDED)
    if error.connection_invalidated or number in _LOST | _NO_CONNECTION:
        return TryLater(DOWN)
    if number in {_DEADLOCK, _LOCK_TIMEOUT, _CHANGED_SINCE_READ, _DISK_FULL} | _INTERRUPTED:
        return TryLater(BUSY)
    if number in _REFUSED:
        return SetupError(f"the database refuses us (error {number}): check user, password, rights and database name")
    if number in _NO_TABLE:
        return SetupError(NOT_PREPARED)
    return None
