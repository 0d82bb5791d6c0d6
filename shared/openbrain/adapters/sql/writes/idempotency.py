"""Idempotency keys: the caller's mark of a repeated request."""

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, and_, delete, or_, select, update

from openbrain.adapters.sql.engine.statements import among, chunks, is_sqlite
from openbrain.adapters.sql.outbox.journal import Journal
from openbrain.adapters.sql.schema.inserts import insert_rows
from openbrain.adapters.sql.schema.tables import idempotency_keys as keys
from openbrain.adapters.sql.writes import locked_reads
from openbrain.domain.errors import Conflict
from openbrain.domain.ids import joined_hash
from openbrain.ports.store.writes import Outcome, Status, Write

_Row = tuple[str, str, str, str, int]


class Claims:
    """The keys of one batch: claimed before its memories are written, settled afterwards."""

    def __init__(self, connection: Connection, writes: Sequence[Write], journal: Journal) -> None:
        self._connection = connection
        self._writes = writes
        self._journal = journal
        self._rows = {index: _row(write) for index, write in enumerate(writes) if write.idempotency_key}
        self._keyed = list(self._rows)
        self._mine = {write.memory.id: index for index, write in enumerate(writes)}

    def take(self) -> tuple[dict[int, Outcome], dict[int, int]]:
        """Claim every key. Return, by position, the outcomes of writes that a key answers already, and the writes that
        repeat an earlier one of this batch."""
        if not self._keyed:
            return {}, {}
        firsts = {row[:2]: row for row in reversed(self._rows.values())}
        wanted = [firsts[key] for key in sorted(firsts)]
        # A claim that is taken waits for its holder's transaction and then locks the row, so the next read is final.
        taken = insert_rows(self._connection, keys, wanted, missing=True)
        # Only SQLite's count excludes skipped rows.
        all_free = is_sqlite(self._connection) and taken == len(wanted)
        held = firsts if all_free else self._held(wanted)
        known = locked_reads.by_id(self._connection, [row[2] for row in held.values() if row[2] not in self._mine])
        answered: dict[int, Outcome] = {}
        repeats: dict[int, int] = {}
        for index in self._keyed:
            row = self._rows[index]
            holder = held[row[:2]]
            if holder[2] == row[2]:
                continue
            if holder[2] in self._mine:
                answered |= _conflict(index) if holder[3] != row[3] else {}
                repeats |= {index: self._mine[holder[2]]} if holder[3] == row[3] else {}
            elif holder[4] <= self._journal.now or holder[2] not in known:
                self._renew(row)
                held[row[:2]] = row
            # An erased memory has no hash any more: then an equal key is enough.
            elif holder[3] not in ("", row[3]):
                answered |= _conflict(index)
            else:
                self._journal.duplicate(known[holder[2]], self._writes[index].origin)
                answered[index] = Outcome(Status.DUPLICATE, known[holder[2]])
        return answered, repeats

    def settle(self, outcomes: Mapping[int, Outcome]) -> None:
        """Point claims to the memories they resulted in; release those of refused writes."""
        for index in self._keyed:
            outcome, write = outcomes[index], self._writes[index]
            if outcome.memory is not None and outcome.memory.id == write.memory.id:
                continue
            row = self._rows[index]
            mine = and_(keys.c.workspace_id == row[0], keys.c.key_hash == row[1], keys.c.memory_id == row[2])
            if outcome.memory is None:
                self._connection.execute(delete(keys).where(mine))
            else:
                self._connection.execute(update(keys).where(mine).values(memory_id=outcome.memory.id))

    def _held(self, rows: Sequence[_Row]) -> dict[tuple[str, str], _Row]:
        one_workspace = [
            and_(keys.c.workspace_id == workspace, keys.c.key_hash.in_([row[1] for row in rows if row[0] == workspace]))
            for workspace in sorted({row[0] for row in rows})
        ]
        claimed = self._connection.execute(select(keys).where(or_(*one_workspace)))
        return {(row.workspace_id, row.key_hash): tuple(row) for row in claimed}

    def _renew(self, row: _Row) -> None:
        """Take over a key that has expired or whose memory no longer exists."""
        here = and_(keys.c.workspace_id == row[0], keys.c.key_hash == row[1])
        renewed = update(keys).where(here).values(memory_id=row[2], content_hash=row[3], expires_at=row[4])
        self._connection.execute(renewed)


def _row(write: Write) -> _Row:
    memory = write.memory
    key_hash = joined_hash(memory.workspace_id, write.idempotency_key)
    return memory.workspace_id, key_hash, memory.id, memory.content_hash, write.idempotency_expires_at


def _conflict(index: int) -> dict[int, Outcome]:
    error = Conflict("this idempotency key was used for other content: take a new key for a new memory")
    return {index: Outcome(Status.REFUSED, error=error)}


def blank_keys(connection: Connection, workspace_id: str, ids: Sequence[str]) -> list[str]:
    mine = select(keys.c.key_hash).where(keys.c.workspace_id == workspace_id)
    key_hashes = [row.key_hash for row in among(connection, mine, keys.c.memory_id, ids)]
    for some in chunks(sorted(key_hashes)):
        # By primary key: scanning the workspace's keys would lock out others.
        those = and_(keys.c.workspace_id == workspace_id, keys.c.key_hash.in_(some))
        connection.execute(update(keys).where(those).values(content_hash=""))
    return key_hashes
