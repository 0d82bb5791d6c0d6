"""One memory replaces another: a chain never has two heads."""

from collections.abc import Callable

from sqlalchemy import Connection

from openbrain.adapters.sql.outbox.journal import Journal
from openbrain.adapters.sql.schema.inserts import insert_rows
from openbrain.adapters.sql.schema.tables import memory_lineage
from openbrain.adapters.sql.writes import locked_reads
from openbrain.adapters.sql.writes.dedupe import says_the_same
from openbrain.adapters.sql.writes.ending import end
from openbrain.domain.access.visibility import Criteria, Viewer, matches, visible
from openbrain.domain.errors import Conflict, Invalid
from openbrain.domain.memory import Memory, Reason
from openbrain.ports.store.writes import Origin, Outcome, Status, Write

_KIND = "superseded"


def supersede(connection: Connection, journal: Journal, write: Write, add: Callable[[], Outcome]) -> Outcome:
    """Replace `write.memory.supersedes_id`; `add` inserts the new memory, or finds the one with the same content.

    `Invalid` if the viewer sees no such memory, `Conflict` if it is no longer the head of its chain.
    """
    old = locked_reads.locked(connection, write.memory.supersedes_id or "")
    if old is None or not sees(write.viewer, old, journal.now):
        raise Invalid("supersedes", "no memory with this id: leave it out, or name one that you can recall")
    if not old.alive(journal.now):
        return _replaced_meanwhile(connection, journal, write, old)
    if says_the_same(write.memory, old):
        return _known(journal, write, old)
    outcome = add()
    new = outcome.memory
    if new is not None and new.id != old.id:
        _end_by(connection, journal, old, new.id, write.origin)
    return outcome


def replace_memory(connection: Connection, old_id: str, new_id: str, origin: Origin, now: int) -> None:
    """Let a stored memory supersede another one, if that is live."""
    old = locked_reads.locked(connection, old_id)
    if old is not None and old.alive(now):
        journal = Journal(now)
        _end_by(connection, journal, old, new_id, origin)
        journal.write(connection)


def _end_by(connection: Connection, journal: Journal, old: Memory, new_id: str, origin: Origin) -> None:
    end(connection, journal, [old], Reason.SUPERSEDED, origin, superseded_by=new_id)
    insert_rows(connection, memory_lineage, [(new_id, old.id, _KIND, journal.now)], missing=True)


def sees(viewer: Viewer, memory: Memory, now: int) -> bool:
    """True if the viewer may see this memory, live or ended."""
    return matches(visible(viewer, Criteria(), now), memory)


def ended_error(connection: Connection, viewer: Viewer, old: Memory, now: int) -> Conflict:
    """Return the error for changing a memory that was superseded or has ended otherwise."""
    head = locked_reads.head(connection, old.id)
    if head is None or not sees(viewer, head, now):
        reason = old.reason or Reason.EXPIRED
        return Conflict(f"this memory is {reason.value} and nothing that you can see stands in its place")
    return Conflict(f"this memory was superseded: {head.id} stands in its place now", head=head.id)


def _replaced_meanwhile(connection: Connection, journal: Journal, write: Write, old: Memory) -> Outcome:
    head = locked_reads.head(connection, old.id)
    if head is not None and says_the_same(write.memory, head) and sees(write.viewer, head, journal.now):
        return _known(journal, write, head)
    raise ended_error(connection, write.viewer, old, journal.now)


def _known(journal: Journal, write: Write, existing: Memory) -> Outcome:
    if existing.id == write.memory.id:
        return Outcome(Status.CREATED, existing)
    journal.duplicate(existing, write.origin)
    return Outcome(Status.DUPLICATE, existing)
