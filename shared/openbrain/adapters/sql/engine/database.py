"""The transaction runner: every query is a plain function of a SQLAlchemy connection, written once for both databases.

`read(fn)` and `write(fn)` run `fn(connection)` as one transaction. `fn` may run again from the start (a deadlock, a
lost connection), so it has no effect but on the database, and builds its result anew each time.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import URL, Connection, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from openbrain.domain.errors import OpenBrainError, SetupError
from openbrain.ports.clock import Follower

T = TypeVar("T")

SQLITE = "sqlite"
MARIADB = "mysql"
"""Dialect names as SQLAlchemy has them; MariaDB goes by the name of its protocol."""

_EXAMPLES = (
    "`embedded`, sqlite+aiosqlite:////var/lib/openbrain/truth.db or mysql+aiomysql://user:password@host/openbrain"
)


class Database(ABC):
    """One database. Opening connects to nothing yet; all methods belong to one event loop.

    Both raise `TryLater` while the database can't be reached or a lock was not had in time, and `SetupError` where
    only a person can help: refused credentials, no such database, a schema that was never made.
    """

    dialect: str
    """`SQLITE` or `MARIADB`."""

    @staticmethod
    def open(url: str, *, pool: int = 8, lock_wait_s: float = 10.0, clock: Follower | None = None) -> "Database":
        """`pool`: connections for reads, and on MariaDB as many for writes. `lock_wait_s`: longest wait for a lock.
        `clock`: is told the time of a server; a file has that of this host.

        `SetupError` for a URL of another kind.
        """
        address = parse(url)
        if address.get_backend_name() == SQLITE:
            from openbrain.adapters.sql.engine.sqlite import SqliteDatabase

            return SqliteDatabase(address, pool=pool, lock_wait_s=lock_wait_s)
        from openbrain.adapters.sql.engine.mariadb import MariaDatabase

        return MariaDatabase(address, pool=pool, lock_wait_s=lock_wait_s, clock=clock)

    @abstractmethod
    async def read(self, fn: Callable[[Connection], T]) -> T:
        """Run a function that only reads. It must not lock rows; on MariaDB each statement sees what is committed."""

    @abstractmethod
    async def write(self, fn: Callable[[Connection], T]) -> T:
        """Run a function and commit, or roll back what it did if it raises.

        A caller that is cancelled leaves either the whole transaction behind or nothing of it.
        """

    @abstractmethod
    def explain(self, error: DBAPIError) -> OpenBrainError | None:
        """The error to give instead; None where the database is well and refused the statement or a value in it."""

    @abstractmethod
    async def scrub(self) -> dict[str, object]:
        """Let nothing of removed rows stay in files that are ours; tells what was done. `TryLater` where somebody is
        in the way."""

    @abstractmethod
    async def close(self) -> None:
        """Wait for running transactions and release every connection."""


def parse(url: str) -> URL:
    """The address in a setting. `SetupError` says what is wrong, without repeating a password."""
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
