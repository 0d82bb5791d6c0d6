"""A source that raises too much is still heard, and does not drown the others."""

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.memory import MICROSECONDS
from openbrain.domain.signals.rules import SignalTimes
from openbrain.domain.signals.values import Severity, SignalState
from openbrain.ports.store.signals import RaiseStatus, SignalFilter
from tests.support.signals.raising import raise_one, raised, steps, told, workspace
from tests.support.store.fixtures import FakeClock, viewer

TIMES = SignalTimes(source_signals=5)


async def flooded(database: Database, clock: FakeClock, *, one_by_one: bool) -> SqlStore:
    store = SqlStore(database, clock, times=TIMES)
    await workspace(store)
    some = [raised(content=f"line {number}", key=str(number)) for number in range(200)]
    for part in [[each] for each in some] if one_by_one else [some]:
        await store.signals.raise_signals(part)
    return store


async def test_many_signals_of_one_source_become_one_that_counts(database: Database, clock: FakeClock) -> None:
    store = await flooded(database, clock, one_by_one=False)

    found = await store.signals.signals(viewer(), SignalFilter(), 100)
    (storm,) = (each for each in found if each.storm)
    assert len(found) == 6
    assert (storm.count, storm.source, storm.severity) == (195, "disk", Severity.WARNING)
    assert [each.count for each in await told(store)] == [1, 1, 1, 1, 1, 195]
    assert [each.storm for each in await told(store)] == [False] * 5 + [True]


async def test_also_one_by_one(database: Database, clock: FakeClock) -> None:
    store = await flooded(database, clock, one_by_one=True)

    assert len(await told(store)) == 6
    again = await raise_one(store, content="line 7", key="7")
    assert (again.status, again.signal and again.signal.count) == (RaiseStatus.DUPLICATE, 195)
    assert (await raise_one(store, content="line 3")).status is RaiseStatus.MERGED


async def test_what_is_stronger_than_the_flood_is_heard_by_itself(database: Database, clock: FakeClock) -> None:
    store = await flooded(database, clock, one_by_one=False)
    grave = await raise_one(store, content="the house burns", severity=Severity.CRITICAL)
    other = await raise_one(store, source="net")

    assert [each.status for each in (grave, other)] == [RaiseStatus.CREATED] * 2
    assert [what[3] for what in await steps(store)][-2:] == ["critical", "warning"]


async def test_a_flood_of_grave_ones_raises_the_one_that_stands_for_them(database: Database, clock: FakeClock) -> None:
    store = await flooded(database, clock, one_by_one=False)
    some = [raised(content=f"c{number}", severity=Severity.NUCLEAR) for number in range(50)]
    outcomes = await store.signals.raise_signals(some)

    assert [each.status for each in outcomes] == [RaiseStatus.CREATED] * 5 + [RaiseStatus.GROUPED] * 45
    storm = outcomes[-1].signal
    assert storm is not None
    assert (storm.severity, storm.state, storm.count) == (Severity.NUCLEAR, SignalState.ACTIVE, 240)
    assert outcomes[-1].halt is not None
    assert len(await told(store)) == 6 + 5 + 1


async def test_after_the_window_the_source_is_heard_again(database: Database, clock: FakeClock) -> None:
    store = await flooded(database, clock, one_by_one=False)
    clock.advance(60 * MICROSECONDS)
    later = await raise_one(store, content="another", at=clock.now())

    assert later.status is RaiseStatus.CREATED
