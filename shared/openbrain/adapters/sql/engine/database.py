"""The transaction runner: every query is a plain function of a SQLAlchemy connection, written once for both databases.

`read(fn)` and `write(fn)` run `fn(connection)` as one transaction. `fn` may run again from the start (a deadlock, a
lost connection), so it has no effect but on the database, and builds its result anew each time.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection, RowMapping, Select, Table, UpdateBase, delete
from sqlalchemy.exc import DBAPIError

from openbrain.domain.errors import OpenBrainError
from openbrain.ports.clock import Clock

P = ParamSpec("P")
T = TypeVar("T")

SQLITE = "sqlite"
MARIADB = "mysql"
"""Dialect names as SQLAlchemy has them; MariaDB goes by the name of its protocol."""
FEW = 256
"""Rows of `Database.read_few`: as many as a batch of a consumer, or the candidates of a recall."""
CLOSED = "the database is closed: open it anew"
"""Of the `RuntimeError` that a call gets then."""


class Database(ABC):
    """One database. Opening connects to nothing yet; all methods belong to one event loop.

    Both raise `TryLater` while the database can't be reached or a lock was not had in time, and `SetupError` where
    only a person can help: refused credentials, no such database, a schema that was never made.
    """

    dialect: str
    """`SQLITE` or `MARIADB`."""

    @abstractmethod
    async def read(self, fn: Callable[[Connection], T]) -> T:
        """Run a function that only reads. It must not lock rows; on MariaDB each statement sees what is committed."""

    async def read_few(self, fn: Callable[[Connection], T]) -> T:
        """Run a function that only reads, and no more than a few rows by their keys: it may hold the event loop."""
        return await self.read(fn)

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


class Part:
    """One part of the store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def _read(self, fn: Callable[Concatenate[Connection, P], T], *given: P.args, **named: P.kwargs) -> T:
        """Run a function of a connection and of what is given, as `Database.read` does."""
        return await self._database.read(lambda connection: fn(connection, *given, **named))

    async def _read_keys(
        self,
        fn: Callable[Concatenate[Connection, Sequence[str], P], T],
        keys: Sequence[str],
        *given: P.args,
        **named: P.kwargs,
    ) -> T:
        """Run a function of a connection, of keys and of what is given, which reads the rows of these keys."""
        read = self._database.read_few if len(keys) <= FEW else self._database.read
        return await read(lambda connection: fn(connection, keys, *given, **named))

    async def _write(self, fn: Callable[Concatenate[Connection, P], T], *given: P.args, **named: P.kwargs) -> T:
        """Run a function of a connection and of what is given, as `Database.write` does."""
        return await self._database.write(lambda connection: fn(connection, *given, **named))

    async def _rows(self, query: Select[Any]) -> Sequence[RowMapping]:
        return await self._database.read(lambda connection: connection.execute(query).mappings().all())

    async def _scalar(self, query: Select[T]) -> T | None:
        """The first column of the first row; None where there is none."""
        return await self._database.read(lambda connection: connection.scalar(query))

    async def _change(self, statement: UpdateBase) -> int:
        """Run one INSERT, UPDATE or DELETE: a transaction of its own. Returns the number of rows."""
        return await self._database.write(lambda connection: connection.execute(statement).rowcount)

    async def _remove(self, table: Table, past: Select[Any]) -> int:
        """Remove the rows whose ids a query gives. Returns their number."""

        def remove(connection: Connection) -> int:
            ids = connection.scalars(past).all()
            return connection.execute(delete(table).where(table.c.id.in_(ids))).rowcount if ids else 0

        return await self._database.write(remove)


class TimedPart(Part):
    """A part that writes by a clock."""

    def __init__(self, database: Database, clock: Clock) -> None:
        super().__init__(database)
        self._clock = clock
