"""Contract of `ports.generations`, on every database."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from sqlalchemy import select

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.engine.opening import open_database
from openbrain.adapters.sql.schema.tables import index_generations
from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.errors import Conflict, NotFound
from openbrain.ports.store.generations import Generation, IndexKind, IndexWriter
from openbrain.usecases.indexes.index_writers import writable
from tests.support.store.direct_rows import put_into
from tests.support.store.fixtures import FakeClock, write
from tests.support.waiting import PATIENCE_S


@pytest.fixture
async def elsewhere(database: Database, database_url: str, clock: FakeClock) -> AsyncIterator[SqlStore]:
    """The same database, opened by another process."""
    other = SqlStore(open_database(database_url, lock_wait_s=PATIENCE_S), clock)
    yield other
    await other.close()


TEXT = Generation(kind=IndexKind.TEXT, name="openbrain-text-1", model="", dimensions=0, builder="t1", status="serving")
VECTOR = Generation(
    kind=IndexKind.VECTOR, name="openbrain-v-1", model="minilm", dimensions=384, builder="v1", status="serving"
)


async def test_the_first_generation_of_a_kind_serves(store: SqlStore, elsewhere: SqlStore) -> None:
    assert await store.generations.serving(IndexKind.TEXT) is None

    assert await store.generations.ensure(TEXT) == TEXT
    assert await store.generations.ensure(replace(TEXT, name="other", builder="t2")) == TEXT
    assert await store.generations.serving(IndexKind.VECTOR) is None
    assert await store.generations.ensure(replace(VECTOR, status="building")) == VECTOR

    assert await elsewhere.generations.serving(IndexKind.TEXT) == TEXT
    assert await elsewhere.generations.serving(IndexKind.VECTOR) == VECTOR


async def test_a_generation_of_another_model_goes_only_while_there_is_no_memory(
    store: SqlStore, elsewhere: SqlStore
) -> None:
    larger = replace(VECTOR, name="openbrain-v-2", model="larger", dimensions=768)
    assert await store.generations.ensure(VECTOR) == VECTOR

    assert await store.generations.ensure(larger) == VECTOR, "replaced only on explicit request"
    assert await store.generations.ensure(larger, replace_unused=True) == larger
    assert await elsewhere.generations.serving(IndexKind.VECTOR) == larger
    assert await store.generations.ensure(VECTOR, replace_unused=True) == VECTOR, "and back again, under the old name"

    (stored,) = await store.writes.remember([write("The first memory.")])
    assert stored.memory is not None
    assert await store.generations.ensure(larger, replace_unused=True) == VECTOR
    assert await elsewhere.generations.serving(IndexKind.VECTOR) == VECTOR


async def test_generations_made_at_once_agree(store: SqlStore, elsewhere: SqlStore) -> None:
    offers = [replace(TEXT, name=f"text-{number % 3}", builder=str(number)) for number in range(12)]

    answers = await asyncio.gather(
        *((store, elsewhere)[number % 2].generations.ensure(offer) for number, offer in enumerate(offers))
    )

    assert len(set(answers)) == 1
    assert answers[0] in offers
    assert await store.generations.serving(IndexKind.TEXT) == answers[0]


async def test_a_generation_that_stands_can_serve_again(store: SqlStore, database: Database) -> None:
    standing = {"kind": "text", "name": TEXT.name, "model": "", "dimensions": 0, "builder": "t1", "created_at": 1}
    await put_into(database, index_generations, {**standing, "status": "retired", "serving": None})

    assert await store.generations.ensure(TEXT) == TEXT
    assert await store.generations.serving(IndexKind.TEXT) == TEXT


async def test_one_is_built_beside_the_one_that_serves(store: SqlStore, elsewhere: SqlStore, clock: FakeClock) -> None:
    await store.generations.ensure(TEXT)
    await store.generations.ensure(VECTOR)
    clock.advance(5)

    built = await store.generations.begin(replace(TEXT, name="text-2", builder="t2"))

    assert (built.status, built.builder, built.created_at, built.updated_at) == (
        "building",
        "t2",
        clock.now(),
        clock.now(),
    )
    assert await elsewhere.generations.begin(replace(TEXT, name="text-2", builder="other")) == built
    assert await store.generations.serving(IndexKind.TEXT) == TEXT
    assert await elsewhere.generations.written(IndexKind.TEXT) == [TEXT, built]
    assert await elsewhere.generations.written(IndexKind.VECTOR) == [VECTOR]
    assert await elsewhere.generations.generations() == [TEXT, built, VECTOR]
    assert await elsewhere.generations.generations(IndexKind.VECTOR) == [VECTOR]


async def test_one_built_after_the_clock_was_set_back_is_the_newest(store: SqlStore, clock: FakeClock) -> None:
    """Writers of its builder would refuse to write until the clock has caught up."""
    await store.generations.ensure(TEXT)
    clock.advance(-86_400_000_000)

    built = await store.generations.begin(replace(TEXT, name="text-2", builder="t2"))

    assert writable(await store.generations.written(IndexKind.TEXT), IndexKind.TEXT, "t2") == [built]


async def test_one_of_a_kind_is_built_at_a_time(store: SqlStore, elsewhere: SqlStore) -> None:
    await store.generations.ensure(TEXT)
    await store.generations.ensure(VECTOR)
    racing = [
        (store, elsewhere)[number % 2].generations.begin(replace(TEXT, name=f"text-{number}"))
        for number in range(2, 10)
    ]

    answers = await asyncio.gather(*racing, return_exceptions=True)

    assert sum(isinstance(each, Generation) for each in answers) == 1
    assert all("is being built" in str(each) for each in answers if isinstance(each, Conflict))
    with pytest.raises(Conflict, match="there already, serving"):
        await store.generations.begin(TEXT)
    assert (
        await store.generations.begin(replace(VECTOR, name="v-2", model="nomic", model_name="nomic"))
    ).model_name == "nomic"


async def test_a_swap_is_one_step_and_its_way_back_another(
    store: SqlStore, elsewhere: SqlStore, database: Database, clock: FakeClock
) -> None:
    await store.generations.ensure(TEXT)
    await store.generations.begin(replace(TEXT, name="text-2"))
    clock.advance(7)

    assert (await store.generations.swap(IndexKind.TEXT, "text-2")).status == "serving"
    assert (await store.generations.swap(IndexKind.TEXT, "text-2")).updated_at == clock.now()

    serving, kept = await elsewhere.generations.written(IndexKind.TEXT)
    assert (serving.name, kept) == ("text-2", replace(TEXT, status="kept"))
    assert kept.updated_at == clock.now()
    await elsewhere.generations.swap(IndexKind.TEXT, TEXT.name)
    assert [each.name for each in await store.generations.written(IndexKind.TEXT)] == [TEXT.name, "text-2"]
    rows = await database.read(lambda connection: connection.execute(select(index_generations.c.serving)).all())
    assert sorted(rows, key=str) == [("text",), (None,)]


async def test_swaps_at_once_leave_one_serving(store: SqlStore, elsewhere: SqlStore) -> None:
    await store.generations.ensure(TEXT)
    await store.generations.begin(replace(TEXT, name="text-2"))

    await asyncio.gather(
        *(
            (store, elsewhere)[n % 2].generations.swap(IndexKind.TEXT, ("text-2", TEXT.name)[n // 2 % 2])
            for n in range(12)
        )
    )

    statuses = [each.status for each in await store.generations.generations(IndexKind.TEXT)]
    assert sorted(statuses) in (["kept", "serving"], ["building", "serving"])


async def test_what_is_retired_is_written_no_more(store: SqlStore, elsewhere: SqlStore) -> None:
    await store.generations.ensure(TEXT)
    await store.generations.begin(replace(TEXT, name="text-2"))
    await store.generations.swap(IndexKind.TEXT, "text-2", keep=False)

    assert [each.name for each in await elsewhere.generations.written(IndexKind.TEXT)] == ["text-2"]
    with pytest.raises(Conflict, match="openbrain reindex"):
        await store.generations.swap(IndexKind.TEXT, TEXT.name)
    with pytest.raises(Conflict, match="serves"):
        await store.generations.retire(IndexKind.TEXT, "text-2")
    with pytest.raises(NotFound):
        await store.generations.retire(IndexKind.TEXT, "nothing")
    with pytest.raises(NotFound):
        await store.generations.swap(IndexKind.TEXT, "nothing")
    assert (await store.generations.retire(IndexKind.TEXT, TEXT.name)).status == "retired"
    await store.generations.drop(IndexKind.TEXT, "text-2")
    await store.generations.drop(IndexKind.TEXT, TEXT.name)
    await store.generations.drop(IndexKind.TEXT, TEXT.name)
    assert [each.name for each in await elsewhere.generations.generations()] == ["text-2"]


async def test_a_writer_says_what_it_knows_until_its_lease_is_over(
    store: SqlStore, elsewhere: SqlStore, clock: FakeClock
) -> None:
    assert await store.index_writers.confirm("a", IndexKind.TEXT, "t1", 60) == []
    await store.generations.ensure(TEXT)
    assert await store.index_writers.confirm("a", IndexKind.TEXT, "t1", 60) == [TEXT]
    await store.index_writers.confirm("b", IndexKind.VECTOR, "v1", 60)
    clock.advance(10**15)

    knowing = IndexWriter(consumer="a", kind=IndexKind.TEXT, builder="t1", names=frozenset({TEXT.name}))
    assert await elsewhere.index_writers.writers(IndexKind.TEXT) == [knowing], "the host's clock has no influence"

    built = await store.generations.begin(replace(TEXT, name="text-2"))
    assert await elsewhere.index_writers.writers(IndexKind.TEXT) == [knowing]
    assert await store.index_writers.confirm("a", IndexKind.TEXT, "t1", 60) == [TEXT, built]
    assert (await elsewhere.index_writers.writers(IndexKind.TEXT))[0].names == {TEXT.name, "text-2"}
    await store.index_writers.confirm("a", IndexKind.TEXT, "t1", 0)
    assert await elsewhere.index_writers.writers(IndexKind.TEXT) == []
    await store.index_writers.withdraw("b", IndexKind.VECTOR)
    assert await elsewhere.index_writers.writers(IndexKind.VECTOR) == []


async def test_no_writer_is_missed_by_who_begins(store: SqlStore, elsewhere: SqlStore) -> None:
    """Once a generation has begun, every writer that does not know it is visible."""
    await store.generations.ensure(TEXT)
    for round_ in range(20):
        name = f"text-{round_ + 2}"
        confirming = [
            asyncio.create_task(elsewhere.index_writers.confirm(f"{n}", IndexKind.TEXT, "t1", 60)) for n in range(4)
        ]
        await store.generations.begin(replace(TEXT, name=name))
        seen = {each.consumer: each.names for each in await store.index_writers.writers(IndexKind.TEXT)}
        for number, written in enumerate(await asyncio.gather(*confirming)):
            known = {each.name for each in written}
            if name not in known:
                assert seen[str(number)] == known
            await elsewhere.index_writers.withdraw(f"{number}", IndexKind.TEXT)
        await store.generations.retire(IndexKind.TEXT, name)
