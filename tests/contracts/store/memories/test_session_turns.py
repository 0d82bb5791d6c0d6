"""Contract of `Memories.turns`: the positions of memories in their sessions, and their neighbours."""

from typing import Any

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.memories.session_turns import SESSIONS_AT_ONCE
from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.access.visibility import Criteria, Viewer, visible
from openbrain.domain.memory import DAY, Memory, Reason, Scope
from openbrain.ports.store.memories import Turn
from tests.support.store.direct_rows import put
from tests.support.store.fixtures import START, memory

SEEN = visible(Viewer("w1", "ada"), Criteria(), START)


def turn(number: int | None, content: str = "said", session_id: str = "s", **changes: Any) -> Memory:
    return memory(content, session_id=session_id, turn=number, **changes)


async def test_own_places_and_those_beside_them(store: SqlStore, database: Database) -> None:
    session = [turn(number, "ä" * (number + 1)) for number in range(6)]
    other = turn(3, session_id="another")
    await put(database, *session, other)

    assert await store.memories.turns([session[3].id], SEEN) == {session[3].id: Turn("s", 3, 4)}
    beside = await store.memories.turns([session[3].id], SEEN, (-2, -1, 1, 2))
    assert beside == {session[number].id: Turn("s", number, number + 1) for number in (1, 2, 3, 4, 5)}
    both = await store.memories.turns([session[0].id, session[5].id, other.id], SEEN, (-1, 1))
    assert {each.number for each in both.values() if each.session_id == "s"} == {0, 1, 4, 5}
    assert both[other.id] == Turn("another", 3, 4)


async def test_only_what_lives_and_may_be_seen(store: SqlStore, database: Database) -> None:
    asked = turn(5)
    hidden = [
        turn(4, deleted_at=START, reason=Reason.FORGOTTEN),
        turn(4, archived_at=START, reason=Reason.ARCHIVED),
        turn(4, expires_at=START - DAY),
        turn(4, workspace_id="w2"),
        turn(4, memory_scope=Scope.SESSION, agent_id="bob"),
        turn(None),
        turn(6, session_id=""),
    ]
    await put(database, asked, *hidden)

    found = await store.memories.turns([asked.id, *(each.id for each in hidden)], SEEN, (-1, 1))

    assert found.keys() == {asked.id}


async def test_more_sessions_than_one_statement_takes(store: SqlStore, database: Database) -> None:
    names = [f"s{number}" for number in range(2 * SESSIONS_AT_ONCE + 3)]
    asked = [turn(index, session_id=each) for index, each in enumerate(names)]
    beside = [turn(index + 1, session_id=each) for index, each in enumerate(names)]
    await put(database, *asked, *beside)

    found = await store.memories.turns([each.id for each in asked], SEEN, (-1, 1))

    assert found.keys() == {each.id for each in (*asked, *beside)}


async def test_nothing_is_asked_for_no_ids(store: SqlStore) -> None:
    assert await store.memories.turns([], SEEN, (-1, 1)) == {}
    assert await store.memories.turns(["no id"], SEEN, (-1, 1)) == {}


async def test_what_stands_beside_one_memory(store: SqlStore, database: Database) -> None:
    session = [turn(number) for number in (1, 2, 4, 8)]
    loose = [turn(None, occurred_at=START + DAY), turn(None, occurred_at=START + 3 * DAY)]
    hidden = [turn(3, deleted_at=START, reason=Reason.FORGOTTEN), turn(3, workspace_id="w2"), turn(3, session_id="t")]
    await put(database, *session, *loose, *hidden)

    of_turn = await store.memories.of_same_session(session[2], SEEN, 10)
    of_loose = await store.memories.of_same_session(loose[0], SEEN, 1)

    assert of_turn[:3] == [session[1].id, session[0].id, session[3].id]
    assert {*of_turn[3:]} == {each.id for each in loose}
    assert of_loose == [loose[1].id]


async def test_ids_that_are_none_are_ignored(store: SqlStore) -> None:
    """An index on a server may contain entries that others wrote."""
    none = ["\u00e9", "x" * 200, "\U0001f600", "a "]

    assert await store.memories.turns(none, SEEN) == {}
    assert await store.memories.rows(none) == {}
    assert await store.vectors.inputs(none, "m") == {}
