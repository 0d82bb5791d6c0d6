"""Quotas of a workspace: live memories, and the bytes of their contents in UTF-8.

Only a workspace with a quota has a row in `workspace_usage`. Its writers lock that row in turn, so the count is exact.
Other processes notice a new quota within `FRESH`; so until `SETTLED` after it was set, every write recounts the
memories, and the next one after that once more.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, delete, or_, select, update

from openbrain.adapters.sql.engine.statements import among, is_sqlite, slot
from openbrain.adapters.sql.schema.inserts import insert_rows
from openbrain.adapters.sql.schema.tables import memories, workspace_usage, workspaces
from openbrain.domain.caches import Fresh
from openbrain.domain.errors import QuotaExceeded
from openbrain.domain.memory import MICROSECONDS, Memory
from openbrain.ports.clock import Clock
from openbrain.ports.store.tenants import Usage
from openbrain.ports.store.writes import Outcome, Status, Write

FRESH = MICROSECONDS
SETTLED = 2 * MICROSECONDS
_LIMITED = or_(workspaces.c.max_memories.is_not(None), workspaces.c.max_bytes.is_not(None))
_QUOTA = (workspaces.c.max_memories, workspaces.c.max_bytes)


@dataclass(frozen=True, slots=True)
class Quota:
    """None is no limit."""

    max_memories: int | None
    max_bytes: int | None

    def refusal(self, used: Usage, added: Usage) -> QuotaExceeded | None:
        """Return the error if the addition does not fit, else None. An addition of nothing is never refused."""
        for name, limit, has, more in (
            ("max_memories", self.max_memories, used.memories, added.memories),
            ("max_bytes", self.max_bytes, used.bytes, added.bytes),
        ):
            if limit is not None and more > 0 and has + more > limit:
                return QuotaExceeded(name, limit, has)
        return None


class Quotas:
    """The quotas of all workspaces that have one, read at most once a second."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known = Fresh[Mapping[str, Quota]](clock.now, FRESH)

    def forget(self) -> None:
        """Discard the cache after a change in this process."""
        self._known.expire()

    def all(self, connection: Connection) -> Mapping[str, Quota]:
        """Return the quotas by workspace."""
        if (known := self._known.get()) is not None:
            return known
        now = self._clock.now()
        rows = connection.execute(select(workspaces.c.id, *_QUOTA).where(_LIMITED))
        return self._known.set({row[0]: Quota(*row[1:]) for row in rows}, now)


def remember_within(
    connection: Connection,
    writes: Sequence[Write],
    now: int,
    quotas: Mapping[str, Quota],
    remember: Callable[[Connection, Sequence[Write], int], list[Outcome]],
) -> list[Outcome]:
    """Run `remember`; refuse only the writes that do not fit."""
    limited = sorted({write.memory.workspace_id for write in writes} & quotas.keys())
    if not limited:
        return remember(connection, writes, now)
    used = {name: used_by(connection, name, now) for name in limited}
    stored = _stored(connection, [write.memory.id for write in writes if write.memory.workspace_id in used])
    new = [write.memory for write in writes if write.memory.id not in stored]
    offered = {name: total([memory for memory in new if memory.workspace_id == name]) for name in limited}
    if all(quotas[name].refusal(used[name], offered[name]) is None for name in limited):
        outcomes = remember(connection, writes, now)
        for name in limited:
            _add_created(connection, name, outcomes, stored)
        return outcomes
    return [_alone(connection, write, now, quotas.get(write.memory.workspace_id), stored, remember) for write in writes]


def _stored(connection: Connection, ids: Sequence[str]) -> frozenset[str]:
    """Return the ids of rows that are there, and counted: a retry after a lost response finds its own."""
    return frozenset(row.id for row in among(connection, select(memories.c.id), memories.c.id, ids))


def _alone(
    connection: Connection,
    write: Write,
    now: int,
    quota: Quota | None,
    stored: Collection[str],
    remember: Callable[[Connection, Sequence[Write], int], list[Outcome]],
) -> Outcome:
    """Run one write; roll it back if it is no duplicate and does not fit."""
    if quota is None:
        return remember(connection, [write], now)[0]
    name = write.memory.workspace_id
    before = used_by(connection, name, now)
    try:
        with connection.begin_nested():
            outcomes = remember(connection, [write], now)
            _add_created(connection, name, outcomes, stored)
            after = used_by(connection, name, now)
            added = Usage(after.memories - before.memories, after.bytes - before.bytes)
            if (refusal := quota.refusal(before, added)) is not None:
                raise refusal
    except QuotaExceeded as full:
        return Outcome(Status.REFUSED, error=full)
    return outcomes[0]


