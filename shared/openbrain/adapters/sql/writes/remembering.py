"""One batch of writes inside one transaction, in order."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from sqlalchemy import Connection

from openbrain.adapters.sql.outbox.journal import Journal
from openbrain.adapters.sql.schema.inserts import insert_memories
from openbrain.adapters.sql.schema.memory_rows import row_from_memory
from openbrain.adapters.sql.writes import locked_reads
from openbrain.adapters.sql.writes.dedupe import dedupe_key
from openbrain.adapters.sql.writes.ending import SYSTEM_ACTOR, end
from openbrain.adapters.sql.writes.expiry import by_policy
from openbrain.adapters.sql.writes.idempotency import Claims
from openbrain.adapters.sql.writes.superseding import supersede
from openbrain.domain.errors import Conflict, Invalid, TryLater
from openbrain.domain.memory import Memory, Reason
from openbrain.ports.store.writes import Outcome, Status, Write


def remember(connection: Connection, writes: Sequence[Write], now: int) -> list[Outcome]:
    """Every write's outcome; the journal is written too."""
    writes = by_policy(connection, writes)
    journal = Journal(now)
    claims = Claims(connection, writes, journal)
    outcomes, repeats = claims.take()
    places = [place for place in range(len(writes)) if place not in outcomes and place not in repeats]
    for replacing, run in groupby(places, key=lambda place: writes[place].memory.supersedes_id is not None):
        if replacing:
            outcomes |= {place: _replace(connection, journal, writes[place]) for place in run}
        else:
            outcomes |= Additions(connection, journal, {place: writes[place] for place in run}).outcomes()
    for place, first in repeats.items():
        outcomes[place] = _repeated(journal, writes[place], outcomes[first])
    claims.settle(outcomes)
    journal.write(connection)
    return [outcomes[place] for place in range(len(writes))]


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
    """New memories of a batch that replace nothing."""

    def __init__(self, connection: Connection, journal: Journal, writes: dict[int, Write]) -> None:
        self._connection = connection
        self._journal = journal
        self._writes = writes
        self._keys = {place: _key(write) for place, write in writes.items()}

    def outcomes(self) -> dict[int, Outcome]:
        """Insert what is new, and find what stands for the rest."""
        firsts = {key: place for place, key in reversed(self._keys.items()) if key is not None}
        own = [place for place, key in self._keys.items() if key is None or firsts[key] == place]
        missing = self._insert(own)
        done = {place: self._created(place) for place in own if place not in missing}
        done |= self._standing(missing) if missing else {}
        for place, key in self._keys.items():
            if key is not None and place not in done:
                done[place] = _repeated(self._journal, self._writes[place], done[firsts[key]])
        return done

    def _insert(self, places: Sequence[int]) -> list[int]:
        """Insert, and return the places whose row was not taken."""
        # In the order of the key: two writers of the same contents wait for each other instead of deadlocking.
        ordered = sorted(places, key=lambda place: (self._keys[place] or "", self._writes[place].memory.id))
        rows = [row_from_memory(self._writes[place].memory, self._keys[place]) for place in ordered]
        new = insert_memories(self._connection, rows)
        return [place for place in places if self._writes[place].memory.id not in new]

    def _created(self, place: int) -> Outcome:
        write = self._writes[place]
        self._journal.created(write.memory, write.origin)
        return Outcome(Status.CREATED, write.memory)

    def _standing(self, places: Iterable[int]) -> dict[int, Outcome]:
        places = list(places)
        by_key = locked_reads.holders(self._connection, [key for place in places if (key := self._keys[place])])
        by_id = locked_reads.by_id(self._connection, [self._writes[place].memory.id for place in places])
        done: dict[int, Outcome] = {}
        due: dict[int, Memory] = {}
        for place in places:
            memory = self._writes[place].memory
            holder = by_id.get(memory.id) or by_key.get(self._keys[place] or "")
            if holder is None:
                raise TryLater("the memory that was in the way has just gone: try again")
            if holder.id == memory.id:
                done[place] = Outcome(Status.CREATED, holder)
            elif holder.alive(self._journal.now):
                self._journal.duplicate(holder, self._writes[place].origin)
                done[place] = Outcome(Status.DUPLICATE, holder)
            else:
                due[place] = holder
        if due:
            end(self._connection, self._journal, list(due.values()), Reason.EXPIRED, SYSTEM_ACTOR)
            again = {place: self._writes[place] for place in due}
            done |= Additions(self._connection, self._journal, again).outcomes()
        return done


def _key(write: Write) -> str | None:
    return None if write.allow_duplicate else dedupe_key(write.memory)
