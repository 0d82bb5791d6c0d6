"""Contract of `Past.past`: rows as they were at an earlier time."""

from collections.abc import Sequence
from functools import partial

import pytest

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.memories.past_rows import read_past
from openbrain.adapters.sql.schema.tables import memory_history
from openbrain.adapters.sql.store import SqlStore
from openbrain.adapters.sql.writes.writing import SqlMemoryWrites
from openbrain.domain.access.visibility import Criteria, Viewer, visible
from openbrain.domain.errors import Invalid
from openbrain.domain.memory import Memory, Reason
from openbrain.ports.store.writes import Edit
from tests.support.store.direct_rows import put, put_into
from tests.support.store.fixtures import START, FakeClock, memory, origin, stored, viewer

SEEN = visible(Viewer("w1", "ada"), Criteria(), 0)


async def test_newest_first_and_nothing_that_is_gone(store: SqlStore, database: Database) -> None:
    old, new = memory("old", created_at=START - 2), memory("new", created_at=START - 1)
    ended = memory("ended", created_at=START - 3, deleted_at=START, reason=Reason.SUPERSEDED)
    later = memory("later", created_at=START + 1)
    gone = [memory(f"{reason}", deleted_at=START, reason=reason) for reason in (Reason.FORGOTTEN, Reason.ERASED)]
    other = memory("of another tenant", workspace_id="w2")
    await put(database, old, new, ended, later, other, *gone)

    assert [row.content for row in await store.past.past(SEEN, START, 10)] == ["new", "old", "ended"]
    assert [row.content for row in await store.past.past(SEEN, START, 1)] == ["new"]
    assert await store.past.past(SEEN, START - 9, 10) == []


async def test_more_text_than_a_process_should_hold_is_refused(database: Database) -> None:
    await put(database, *(memory(f"{number}" * 100, created_at=START - 1) for number in range(3)))

    assert len(await database.read(partial(read_past, condition=SEEN, at=START, limit=10, most_chars=300))) == 3
    with pytest.raises(Invalid, match="as_of: would read too much text"):
        await database.read(partial(read_past, condition=SEEN, at=START, limit=10, most_chars=299))


async def test_of_the_org_that_it_was_of_then(store: SqlStore, writing: SqlMemoryWrites, clock: FakeClock) -> None:
    left = await stored(writing, "left", org="north")
    came = await stored(writing, "came", org="south")
    await stored(writing, "stayed", org="north")
    then = clock.now()
    clock.advance(5)
    for memory_id, org in ((left.id, "south"), (came.id, "north")):
        await writing.update(Edit(memory_id=memory_id, viewer=viewer(), origin=origin(), org=org))

    def contents(rows: Sequence[Memory]) -> list[str]:
        return sorted(row.content for row in rows)

    assert contents(await store.past.past(SEEN, then, 10, "north")) == ["left", "stayed"]
    assert contents(await store.past.past(SEEN, then, 10, "south")) == ["came"]
    assert contents(await store.past.past(SEEN, clock.now(), 10, "north")) == ["came", "stayed"]


async def test_fewer_than_asked_for_means_that_there_are_no_more(store: SqlStore, database: Database) -> None:
    old, new = memory("old", created_at=START - 2), memory("new", created_at=START - 1)
    await put(database, old, new)
    unknown = {"memory_id": new.id, "workspace_id": "w1", "version": 2, "revision": 2, "action": "updated"}
    await put_into(database, memory_history, {**unknown, "actor": "ada", "at": START + 1})

    assert [row.content for row in await store.past.past(SEEN, START, 1)] == ["old"]