def without(refusal: QuotaExceeded, memories: Sequence[Memory]) -> QuotaExceeded:
    """The refusal as it reads once these memories, which it counted, are rolled back."""
    counted = total(memories)
    mine = counted.memories if refusal.field == "max_memories" else counted.bytes
    return QuotaExceeded(refusal.field, refusal.limit, refusal.used - mine)


def admit(connection: Connection, workspace_id: str, added: Usage, now: int) -> None:
    """Count what this transaction will add; `QuotaExceeded` if it does not fit."""
    row = connection.execute(select(*_QUOTA).where(workspaces.c.id == workspace_id, _LIMITED)).one_or_none()
    if row is None:
        return
    refusal = Quota(*row).refusal(used_by(connection, workspace_id, now), added)
    if refusal is not None:
        raise refusal
    _add(connection, workspace_id, added)


def admit_more(connection: Connection, before: Memory, after: Memory, now: int) -> None:
    """Admit the growth of a live memory whose content changes."""
    more = size(after) - size(before)
    if more > 0:
        admit(connection, after.workspace_id, Usage(0, more), now)
    else:
        recount(connection, before, after)


def recount(connection: Connection, before: Memory, after: Memory) -> None:
    """Count the new size of a live memory, even beyond the quota."""
    if more := size(after) - size(before):
        _add(connection, after.workspace_id, Usage(0, more))


def release(connection: Connection, rows: Sequence[Memory]) -> None:
    """Subtract rows that have just ended, given in their former state; rows that had ended before are not counted."""
    ended = [row for row in rows if row.reason is None]
    for name in sorted({item.workspace_id for item in ended}):
        freed = total([item for item in ended if item.workspace_id == name])
        _add(connection, name, Usage(-freed.memories, -freed.bytes))


def used_by(connection: Connection, workspace_id: str, now: int) -> Usage:
    """Return the usage of a workspace with a quota, locked until the transaction ends."""
    this = workspace_usage.c.workspace_id == workspace_id
    row = connection.execute(select(workspace_usage).where(this).with_for_update()).one_or_none()
    if row is not None and row.counted_at >= 0:
        return Usage(row.memories, row.bytes)
    counted = count(connection, workspace_id)
    if row is None:
        begin(connection, workspace_id, counted, now)
    else:
        settled = now >= -row.counted_at
        values = {"memories": counted.memories, "bytes": counted.bytes}
        connection.execute(
            update(workspace_usage).where(this).values(values | ({"counted_at": now} if settled else {}))
        )
    return counted


def count(connection: Connection, workspace_id: str) -> Usage:
    """Count by scanning every memory."""
    length = "LENGTH(CAST(content AS BLOB))" if is_sqlite(connection) else "LENGTH(content)"
    row = connection.exec_driver_sql(
        f"SELECT COUNT(*), COALESCE(SUM({length}), 0) FROM memories"  # noqa: S608 - one of two constants
        f" WHERE workspace_id = {slot(connection)} AND reason IS NULL",
        (workspace_id,),
    ).one()
    return Usage(int(row[0]), int(row[1]))


def begin(connection: Connection, workspace_id: str, counted: Usage, now: int) -> None:
    """Start counting this workspace. The negative time: until then every write recounts, and the next one once more."""
    stop(connection, workspace_id)
    row = (workspace_id, counted.memories, counted.bytes, -(now + SETTLED))
    insert_rows(connection, workspace_usage, [row], missing=True)


def stop(connection: Connection, workspace_id: str) -> None:
    connection.execute(delete(workspace_usage).where(workspace_usage.c.workspace_id == workspace_id))


def size(memory: Memory) -> int:
    return len(memory.content.encode())


def total(some: Sequence[Memory]) -> Usage:
    """Return the usage of these memories while they are live."""
    return Usage(len(some), sum(size(item) for item in some))


def _add_created(
    connection: Connection, workspace_id: str, outcomes: Sequence[Outcome], stored: Collection[str]
) -> None:
    new = [outcome.memory for outcome in outcomes if outcome.status is Status.CREATED and outcome.memory is not None]
    mine = [memory for memory in new if memory.workspace_id == workspace_id and memory.id not in stored]
    _add(connection, workspace_id, total(mine))


def _add(connection: Connection, workspace_id: str, added: Usage) -> None:
    """Add to the usage. Without a quota there is no row, so nothing is changed or locked."""
    here = slot(connection)
    connection.exec_driver_sql(
        f"UPDATE workspace_usage SET memories = memories + {here}, bytes = bytes + {here}"  # noqa: S608 - values are bound
        f" WHERE workspace_id = {here}",
        (added.memories, added.bytes, workspace_id),
    )


def usages(connection: Connection, ids: Sequence[str]) -> dict[str, Usage]:
    """Return the usage as last counted, without waiting for writers."""
    rows = connection.execute(select(workspace_usage).where(workspace_usage.c.workspace_id.in_(ids)))
    return {row.workspace_id: Usage(row.memories, row.bytes) for row in rows}
