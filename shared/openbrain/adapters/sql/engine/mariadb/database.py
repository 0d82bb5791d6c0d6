"""MariaDB: one asynchronous engine for writes and one for reads; a transaction is retried if the server ended it."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from sqlalchemy import URL, Connection, Engine, event
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.util import greenlet_spawn

from openbrain.adapters.sql.engine.database import CLOSED, MARIADB, Database
from openbrain.adapters.sql.engine.mariadb.driver import connect
from openbrain.adapters.sql.engine.mariadb.errors import BUSY, leads_elsewhere, repeatable, translated
from openbrain.adapters.sql.engine.statements import NOW_MARIADB, slots
from openbrain.domain.errors import OpenBrainError, TryLater
from openbrain.ports.clock import Follower

T = TypeVar("T")

_ATTEMPTS = 6
_LOCK_WAITS = 3
_CONNECT_S = 5.0
_RECYCLE_S = 1800
_ANSWER_S = 30.0
"""Seconds beyond the lock wait after which the connection of a transaction counts as dead."""
_TIME = f"SELECT {NOW_MARIADB}"
_ASKED = ("log_bin", "binlog_expire_logs_seconds", "innodb_immediate_scrub_data_uncompressed")
_SQL_MODE = "STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"


class MariaDatabase(Database):
    """One database on a server."""

    dialect = MARIADB

    def __init__(self, address: URL, *, pool: int, lock_wait_s: float, clock: Follower | None = None) -> None:
        self._clock = clock
        self._lock_wait = lock_wait_s
        self._patience = lock_wait_s + _ANSWER_S
        self._running = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._closed = False
        self._writing = _engine(address, pool, lock_wait_s, "READ COMMITTED")
        # Without a transaction a read needs no round trip to end it, and never blocks DDL.
        self._reading = _engine(address, pool, lock_wait_s, "AUTOCOMMIT")

    async def read(self, fn: Callable[[Connection], T]) -> T:
        with self._call():
            return await self._repeated(lambda: greenlet_spawn(_statements, self._reading.sync_engine, self._timed(fn)))

    async def write(self, fn: Callable[[Connection], T]) -> T:
        with self._call():
            return await self._repeated(
                lambda: greenlet_spawn(_transaction, self._writing.sync_engine, self._timed(fn))
            )

    def _timed(self, fn: Callable[[Connection], T]) -> Callable[[Connection], T]:
        """Return the function; it also reads the server's time if that is due."""
        clock = self._clock
        if clock is None or clock.begin() is None:
            return fn

        def timed(connection: Connection) -> T:
            # Start the measurement here: connecting takes longer than the answer and would make the time imprecise.
            if (started := clock.begin()) is not None:
                clock.follow(int(connection.exec_driver_sql(_TIME).scalar_one()), started)
            return fn(connection)

        return timed

    def explain(self, error: DBAPIError) -> OpenBrainError | None:
        return translated(error)

    async def scrub(self) -> dict[str, object]:
        """Report what the server's files keep, and for how long: cleaning them is left to the operator."""
        return await self.read(_kept)

    async def close(self) -> None:
        self._closed = True
        # A connection returned to a closed pool would stay open.
        with suppress(TimeoutError):
            async with asyncio.timeout(self._patience):
                await self._idle.wait()
        await self._reading.dispose()
        await self._writing.dispose()

    @contextmanager
    def _call(self) -> Iterator[None]:
        if self._closed:
            raise RuntimeError(CLOSED)
        self._running += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._running -= 1
            if not self._running:
                self._idle.set()

    async def _repeated(self, attempt: Callable[[], Awaitable[T]]) -> T:
        clock = asyncio.get_running_loop().time
        until = clock() + self._lock_wait
        for number in range(_ATTEMPTS):
            try:
                async with asyncio.timeout(self._patience):
                    return await attempt()
            except (DBAPIError, PoolTimeout, TimeoutError, OSError) as error:
                if repeatable(error) and number + 1 < _ATTEMPTS and clock() < until:
                    await asyncio.sleep(random.uniform(0.3, 1) * 0.01 * 2**number)  # noqa: S311 - no secret, a pause
                    continue
                known = translated(error)
                if known is None:
                    raise
                raise known from error
        raise TryLater(BUSY)


def _statements(engine: Engine, fn: Callable[[Connection], T]) -> T:
    with engine.connect() as connection:
        return fn(connection)


def _transaction(engine: Engine, fn: Callable[[Connection], T]) -> T:
    with engine.connect() as connection, connection.begin():
        return fn(connection)


def _engine(address: URL, pool: int, lock_wait_s: float, isolation: str) -> AsyncEngine:
    made = create_async_engine(
        address,
        isolation_level=isolation,
        skip_autocommit_rollback=True,
        pool_size=pool,
        max_overflow=0,
        pool_timeout=lock_wait_s,
        # No ping before each use: a lost connection fails at the first statement, and the transaction is retried.
        pool_recycle=_RECYCLE_S,
        # Every transaction has ended before its connection is returned; a reset would only cost a round trip.
        pool_reset_on_return=None,
        # The parameters of a statement contain memories: keep them out of error messages.
        hide_parameters=True,
        connect_args={**connect_arguments(lock_wait_s), "async_creator_fn": connect},
    )

    @event.listens_for(made.sync_engine, "handle_error")
    def _connect_anew(met: ExceptionContext) -> None:
        if met.sqlalchemy_exception is not None and leads_elsewhere(met.sqlalchemy_exception):
            met.is_disconnect = True

    return made


def connect_arguments(lock_wait_s: float) -> dict[str, Any]:
    """Return the arguments of every connection; the blocking driver uses the same."""
    # Less than the whole wait: a transaction that restarts releases its locks, so that others can proceed.
    seconds = max(1, round(lock_wait_s / _LOCK_WAITS))
    session = f"SET SESSION sql_mode = '{_SQL_MODE}', innodb_lock_wait_timeout = {seconds}"
    return {"charset": "utf8mb4", "connect_timeout": _CONNECT_S, "init_command": session}


def _kept(connection: Connection) -> dict[str, object]:
    """Report the settings by which the server's files keep deleted rows, and what to change. See
    docs/how-to/erase.md."""
    asked = f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({slots(connection, len(_ASKED))})"
    rows = connection.exec_driver_sql(asked, _ASKED)
    settings = {str(name): str(value) for name, value in rows}
    advice = []
    if settings.get("innodb_immediate_scrub_data_uncompressed") != "ON":
        advice.append(
            "freed space of InnoDB is overwritten only when it is used again: "
            "set innodb_immediate_scrub_data_uncompressed=ON, and run OPTIMIZE TABLE on memories and memory_history"
        )
    if settings.get("log_bin") == "ON":
        seconds = int(float(settings.get("binlog_expire_logs_seconds", "0")))
        until = f"for {seconds} seconds" if seconds else "until PURGE BINARY LOGS, for nothing expires them"
        advice.append(f"the binary log keeps the statements that stored the rows {until}")
    return {"product": "MariaDB", "settings": settings, "left_to_the_operator": advice}
