"""Writes of users to memories, each in one transaction."""

from collections.abc import Sequence

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from openbrain.adapters.sql.engine.database import Database, TimedPart
from openbrain.adapters.sql.memories.rows import RecentRows
from openbrain.adapters.sql.work import operations
from openbrain.adapters.sql.writes.editing import edit_memory, forget_memory
from openbrain.adapters.sql.writes.erasing import end_living, erase_memory, measure_living, newest
from openbrain.adapters.sql.writes.expiry import expire_due, purge_idempotency_keys
from openbrain.adapters.sql.writes.idempotency import blank_keys
from openbrain.adapters.sql.writes.quotas import Quotas, remember_within, without
from openbrain.adapters.sql.writes.remember import remember
from openbrain.adapters.sql.writes.restoring import restore_memory
from openbrain.domain.access.visibility import Condition, Viewer
from openbrain.domain.errors import Invalid, QuotaExceeded
from openbrain.domain.memory import Memory
from openbrain.ports.clock import Clock
from openbrain.ports.store.writes import (
    Bulk,
    Edit,
    Ended,
    Erasure,
    ExpectedVersions,
    Living,
    Origin,
    Outcome,
    Status,
    Write,
)

_REFUSED = (DBAPIError, ValueError, TypeError, OverflowError)
"""Errors raised here or in a driver for a value that no column accepts."""


class _NotWhole(Exception):
    """Rolls back a text of which not all parts would be stored."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__()
        self.outcome = outcome


class SqlMemoryWrites(TimedPart):
    """`ports.writes.MemoryWrites`."""

    def __init__(
        self, database: Database, clock: Clock, quotas: Quotas | None = None, recent: RecentRows | None = None
    ) -> None:
        super().__init__(database, clock)
        self._quotas = Quotas(clock) if quotas is None else quotas
        self._recent = RecentRows() if recent is None else recent

    async def remember(self, writes: Sequence[Write], *, whole: bool = False) -> Sequence[Outcome]:
        """Write the whole batch at once; if that fails, each write in a savepoint. New rows are kept for the projectors
        of this process."""
        if not writes:
            return []
        now = self._clock.now()
        try:
            outcomes = await self._write(self._whole if whole else self._remember, writes, now)
        except _NotWhole as instead:
            return [instead.outcome] * len(writes)
        except _REFUSED:
            if whole:
                raise
            outcomes = await self._write(self._each, writes, now)
        self._recent.keep(outcome.memory for outcome in outcomes if outcome.status is Status.CREATED and outcome.memory)
        return outcomes

    async def update(self, edit: Edit) -> Memory:
        return await self._claim(edit_memory, edit, self._clock.now())

    async def forget(
        self, memory_id: str, viewer: Viewer, origin: Origin, note: str, expected_versions: ExpectedVersions = None
    ) -> Memory:
        """Forget a memory; `Conflict`, with the head, if it was superseded."""
        now = self._clock.now()
        return await self._write(forget_memory, memory_id, viewer, origin, note, expected_versions, now)

    async def restore(
        self, memory_id: str, viewer: Viewer, origin: Origin, note: str, expected_versions: ExpectedVersions = None
    ) -> Memory:
        now = self._clock.now()
        return await self._claim(restore_memory, memory_id, viewer, origin, note, expected_versions, now)

    async def erase(
        self, memory_id: str, viewer: Viewer, origin: Origin, note: str, expected_versions: ExpectedVersions = None
    ) -> Erasure:
        now = self._clock.now()
        return await self._write(erase_memory, memory_id, viewer, origin, note, expected_versions, now)

    async def last_erasure(self) -> str:
        return await self._read(operations.last_purge)

    async def measure_living(self, condition: Condition, *, ended: bool = False) -> Living:
        """Count and newest time in one statement, so that both refer to the same rows."""
        return await self._read(measure_living, condition, ended=ended)

    async def sample_living(self, bulk: Bulk, limit: int) -> Sequence[str]:
        return await self._read(newest, bulk, limit)

    async def end_living(self, bulk: Bulk, limit: int, origin: Origin, note: str, *, erase: bool) -> Ended:
        return await self._write(end_living, bulk, limit, origin, note, self._clock.now(), erase=erase)

    async def expire_due(self, limit: int, now: int) -> int:
        """Expire due memories; concurrent calls take different rows."""
        return await self._write(expire_due, limit, now)

    async def purge_idempotency_keys(self, limit: int) -> int:
        return await self._write(purge_idempotency_keys, limit, self._clock.now())

    async def blank_keys(self, workspace_id: str, ids: Sequence[str]) -> Sequence[str]:
        """Blank the keys' content hashes. The keys stay, so that a repeated submission is still recognised."""
        return await self._write(blank_keys, workspace_id, ids)

    def _remember(self, connection: Connection, writes: Sequence[Write], now: int) -> list[Outcome]:
        return remember_within(connection, writes, now, self._quotas.all(connection), remember)

    def _each(self, connection: Connection, writes: Sequence[Write], now: int) -> list[Outcome]:
        return [self._alone(connection, write, now) for write in writes]

    def _whole(self, connection: Connection, writes: Sequence[Write], now: int) -> list[Outcome]:
        outcomes = self._each(connection, writes, now)
        created = [outcome.memory for outcome in outcomes if outcome.status is Status.CREATED and outcome.memory]
        for outcome in outcomes:
            if isinstance(outcome.error, QuotaExceeded):
                raise _NotWhole(outcome._replace(error=without(outcome.error, created)))
            if outcome.status is Status.REFUSED:
                raise _NotWhole(outcome)
        if created and outcomes[0].status is Status.DUPLICATE:
            raise _NotWhole(outcomes[0])
        return outcomes

    def _alone(self, connection: Connection, write: Write, now: int) -> Outcome:
        try:
            with connection.begin_nested():
                return self._remember(connection, [write], now)[0]
        except DBAPIError as error:
            if self._database.explain(error) is not None:
                raise
            # The driver's message may contain the content.
            return Outcome(Status.REFUSED, error=Invalid("", f"the database refuses a value ({_name(error)})"))
        except _REFUSED as error:
            return Outcome(Status.REFUSED, error=Invalid("", f"a value can't be stored ({type(error).__name__})"))


def _name(error: DBAPIError) -> str:
    number = error.orig.args[0] if error.orig is not None and error.orig.args else ""
    return (
        str(number) if isinstance(number, int) else getattr(error.orig, "sqlite_errorname", type(error.orig).__name__)
    )
