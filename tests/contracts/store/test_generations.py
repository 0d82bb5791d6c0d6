"""Contract of `ports.generations`, on every database."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from sqlalchemy import select

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.schema.tables import index_generations
from openbrain.adapters.sql.store import SqlTruth
from openbrain.domain.errors import Conflict, NotFound
from openbrain.ports.generations import Generation, IndexKind, IndexWriter
from tests.support.store.direct_rows import put_into
from tests.support.store.fixtures import FakeClock, write
from tests.support.waiting import PATIENCE_S


@pytest.fixture
async def elsewhere(database: Database, database_url: str, clock: FakeClock) -> AsyncIterator[SqlTruth]:
    """The same database, as another process has it open."""
    other = SqlTruth(Database.open(database_url, lock_wait_s=PATIENCE_S), clock)
    yield other
    await other.close()


TEXT = Generation(kind=IndexKind.TEXT, name="openbrain-text-1", model="", dimensions=0, builder="t1", status="serving")
VECTOR = Generation(
    kind=IndexKind.VECTOR, name="openbrain-v-1", model="minilm", dimensions=384, builder="v1", status="serving"
)


async def test_the_first_generation_of_a_kind_serves(truth: SqlTruth, elsewhere: SqlTruth) -> None:
    assert await truth.serving(IndexKind.TEXT) is None

    assert await truth.ensure(TEXT) == TEXT
    assert await truth.ensure(replace(TEXT, name="other", builder="t2")) == TEXT
    assert await truth.serving(IndexKind.VECTOR) is None
    assert await truth.ensure(replace(VECTOR, status="building")) == VECTOR

    assert await elsewhere.serving(IndexKind.TEXT) == TEXT
    assert await elsewhere.serving(IndexKind.VECTOR) == VECTOR


async def test_a_generation_of_another_model_goes_only_while_there_is_no_memory(
    truth: SqlTruth, elsewhere: SqlTruth
) -> None:
    larger = replace(VECTOR, name="openbrain-v-2", model="mpnet", dimensions=768)
    assert await truth.ensure(VECTOR) == VECTOR

    assert await truth.ensure(larger) == VECTOR, "only who says so replaces it"
    assert await truth.ensure(larger, replace_unused=True) == larger
    assert await elsewhere.serving(IndexKind.VECTOR) == larger
    assert await truth.ensure(VECTOR, replace_unused=True) == VECTOR, "and back, under the old name"

    (stored,) = await truth.remember([write("The first memory.")])
    assert stored.memory is not None
    assert await truth.ensure(larger, replace_unused=True) == VECTOR
    assert await elsewhere.serving(IndexKind.VECTOR) == VECTOR


async def test_generations_made_at_once_agree(truth: SqlTruth, elsewhere: SqlTruth) -> None:
    offers = [replace(TEXT, name=f"text-{number % 3}", builder=str(number)) for number in range(12)]

    answers = await asyncio.gather(
        *((truth, elsewhere)[number % 2].ensure(offer) for number, offer in enumerate(offers))
    )

    assert len(set(answers)) == 1
    assert answers[0] in offers
    assert await truth.serving(IndexKind.TEXT) == answers[0]


async def test_a_generation_that_stands_can_serve_again(truth: SqlTruth, database: Database) -> None:
    standing = {"kind": "text", "name": TEXT.name, "model": "", "dimensions": 0, "builder": "t1", "created_at": 1}
    await put_into(database, index_generations, {**standing, "status": "retired", "serving": None})

    assert await truth.ensure(TEXT) == TEXT
    assert await truth.serving(IndexKind.TEXT) == TEXT


async def test_one_is_built_beside_the_one_that_serves(truth: SqlTruth, elsewhere: SqlTruth, clock: FakeClock) -> None:
    await truth.ensure(TEXT)
    await truth.ensure(VECTOR)
    clock.advance(5)

    built = await truth.begin(replace(TEXT, name="text-2", builder="t2"))

    assert (built.status, built.builder, built.created_at, built.updated_at) == (
        "building",
        "t2",
        clock.now(),
        clock.now(),
    )
    assert await elsewhere.begin(replace(TEXT, name="text-2", builder="other")) == built
    assert await truth.serving(IndexKind.TEXT) == TEXT
    assert await elsewhere.written(IndexKind.TEXT) == [TEXT, built]
    assert await elsewhere.written(IndexKind.VECTOR) == [VECTOR]
    assert await elsewhere.generations() == [TEXT, built, VECTOR]
    assert await elsewhere.generations(IndexKind.VECTOR) == [VECTOR]


async def test_one_of_a_kind_is_built_at_a_time(truth: SqlTruth, elsewhere: SqlTruth) -> None:
    await truth.ensure(TEXT)
    await truth.ensure(VECTOR)
    racing = [(truth, elsewhere)[number % 2].begin(replace(TEXT, name=f"text-{number}")) for number in range(2, 10)]

    answers = await asyncio.gather(*racing, return_exceptions=True)

    assert sum(isinstance(each, Generation) for each in answers) == 1
    assert all("is being built" in str(each) for each in answers if isinstance(each, Conflict))
    with pytest.raises(Conflict, match="there already, serving"):
        await truth.begin(TEXT)
    assert (await truth.begin(replace(VECTOR, name="v-2", model="nomic", model_name="nomic"))).model_name == "nomic"


async def test_a_swap_is_one_step_and_its_way_back_another(
    truth: SqlTruth, elsewhere: SqlTruth, database: Database, clock: FakeClock
) -> None:
    await truth.ensure(TEXT)
    await truth.begin(replace(TEXT, name="text-2"))
    clock.advance(7)

    assert (await truth.swap(IndexKind.TEXT, "text-2")).status == "serving"
    assert (await truth.swap(IndexKind.TEXT, "text-2")).updated_at == clock.now()

    serving, kept = await elsewhere.written(IndexKind.TEXT)
    assert (serving.name, kept) == ("text-2", replace(TEXT, status="kept"))
    assert kept.updated_at == clock.now()
    await elsewhere.swap(IndexKind.TEXT, TEXT.name)
    assert [each.name for each in await truth.written(IndexKind.TEXT)] == [TEXT.name, "text-2"]
    rows = await database.read(lambda connection: connection.execute(select(index_generations.c.serving)).all())
    assert sorted(rows, key=str) == [("text",), (None,)]


async def test_swaps_at_once_leave_one_serving(truth: SqlTruth, elsewhere: SqlTruth) -> None:
    await truth.ensure(TEXT)
    await truth.begin(replace(TEXT, name="text-2"))

    await asyncio.gather(
        *((truth, elsewhere)[n % 2].swap(IndexKind.TEXT, ("text-2", TEXT.name)[n // 2 % 2]) for n in range(12))
    )

    statuses = [each.status for each in await truth.generations(IndexKind.TEXT)]
    assert sorted(statuses) in (["kept", "serving"], ["building", "serving"])


async def test_what_is_retired_is_written_no_more(truth: SqlTruth, elsewhere: SqlTruth) -> None:
    await truth.ensure(TEXT)
    await truth.begin(replace(TEXT, name="text-2"))
    await truth.swap(IndexKind.TEXT, "text-2", keep=False)

    assert [each.name for each in await elsewhere.written(IndexKind.TEXT)] == ["text-2"]
    with pytest.raises(Conflict, match="openbrain reindex"):
        await truth.swap(IndexKind.TEXT, TEXT.name)
    with pytest.raises(Conflict, match="serves"):
        await truth.retire(IndexKind.TEXT, "text-2")
    with pytest.raises(NotFound):
        await truth.retire(IndexKind.TEXT, "nothing")
    with pytest.raises(NotFound):
        await truth.swap(IndexKind.TEXT, "nothing")
    assert (await truth.retire(IndexKind.TEXT, TEXT.name)).status == "retired"
    await truth.drop(IndexKind.TEXT, "text-2")
    await truth.drop(IndexKind.TEXT, TEXT.name)
    await truth.drop(IndexKind.TEXT, TEXT.name)
    assert [each.name for each in await elsewhere.generations()] == ["text-2"]


async def test_a_writer_says_what_it_knows_until_its_lease_is_over(
    truth: SqlTruth, elsewhere: SqlTruth, clock: FakeClock
) -> None:
    assert await truth.confirm("a", IndexKind.TEXT, "t1", 60) == []
    await truth.ensure(TEXT)
    assert await truth.confirm("a", IndexKind.TEXT, "t1", 60) == [TEXT]
    await truth.confirm("b", IndexKind.VECTOR, "v1", 60)
    clock.advance(10**15)

    knowing = IndexWriter(consumer="a", kind=IndexKind.TEXT, builder="t1", names=frozenset({TEXT.name}))
    assert await elsewhere.writers(IndexKind.TEXT) == [knowing], "the host's clock has no say"

    built = await truth.begin(replace(TEXT, name="text-2"))
    assert await elsewhere.writers(IndexKind.TEXT) == [knowing]
    assert await truth.confirm("a", IndexKind.TEXT, "t1", 60) == [TEXT, built]
    assert (await elsewhere.writers(IndexKind.TEXT))[0].names == {TEXT.name, "text-2"}
    await truth.confirm("a", IndexKind.TEXT, "t1", 0)
    assert await elsewhere.writers(IndexKind.TEXT) == []
    await truth.withdraw("b", IndexKind.VECTOR)
    assert await elsewhere.writers(IndexKind.VECTOR) == []


async def test_no_writer_is_missed_by_who_begins(truth: SqlTruth, elsewhere: SqlTruth) -> None:
    """Once a generation is begun, every writer that does not know it can be seen."""
    await truth.ensure(TEXT)
    for round_ in range(20):
        name = f"text-{round_ + 2}"
        confirming = [asyncio.create_task(elsewhere.confirm(f"{n}", IndexKind.TEXT, "t1", 60)) for n in range(4)]
        await truth.begin(replace(TEXT, name=name))
        seen = {each.consumer: each.names for each in await truth.writers(IndexKind.TEXT)}
        for number, written in enumerate(await asyncio.gather(*confirming)):
            known = {each.name for each in written}
            if name not in known:
                assert seen[str(number)] == known
            await elsewhere.withdraw(f"{number}", IndexKind.TEXT)
        await truth.retire(IndexKind.TEXT, name)
