"""Threads that each own a connection: a whole transaction is one hand-off."""

import asyncio
import contextlib
import sqlite3
import threading
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from openbrain.adapters.sql.engine.database import CLOSED
from openbrain.adapters.sql.engine.sqlite.errors import translated

T = TypeVar("T")


class Threads:
    """A queue and up to `count` threads that take jobs from it; call all methods from one event loop.

    Not an executor: its hand-off takes longer than a small transaction, and its thread keeps working with the GIL while
    the event loop, already woken, waits for it.
    """

    def __init__(self, engine: Engine, count: int, name: str) -> None:
        self._engine = engine
        self._count = count
        self._name = name
        self._jobs: SimpleQueue[_Job[Any] | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._unfinished = 0
        self._closed = False

    async def run(self, fn: Callable[[Connection], T]) -> T:
        """Run a function as a transaction; return its result once it is committed."""
        if self._closed:
            raise RuntimeError(CLOSED)
        job = _Job(fn, self._finished)
        if self._unfinished >= len(self._threads) < self._count:
            self._start()
        self._unfinished += 1
        self._jobs.put(job)
        return await job.result

    @property
    def closed(self) -> bool:
        """True if no more jobs are accepted."""
        return self._closed

    async def close(self) -> None:
        """Wait for queued jobs, then end the threads."""
        self._closed = True
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            await asyncio.to_thread(thread.join)
        self._engine.dispose()

    def _finished(self) -> None:
        self._unfinished -= 1

    def _start(self) -> None:
        # A daemon: a process that ends without `close` does not hang, and uncommitted changes are rolled back.
        thread = threading.Thread(target=self._work, name=f"{self._name}_{len(self._threads)}", daemon=True)
        thread.start()
        # Only now: the system may refuse a thread, and one that does not run must not count.
        self._threads.append(thread)

    def _work(self) -> None:
        own = OwnConnection(self._engine)
        while (job := self._jobs.get()) is not None:
            job.report(_outcome(job, own))
        own.drop()


class _Job(Generic[T]):
    """A queued transaction, and the future that its caller awaits."""

    def __init__(self, fn: Callable[[Connection], T], finished: Callable[[], None]) -> None:
        self.fn = fn
        self._finished = finished
        self._loop = asyncio.get_running_loop()
        self.result: asyncio.Future[T] = self._loop.create_future()

    def report(self, put: Callable[[], None] | None) -> None:
        """Called in the thread: `put` sets the result, if the caller still waits."""
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._put, put)

    def _put(self, put: Callable[[], None] | None) -> None:
        self._finished()
        if put is not None and not self.result.done():
            put()


class OwnConnection:
    """A thread's connection, opened on first use."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._connection: Connection | None = None

    def transaction(self, fn: Callable[[Connection], T]) -> T:
        """Run a function as one transaction, with the errors of `Database`."""

        def whole(connection: Connection) -> T:
            with connection.begin():
                return fn(connection)

        return self._run(whole)

    def read(self, fn: Callable[[Connection], T]) -> T:
        """Run a read-only function, with the errors of `Database`. Each statement sees the latest committed rows: for a
        few rows, a transaction would take as long as the statement."""

        def each(connection: Connection) -> T:
            try:
                return fn(connection)
            finally:
                if connection.in_transaction():  # a statement that passed through SQLAlchemy
                    connection.rollback()

        return self._run(each)

    def _run(self, fn: Callable[[Connection], T]) -> T:
        try:
            if self._connection is None:
                self._connection = self._engine.connect()
            return fn(self._connection)
        except (DBAPIError, sqlite3.Error) as error:
            known = translated(error)
            if known is None:
                raise
            # The statement was not the cause: the next transaction starts on a fresh connection.
            self.drop()
            raise known from error

    def drop(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            with contextlib.suppress(SQLAlchemyError):
                self._connection.close()
            self._connection = None


def _outcome(job: _Job[T], own: OwnConnection) -> Callable[[], None] | None:
    """Run the job and return the callback that sets its result; None if it was cancelled before it began."""
    if job.result.cancelled():
        return None
    try:
        return partial(job.result.set_result, own.transaction(job.fn))
    except BaseException as error:  # noqa: BLE001 - the caller's, whatever it is
        return partial(job.result.set_exception, error)
