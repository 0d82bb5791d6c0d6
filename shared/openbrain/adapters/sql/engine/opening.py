"""Opens the database of a URL."""

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from openbrain.adapters.sql.engine.database import SQLITE, Database
from openbrain.domain.errors import SetupError
from openbrain.ports.clock import Follower

_EXAMPLES = (
    "`embedded`, sqlite+aiosqlite:////var/lib/openbrain/truth.db or mysql+aiomysql://user:password@host/openbrain"
)


def open_database(url: str, *, pool: int = 8, lock_wait_s: float = 10.0, clock: Follower | None = None) -> Database:
    """Open a database without connecting. `pool`: connections for reads, and on MariaDB as many for writes.
    `lock_wait_s`: longest wait for a lock. `clock`: follows the server's clock; for a file the host's clock is used.

    `SetupError` for an unsupported URL.
    """
    # Each engine imports a driver, and a process needs only one.
    address = parse(url)
    if address.get_backend_name() == SQLITE:
        from openbrain.adapters.sql.engine.sqlite.database import SqliteDatabase

        return SqliteDatabase(address, pool=pool, lock_wait_s=lock_wait_s)
    from openbrain.adapters.sql.engine.mariadb.database import MariaDatabase

    return MariaDatabase(address, pool=pool, lock_wait_s=lock_wait_s, clock=clock)


def parse(url: str) -> URL:
    """Parse the address in a setting. `SetupError` says what is wrong, without repeating a password."""
    try:
        address = make_url(url)
    except (ArgumentError, ValueError):  # a port that is no number
        raise SetupError(f"the truth's URL can't be read: write it like {_EXAMPLES}") from None
    if address.drivername in {"sqlite+aiosqlite", "sqlite"}:
        if not address.database or address.database == ":memory:":
            raise SetupError(f"the truth's URL names no file: write its path; use {_EXAMPLES}")
        return address.set(drivername="sqlite+aiosqlite")
    if address.drivername in {"mysql+aiomysql", "mariadb+aiomysql"}:
        if not address.database:
            raise SetupError(f"the truth's URL names no database: write it at the end; use {_EXAMPLES}")
        return address.set(drivername="mysql+aiomysql")
    raise SetupError(f"{address.drivername}:// is no database that the truth can be kept in: use {_EXAMPLES}")
