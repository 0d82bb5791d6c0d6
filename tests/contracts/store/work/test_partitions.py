"""Partitions of `ports.lifecycle` and their members, on every database."""

from collections import Counter
from itertools import pairwise, product

from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.access.visibility import Criteria
from openbrain.domain.memory import Memory, MemoryType, Scope
from openbrain.ports.lifecycle import Partition, Selection
from tests.support.store.fixtures import FakeClock, stored

PROJECTS = ("", "Shop", "shop", "über")
KINDS = (MemoryType.FACT, MemoryType.BUG)
SCOPES = (Scope.PROJECT, Scope.SHARED)
ORGS = ("", "acme")


async def filled(store: SqlStore, clock: FakeClock) -> list[Memory]:
    """Store two memories in each partition, the oldest first."""
    made = []
    for number, (_, project, kind, scope, org) in enumerate(product(range(2), PROJECTS, KINDS, SCOPES, ORGS)):
        clock.advance(1)
        changes = {"project": project, "type": kind, "memory_scope": scope, "org": org}
        made.append(await stored(store.writes, f"number {number}", now=clock.now(), **changes))
    return made


async def test_all_of_a_selection_comes_by_partition_and_then_by_age(store: SqlStore, clock: FakeClock) -> None:
    made = await filled(store, clock)
    selection = Selection(workspace_id="w1", criteria=Criteria(org="acme"), at=clock.now(), made_by=clock.now())
    await stored(store.writes, "too young", now=clock.now() + 1, project="shop", org="acme")
    await stored(store.writes, "of another workspace", workspace_id="w2", org="acme")
    expected = [each for each in made if each.org == "acme"]

    counted: list[tuple[Partition, int]] = []
    while found := await store.lifecycle.partitions(selection, counted[-1][0] if counted else None):
        assert len({(place.project, place.memory_scope) for place, _ in found}) == 1
        counted.append(found[0])  # the other partitions are returned again

    assert Counter(dict(counted)) == Counter(map(Partition.of, expected))
    assert len(counted) == len(dict(counted))
    places = [place for place, _ in counted]
    for first, last in [*zip(places, places, strict=True), *pairwise(places)]:
        if (first.project, first.memory_scope) != (last.project, last.memory_scope):
            continue
        listed: list[Memory] = []
        after = None
        while page := await store.lifecycle.members(selection, first, last, 3, after):
            listed += page
            after = page[-1].created_at, page[-1].id
        assert listed == [each for each in expected if Partition.of(each) in (first, last)]
