"""The transaction runner: every query is a plain function of a SQLAlchemy connection, written once for both databases.

`read(fn)` and `write(fn)` run `fn(connection)` as one transaction. `fn` may run again from the start (after a deadlock
or a lost connection), so it must have no other effects, and must build its result from scratch each time.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection, RowMapping, Select, Table, UpdateBase, delete
from sqlalchemy.exc import DBAPIError, IntegrityError

from openbrain.domain.errors import OpenBrainError, TryLater
from openbrain.ports.clock import Clock

P = ParamSpec("P")
T = TypeVar("T")

SQLITE = "sqlite"
MARIADB = "mysql"
"""Dialect names of SQLAlchemy; MariaDB has the name of its protocol."""
FEW = 256
"""Maximum rows of `Database.read_few`: enough for a batch of a consumer, or the candidates of a recall."""
RACES = 5
"""Attempts of a transaction that takes duplicate keys."""
CLOSED = "the database is closed: open it anew"
"""The message of the `RuntimeError` that a call on a closed database raises."""


class Database(ABC):
    """One database. Opening does not connect yet; call all methods from one event loop.

    `read` and `write` raise `TryLater` while the database can't be reached or a lock is not available in time, and
    `SetupError` for what only a person can fix: refused credentials, a missing database or schema.
    """

    dialect: str
    """`SQLITE` or `MARIADB`."""

    @abstractmethod
    async def read(self, fn: Callable[[Connection], T]) -> T:
        """Run a read-only function. It must not lock rows; on MariaDB each statement sees the latest committed rows."""

    async def read_few(self, fn: Callable[[Connection], T]) -> T:
        """Run a read-only function that reads a few rows by key: it may block the event loop. Each statement sees the
        latest committed rows."""
        return await self.read(fn)

    @abstractmethod
    async def write(self, fn: Callable[[Connection], T]) -> T:
        """Run a function and commit; roll back if it raises.

        If the caller is cancelled, the transaction is either complete or has no effect.
        """

    @abstractmethod
    def explain(self, error: DBAPIError) -> OpenBrainError | None:
        """Return the error to raise instead; None if the database works and refused the statement or a value in it."""

    @abstractmethod
    async def scrub(self) -> dict[str, object]:
        """Remove deleted rows from our own files; report what was done. `TryLater` if another user of the file blocks
        it."""

    @abstractmethod
    async def close(self) -> None:
        """Wait for running transactions and release every connection."""


class Part:
    """Base of one part of the store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def _read(self, fn: Callable[Concatenate[Connection, P], T], *given: P.args, **named: P.kwargs) -> T:
        """Run a function of a connection and these arguments with `Database.read`."""
        return await self._database.read(lambda connection: fn(connection, *given, **named))

    async def _read_keys(
        self,
        fn: Callable[Concatenate[Connection, Sequence[str], P], T],
        keys: Sequence[str],
        *given: P.args,
        **named: P.kwargs,
    ) -> T:
        """Run a function of a connection, keys and these arguments that reads the rows of the keys."""
        read = self._database.read_few if len(keys) <= FEW else self._database.read
        return await read(lambda connection: fn(connection, keys, *given, **named))

    async def _write(self, fn: Callable[Concatenate[Connection, P], T], *given: P.args, **named: P.kwargs) -> T:
        """Run a function of a connection and these arguments with `Database.write`."""
        return await self._database.write(lambda connection: fn(connection, *given, **named))

    async def _claim(self, fn: Callable[Concatenate[Connection, P], T], *given: P.args, **named: P.kwargs) -> T:
        """Like `_write`, for a function that takes duplicate keys."""
        busy = "others write the same content at this moment: try again"
        return await self._write_unique(busy, fn, *given, **named)

    async def _write_unique(
        self, busy: str, fn: Callable[Concatenate[Connection, P], T], *given: P.args, **named: P.kwargs
    ) -> T:
        """Like `_write`, for a function that takes unique keys. It is repeated if another writer took one between its
        read and its write; after too many tries `TryLater` with the text `busy`."""
        for _ in range(RACES):
            try:
                return await self._write(fn, *given, **named)
            except IntegrityError:
                continue
        raise TryLater(busy)

    async def _rows(self, query: Select[Any]) -> Sequence[RowMapping]:
        return await self._database.read(lambda connection: connection.execute(query).mappings().all())

    async def _scalar(self, query: Select[T]) -> T | None:
        """Return the first column of the first row; None if there is no row."""
        return await self._database.read(lambda connection: connection.scalar(query))

    async def _change(self, statement: UpdateBase) -> int:
        """Run one INSERT, UPDATE or DELETE in a transaction. Return the number of rows."""
        return await self._database.write(lambda connection: connection.execute(statement).rowcount)

    async def _done_once(
        self, fn: Callable[Concatenate[Connection, P], bool | int], *given: P.args, **named: P.kwargs
    ) -> bool:
        """Like `_write`, for a function that tells whether it removed or ended something. A retry after a lost response
        to the commit finds nothing left to do: what the first attempt told counts."""
        done = False

        def once(connection: Connection) -> bool:
            nonlocal done
            done = bool(fn(connection, *given, **named)) or done
            return done

        return await self._database.write(once)

    async def _remove(self, table: Table, past: Select[Any]) -> int:
        """Remove the rows whose ids a query returns. Return their number."""

        def remove(connection: Connection) -> int:
            ids = connection.scalars(past).all()
            return connection.execute(delete(table).where(table.c.id.in_(ids))).rowcount if ids else 0

        return await self._database.write(remove)


class TimedPart(Part):
    """A part whose writes need a clock."""

    def __init__(self, database: Database, clock: Clock) -> None:
        super().__init__(database)
        self._clock = clock
