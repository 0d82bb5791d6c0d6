"""One batch of writes in one transaction, in order."""

from collections.abc import Sequence
from itertools import groupby

from sqlalchemy import Connection

from openbrain.adapters.sql.outbox.journal import Journal
from openbrain.adapters.sql.schema.inserts import insert_memories
from openbrain.adapters.sql.schema.memory_rows import row_from_memory
from openbrain.adapters.sql.writes import locked_reads
from openbrain.adapters.sql.writes.dedupe import dedupe_key, release, same_live_memory
from openbrain.adapters.sql.writes.ending import SYSTEM_ACTOR, end
from openbrain.adapters.sql.writes.expiry import by_policy
from openbrain.adapters.sql.writes.idempotency import Claims
from openbrain.adapters.sql.writes.superseding import sees, supersede
from openbrain.domain.errors import Conflict, Invalid, TryLater
from openbrain.domain.memory import Memory, Reason
from openbrain.ports.store.writes import Outcome, Status, Write


def remember(connection: Connection, writes: Sequence[Write], now: int) -> list[Outcome]:
    """Return the outcome of every write; the journal is written too."""
    writes = by_policy(connection, writes)
    journal = Journal(now)
    claims = Claims(connection, writes, journal)
    outcomes, repeats = claims.take()
    indexes = [index for index in range(len(writes)) if index not in outcomes and index not in repeats]
    for replacing, run in groupby(indexes, key=lambda index: writes[index].memory.supersedes_id is not None):
        if replacing:
            outcomes |= {index: _replace(connection, journal, writes[index]) for index in run}
        else:
            outcomes |= Additions(connection, journal, {index: writes[index] for index in run}).outcomes()
    for index, first in repeats.items():
        outcomes[index] = _repeated(journal, writes[index], outcomes[first])
    claims.settle(outcomes)
    journal.write(connection)
    return [outcomes[index] for index in range(len(writes))]


def _replace(connection: Connection, journal: Journal, write: Write) -> Outcome:
    def add() -> Outcome:
        return Additions(connection, journal, {0: write}).outcomes()[0]

    try:
        return supersede(connection, journal, write, add)
    except (Invalid, Conflict) as error:
        return Outcome(Status.REFUSED, error=error)


def _repeated(journal: Journal, write: Write, first: Outcome) -> Outcome:
    if first.memory is None:
        return first
    journal.duplicate(first.memory, write.origin)
    return Outcome(Status.DUPLICATE, first.memory)


class Additions:
    """New memories of a batch that supersede nothing."""

    def __init__(self, connection: Connection, journal: Journal, writes: dict[int, Write]) -> None:
        self._connection = connection
        self._journal = journal
        self._writes = writes
        self._keys = {index: _key(write) for index, write in writes.items()}

    def outcomes(self) -> dict[int, Outcome]:
        """Insert new memories, and find the existing ones for the rest."""
        firsts = {key: index for index, key in reversed(self._keys.items()) if key is not None}
        own = [index for index, key in self._keys.items() if key is None or firsts[key] == index]
        missing = self._insert(own)
        done = {index: self._created(index) for index in own if index not in missing}
        done |= self._existing(missing) if missing else {}
        for index, key in self._keys.items():
            if key is not None and index not in done:
                first = done[firsts[key]]
                done[index] = first if first.memory is None else self._duplicate(first.memory, self._writes[index])
        return done

    def _insert(self, indexes: Sequence[int]) -> list[int]:
        """Insert, and return the positions of rows that were not inserted."""
        # In key order: two writers of the same contents wait for each other instead of deadlocking.
        ordered = sorted(indexes, key=lambda index: (self._keys[index] or "", self._writes[index].memory.id))
        rows = [row_from_memory(self._writes[index].memory, self._keys[index]) for index in ordered]
        new = insert_memories(self._connection, rows)
        return [index for index in indexes if self._writes[index].memory.id not in new]

    def _created(self, index: int) -> Outcome:
        write = self._writes[index]
        self._journal.created(write.memory, write.origin)
        return Outcome(Status.CREATED, write.memory)

    def _existing(self, indexes: Sequence[int]) -> dict[int, Outcome]:
        by_key = locked_reads.holders(self._connection, [key for index in indexes if (key := self._keys[index])])
        by_id = locked_reads.by_id(self._connection, [self._writes[index].memory.id for index in indexes])
        done: dict[int, Outcome] = {}
        due: dict[int, Memory] = {}
        for index in indexes:
            memory = self._writes[index].memory
            holder = by_id.get(memory.id) or by_key.get(self._keys[index] or "")
            if holder is None:
                raise TryLater("the memory with the same id or content has just been removed: try again")
            if holder.id == memory.id:
                done[index] = Outcome(Status.CREATED, holder)
            elif known := same_live_memory(self._connection, holder, memory, self._journal.now):
                done[index] = self._duplicate(known, self._writes[index])
            else:
                due[index] = holder
        if due:
            lapsed = [holder for holder in due.values() if holder.reason is None]
            if lapsed:
                end(self._connection, self._journal, lapsed, Reason.EXPIRED, SYSTEM_ACTOR)
            release(self._connection, [holder.id for holder in due.values()])
            again = {index: self._writes[index] for index in due}
            done |= Additions(self._connection, self._journal, again).outcomes()
        return done

    def _duplicate(self, known: Memory, write: Write) -> Outcome:
        # A turn is recognised in any org: the agent's other key may have stored it in one that this key must not see.
        if write.memory.identity and not sees(write.viewer, known, self._journal.now):
            return Outcome(Status.REFUSED, error=Conflict("this turn is already stored where this key can't see it"))
        self._journal.duplicate(known, write.origin)
        return Outcome(Status.DUPLICATE, known)


def _key(write: Write) -> str | None:
    return None if write.allow_duplicate else dedupe_key(write.memory)
