"""Contract of `Past.past`: rows as they were at an earlier time."""

from functools import partial

import pytest

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.memories.past_rows import read_past
from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.access.visibility import Criteria, Viewer, visible
from openbrain.domain.errors import Invalid
from openbrain.domain.memory import Reason
from tests.support.store.direct_rows import put
from tests.support.store.fixtures import START, memory

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
