"""Contract of `ports.index_entries.ExpectedEntries`: a page-by-page scan returns every memory once, on every
database."""

import random

import pytest

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.store import SqlStore
from openbrain.ports.store.generations import IndexKind
from openbrain.ports.store.index_entries import Extent
from tests.support.store.direct_rows import put
from tests.support.store.fixtures import START, memory

PAGE = 7


async def walked(store: SqlStore, extent: Extent) -> list[str]:
    """The ids of all pages."""
    found: list[str] = []
    while page := await store.expected_entries.list_extent(extent, found[-1] if found else "", PAGE):
        assert len(page) <= PAGE
        found += [each.id for each in page]
    return found


@pytest.mark.parametrize("workspace", ["", "w1"])
async def test_each_memory_is_met_once_whatever_its_time(store: SqlStore, database: Database, workspace: str) -> None:
    """Many rows have the same time, and ids do not rise with it: imports cause both."""
    chance = random.Random(5)
    made = [
        memory(f"{name} {number}", workspace_id=name, now=START + number, created_at=START + chance.randrange(4))
        for name in ("w1", "w2")
        for number in range(40)
    ]
    chance.shuffle(made)
    await put(database, *made)
    extent = Extent(kind=IndexKind.TEXT, workspace_id=workspace)

    found = await walked(store, extent)

    assert len(found) == len(set(found)) == await store.expected_entries.count_extent(extent)
    assert sorted(found) == sorted(each.id for each in made if workspace in ("", each.workspace_id))


async def test_a_walk_with_an_end_meets_what_was_there_before(store: SqlStore, database: Database) -> None:
    made = [memory(str(number), now=START + number, created_at=START + number) for number in range(20)]
    await put(database, *made)
    extent = Extent(kind=IndexKind.TEXT, until=START + 12)

    assert sorted(await walked(store, extent)) == sorted(each.id for each in made[:12])
    assert await store.expected_entries.count_extent(extent) == 12


async def test_an_extent_ends_behind_the_newest_of_its_memories(store: SqlStore, database: Database) -> None:
    text = Extent(kind=IndexKind.TEXT)
    assert await store.expected_entries.measure_extent(text) == (0, 1)
    await put(
        database,
        memory("mine", created_at=START + 5),
        memory("without vectors", created_at=START + 7, wants_vector=False),
        memory("another's", workspace_id="w2", created_at=START + 9),
    )

    assert await store.expected_entries.measure_extent(text) == (3, START + 10)
    assert await store.expected_entries.measure_extent(Extent(kind=IndexKind.TEXT, workspace_id="w1")) == (2, START + 8)
    assert await store.expected_entries.measure_extent(Extent(kind=IndexKind.VECTOR, workspace_id="w1")) == (
        1,
        START + 6,
    )
    assert len(await walked(store, Extent(kind=IndexKind.TEXT, until=START + 10))) == 3


async def test_a_walk_goes_on_behind_what_has_ended_meanwhile(store: SqlStore, database: Database) -> None:
    made = [memory(str(number), now=START + number) for number in range(20)]
    await put(database, *made)
    extent = Extent(kind=IndexKind.TEXT, workspace_id="w1")
    first = [each.id for each in await store.expected_entries.list_extent(extent, "", PAGE)]
    await database.write(
        lambda connection: (
            connection.exec_driver_sql(
                f"UPDATE memories SET deleted_at = 1, reason = 'forgotten' WHERE id = '{first[-1]}'"
            ).rowcount
        )
    )

    rest = [each.id for each in await store.expected_entries.list_extent(extent, first[-1], 100)]

    assert {*first, *rest} == {each.id for each in made}
    assert not {*first} & {*rest}
