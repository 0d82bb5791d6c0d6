"""Contract of `ports.memories.Memories`, on every database."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.memories.reading import SqlMemories
from openbrain.adapters.sql.schema.tables import memories
from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.access.visibility import AllOf, Condition, Criteria, Equals, visible
from openbrain.domain.ids import uuid7
from openbrain.domain.memory import DAY, Memory, MemoryType, Reason, Scope
from openbrain.ports.store.memories import Memories
from openbrain.ports.store.writes import Status
from tests.support.forms import examples
from tests.support.store.direct_rows import put, put_lineage
from tests.support.store.fixtures import START, FakeClock, memory, origin, viewer, write

EVERYTHING = AllOf((Equals("workspace_id", "w1"),))

FULL = Memory(
    id=uuid7(START),
    workspace_id="w1",
    content="Ünïcödé 😀 'quoted' \"twice\" \\ % _ \n\t two lines",
    type=MemoryType.PROCEDURE,
    memory_scope=Scope.SESSION,
    org="an org ",
    project="Projekt Ä",
    agent_id="ada",
    session_id="s:1",
    turn=0,
    speaker="Bob",
    tags=("a", '","', "ä", "\\"),
    metadata={"deep": {"list": [1, 2.5, None, True, "ü"]}, "": ""},
    source="import",
    confidence=0.1 + 0.2,
    supersedes_id=uuid7(START),
    version=3,
    revision=2**40,
    content_hash="ab" * 32,
    occurred_at=-1,
    confirmed_at=1,
    created_at=2,
    updated_at=3,
    expires_at=2**53 - 1,
    archived_at=5,
    deleted_at=6,
    reason=Reason.ERASED,
    indexed_at=7,
    text_revision=8,
    vector_revision=9,
    passages_high=10,
    text_error="ä" * 1000,
    text_error_revision=11,
    vector_error="%s",
    vector_error_revision=12,
    wants_vector=False,
)


async def test_a_row_comes_back_whole(store: SqlStore, database: Database) -> None:
    await put(database, FULL)

    assert await store.memories.rows([FULL.id]) == {FULL.id: FULL}


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)


any_row = st.builds(
    memory,
    texts,
    org=texts,
    tags=st.lists(texts, max_size=2).map(tuple),
    confidence=st.floats(0, 1),
    metadata=st.dictionaries(texts, texts | st.floats(allow_nan=False, allow_infinity=False) | st.none(), max_size=2),
)


@settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(row=any_row)
async def test_any_row_comes_back_as_it_was(store: SqlStore, database: Database, row: Memory) -> None:
    # An earlier attempt may have stored it.
    await database.write(lambda connection: connection.execute(delete(memories)).rowcount)
    await put(database, row)

    (found,) = (await store.memories.rows([row.id])).values()

    assert found == row
    assert isinstance(found.confidence, float)


async def test_rows_of_any_workspace_and_state(store: SqlStore, database: Database) -> None:
    stored = [memory(), memory(workspace_id="w2"), memory(deleted_at=START, reason=Reason.FORGOTTEN)]
    await put(database, *stored)

    assert await store.memories.rows([*(each.id for each in stored), uuid7(START)]) == {
        each.id: each for each in stored
    }


async def test_rows_beyond_one_statement(store: SqlStore, database: Database) -> None:
    stored = [memory(str(number)) for number in range(1201)]
    await put(database, *stored)

    found = await store.memories.rows([each.id for each in stored] * 2)

    assert len(found) == 1201


@pytest.mark.parametrize("odd", ["", " ", "%", "'", "\\", "ä", "x" * 5000, "{id} ", "{upper}", "{id}\0"])
async def test_what_is_no_id_has_no_row(store: SqlStore, database: Database, odd: str) -> None:
    stored = memory()
    await put(database, stored)
    asked = odd.format(id=stored.id, upper=stored.id.upper())

    assert await store.memories.rows([asked]) == {}
    assert await store.memories.rows([]) == {}


async def test_a_listing_is_of_the_living_newest_first(store: SqlStore, database: Database) -> None:
    living = [memory(str(number), created_at=START + number // 2) for number in range(6)]
    dead: list[dict[str, Any]] = [
        {"deleted_at": START, "reason": Reason.FORGOTTEN},
        {"archived_at": START, "reason": Reason.ARCHIVED},
        {"reason": Reason.EXPIRED},
        {"archived_at": START},
    ]
    await put(database, *living, *(memory("dead", **each) for each in dead), memory(workspace_id="w2"))

    newest = sorted(living, key=lambda each: (each.created_at, each.id), reverse=True)

    assert await store.memories.listing(EVERYTHING, 100) == newest
    assert await store.memories.listing(EVERYTHING, 4) == newest[:4]


async def test_a_listing_ends_with_what_is_due(store: SqlStore, database: Database) -> None:
    stored = memory(expires_at=START + DAY)
    await put(database, stored)

    assert await store.memories.listing(visible(viewer(), Criteria(), START + DAY - 1), 10) == [stored]
    assert await store.memories.listing(visible(viewer(), Criteria(), START + DAY), 10) == []


async def found(reading: Memories, *words: str, condition: Condition = EVERYTHING, limit: int = 10) -> dict[str, float]:
    return {hit.memory_id: hit.score for hit in await reading.keyword_hits(words, condition, limit)}


async def test_keywords_score_the_share_that_is_present(store: SqlStore, database: Database) -> None:
    both, one, none = memory("Redis loses nothing"), memory("redis again"), memory("else")
    await put(database, both, one, none)

    assert await found(store.memories, "redis", "nothing") == {both.id: 1.0, one.id: 0.5}
    assert list(await found(store.memories, "redis", "nothing")) == [both.id, one.id]
    assert await found(store.memories, "redis", "redis", "") == {both.id: 1.0, one.id: 1.0}
    assert await found(store.memories, "redis", "nothing", limit=1) == {both.id: 1.0}
    thirds = await found(store.memories, "redis", "absent", "missing")
    assert thirds == {both.id: pytest.approx(1 / 3), one.id: pytest.approx(1 / 3)}


@pytest.mark.parametrize(
    ("content", "word"),
    [
        ("REDIS", "redis"),
        ("the Redis server", "redis"),
        ("ÄRGER", "ärger"),
        ("Ärger und Übermut", "übermut"),
        ("naïve Café", "café"),
        ("ΑΘΗΝΑ", "αθηνα"),
        ("Москва", "москва"),
        ("東京タワー", "東京"),
        ("100% sure", "100%"),
        ("a_b", "a_b"),
        ("C:\\temp", "c:\\temp"),
        ("it's", "it's"),
        ("so 😀 happy", "😀"),
    ],
)
async def test_a_word_is_found_in_any_case(store: SqlStore, database: Database, content: str, word: str) -> None:
    stored = memory(content)
    await put(database, stored)

    assert await found(store.memories, word) == {stored.id: 1.0}


@pytest.mark.parametrize("word", ["zanzibar", "quetzal", "größe", "ludmila", "sky"])
async def test_a_word_is_found_in_every_text(store: SqlStore, database: Database, word: str) -> None:
    stored = memory(title="Zanzibar ledger", aliases=("Quetzal", "Größe"), speaker="Ludmila", tags=("walrus",))
    await put(database, stored, memory("else"))

    assert await found(store.memories, word, "walrus") == {stored.id: 1.0}


@pytest.mark.parametrize("word", ["%", "_", "a_c", "a%c", "\\", "'", "", "100%"])
async def test_a_word_is_no_pattern(store: SqlStore, database: Database, word: str) -> None:
    await put(database, memory("abc 1000"))

    assert await found(store.memories, word) == {}


async def test_keywords_find_only_what_is_alive_and_visible(store: SqlStore, database: Database) -> None:
    mine = memory("redis", memory_scope=Scope.AGENT)
    await put(
        database,
        mine,
        memory("redis", deleted_at=START, reason=Reason.FORGOTTEN),
        memory("redis", workspace_id="w2"),
        memory("redis", agent_id="bob", memory_scope=Scope.AGENT),
        memory("redis", expires_at=START),
    )

    assert await found(store.memories, "redis", condition=visible(viewer(), Criteria(), START)) == {mine.id: 1.0}


async def test_keywords_look_at_the_newest_only(database: Database) -> None:
    await put(database, *(memory("redis", created_at=START + number) for number in range(5)))
    newest = (await SqlMemories(database).listing(EVERYTHING, 2))[:2]

    assert set(await found(SqlMemories(database, degraded_scan=2), "redis")) == {each.id for each in newest}


async def test_a_thousand_keywords_are_no_error(store: SqlStore, database: Database) -> None:
    stored = memory("word7 ärger")
    await put(database, stored)

    hits = await found(
        store.memories, *(f"word{number}" for number in range(500)), *(f"ä{number}" for number in range(500))
    )

    assert list(hits) == [stored.id]


async def test_history_tells_who_did_what_oldest_first(store: SqlStore, clock: FakeClock) -> None:
    (outcome,) = await store.writes.remember([write(tags=("a",))])
    assert outcome.status is Status.CREATED
    assert outcome.memory is not None
    clock.advance(5)
    await store.writes.forget(outcome.memory.id, viewer(), origin("bob"), "not true any more")

    created, forgotten = await store.memories.history(outcome.memory.id)

    assert (created.memory_id, created.version, created.revision, created.at) == (outcome.memory.id, 1, 1, START)
    assert created.before is None
    assert created.after is not None
    assert created.after["content"] == "the sky is blue"
    assert (forgotten.actor, forgotten.at, forgotten.reason) == ("bob", START + 5, "not true any more")
    assert forgotten.revision == 2
    assert await store.memories.history(uuid7(START)) == []


async def test_ancestry_is_nearest_first_on_both_sides(store: SqlStore, database: Database) -> None:
    chain = [uuid7(START + number * 1000) for number in range(6)]
    await put_lineage(database, *((child, parent, START) for parent, child in pairwise(chain)))

    around = await store.memories.ancestry(chain[3], 10)

    assert around.parents == (chain[2], chain[1], chain[0])
    assert around.children == (chain[4], chain[5])
    assert (await store.memories.ancestry(chain[3], 2)).parents == (chain[2], chain[1])
    assert (await store.memories.ancestry(chain[3], 0)).parents == ()
    assert (await store.memories.ancestry(uuid7(START), 5)).children == ()


async def test_ancestry_of_a_merge_has_every_parent_once(store: SqlStore, database: Database) -> None:
    merged, left, right, first = (uuid7(START) for _ in range(4))
    await put_lineage(
        database, (merged, left, START + 2), (merged, right, START + 3), (left, first, START), (right, first, START + 1)
    )

    assert (await store.memories.ancestry(merged, 10)).parents == (right, left, first)
    assert (await store.memories.ancestry(first, 10)).children == (right, left, merged)


async def test_ancestry_ends_in_a_circle(store: SqlStore, database: Database) -> None:
    one, two, three = (uuid7(START) for _ in range(3))
    await put_lineage(database, (two, one, START), (three, two, START), (one, three, START))

    around = await store.memories.ancestry(one, 10)

    assert set(around.parents) == {two, three}
    assert set(around.children) == {two, three}


async def test_rows_and_listing_agree(store: SqlStore, database: Database) -> None:
    alive = FULL._replace(deleted_at=None, archived_at=None, reason=None)
    await put(database, alive)

    assert await store.memories.listing(EVERYTHING, 1) == [alive]


async def test_a_listing_goes_on_where_a_page_ended(store: SqlStore, clock: FakeClock) -> None:
    """Also between memories with the same time."""
    for moment in range(3):
        await store.writes.remember([write(f"{moment}-{n}", now=START + moment) for n in range(3)])
    whole = [each.id for each in await store.memories.listing(EVERYTHING, 100)]
    pages: list[str] = []
    before = None

    while page := await store.memories.listing(EVERYTHING, 2, before):
        pages += [each.id for each in page]
        before = (page[-1].created_at, page[-1].id)

    assert pages == whole
    assert len(whole) == 9
