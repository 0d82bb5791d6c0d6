"""Counts from the database, used while the text index is down: the same as an index gives."""

import pytest

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.access.visibility import Criteria, visible
from openbrain.domain.memory import MemoryType
from openbrain.ports.index import Count
from tests.support.store.fixtures import FakeClock, origin, stored, viewer

ALL = visible(viewer(), Criteria(), 0)


async def test_values_are_counted_most_first_then_by_name(store: SqlStore) -> None:
    await stored(store.writes, "a", tags=("x", "y"), org="o", project="p")
    await stored(store.writes, "b", tags=("x", "Y", "ü"), org="o", project="q")
    await stored(store.writes, "c", tags=(), project="p", type=MemoryType.BUG)

    assert await store.memories.counts(("tags",), ALL, 10) == (
        Count("x", 2),
        Count("Y", 1),
        Count("y", 1),
        Count("ü", 1),
    )
    assert await store.memories.counts(("tags",), ALL, 2) == (Count("x", 2), Count("Y", 1))
    assert await store.memories.counts(("type",), ALL, 10) == (Count("fact", 2), Count("bug", 1))
    assert await store.memories.counts(("org", "project"), ALL, 10) == (
        Count("o", 2, (Count("p", 1), Count("q", 1))),
        Count("", 1, (Count("p", 1),)),
    )
    assert await store.memories.counts(("project", "tags"), ALL, 1) == (Count("p", 2, (Count("x", 1),)),)


async def test_only_the_living_and_visible_count(store: SqlStore, clock: FakeClock) -> None:
    await stored(store.writes, "mine", tags=("mine",))
    gone = await stored(store.writes, "gone", tags=("gone",))
    await stored(store.writes, "short", tags=("short",), expires_at=clock.now() + 1)
    clock.advance(2)
    await store.writes.forget(gone.id, viewer(), origin(), "")

    assert await store.memories.counts(("tags",), visible(viewer(), Criteria(), clock.now()), 10) == (Count("mine", 1),)
    assert await store.memories.counts(("tags",), visible(viewer("w2"), Criteria(), clock.now()), 10) == ()


@pytest.mark.parametrize(("scan", "names"), [(2, ("c", "b")), (1, ("c",))])
async def test_only_the_newest_are_looked_at(
    database: Database, clock: FakeClock, scan: int, names: tuple[str, ...]
) -> None:
    store = SqlStore(database, clock, degraded_scan=scan)
    for name in ("a", "b", "c"):
        clock.advance(1)
        await stored(store.writes, name, now=clock.now(), tags=(name,))

    found = await store.memories.counts(("tags",), ALL, 10)

    assert {each.value for each in found} == set(names)
