"""Writers that race for the head of one chain and follow it when it moves: the chain stays a line."""

import asyncio

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.engine.opening import open_database
from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.errors import Conflict, TryLater
from openbrain.ports.store.writes import Outcome, Status
from tests.support.store.fixtures import FakeClock, rows, write

LENGTH = 40


async def follow(store: SqlStore, content: str, head: str) -> str:
    """Supersede whatever is the current head; return the new memory's id."""
    while True:
        try:
            (outcome,) = await store.writes.remember([write(content, supersedes_id=head)])
        except TryLater:
            continue
        if outcome.status is Status.CREATED:
            assert outcome.memory is not None
            return outcome.memory.id
        head = _named(outcome)


def _named(outcome: Outcome) -> str:
    assert isinstance(outcome.error, Conflict)
    assert outcome.error.head
    return outcome.error.head


async def test_everyone_gets_a_place_in_one_line(store: SqlStore, database: Database, database_url: str) -> None:
    first = write("version 0")
    await store.writes.remember([first])
    elsewhere = SqlStore(open_database(database_url), FakeClock())
    writers = (store, elsewhere)
    try:
        made = await asyncio.gather(
            *(follow(writers[number % 2], f"version {number}", first.memory.id) for number in range(1, LENGTH + 1))
        )
    finally:
        await elsewhere.close()

    (head,) = [each["id"] for each in await rows(database, "SELECT id FROM memories WHERE reason IS NULL")]
    line = await store.memories.ancestry(head, 1000)
    assert {head, *line.parents} == {first.memory.id, *made}
    assert (len(line.parents), line.parents[-1], line.children) == (LENGTH, first.memory.id, ())
    assert len(await rows(database, "SELECT child_id FROM memory_lineage")) == LENGTH
