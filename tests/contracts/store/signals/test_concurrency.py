"""Many concurrent writers in two stores: numbers without gaps, one signal per identity, nothing lost."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from openbrain.adapters.sql.engine.opening import open_database
from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.memory import MICROSECONDS
from openbrain.domain.signals.values import HaltState, Severity, Step, Subscriber
from openbrain.ports.store.signals import RaiseStatus, SignalFilter
from tests.support.signals.raising import change, fields, raise_one, raised, signal_of, told, workspace
from tests.support.store.fixtures import FakeClock, viewer
from tests.support.waiting import PATIENCE_S

EACH = 40


@pytest.fixture
async def two(store: SqlStore, database_url: str, clock: FakeClock) -> AsyncIterator[list[SqlStore]]:
    """Two stores on one database that know nothing of each other."""
    await workspace(store, "w1", "w2")
    other = open_database(database_url, pool=8, lock_wait_s=PATIENCE_S)
    yield [store, SqlStore(other, clock)]
    await other.close()


async def test_numbers_have_no_gaps_and_the_outbox_has_their_order(two: list[SqlStore]) -> None:
    await asyncio.gather(
        *[
            raise_one(store, content=str(number), source=f"s{number % 7}", workspace_id=f"w{1 + number % 2}")
            for number in range(EACH)
            for store in two
        ]
    )

    for name in ("w1", "w2"):
        waiting = [fields(each.body)["seq"] for each in await two[0].outbox.take(1000) if each.stream.endswith(name)]
        seqs = [each.seq for each in await told(two[0], name)]
        assert waiting == seqs == list(range(1, len(seqs) + 1))
        assert await two[1].broadcasts.last_seq(name) == len(seqs) == EACH // 2


async def test_one_cause_is_one_signal_with_every_raise_counted(two: list[SqlStore]) -> None:
    outcomes = await asyncio.gather(
        *[
            raise_one(store, key=f"{number}", severity=list(Severity)[number % 4])
            for number in range(EACH)
            for store in two
        ]
    )

    statuses = [each.status for each in outcomes]
    assert statuses.count(RaiseStatus.CREATED) == 1
    assert statuses.count(RaiseStatus.DUPLICATE) == EACH
    (signal,) = await two[0].signals.signals(viewer(), SignalFilter(), 10)
    assert (signal.count, signal.severity) == (EACH, Severity.NUCLEAR)
    (halt,) = await two[1].halts.halts(viewer(), 10)
    assert (halt.signal_id, halt.state) == (signal.id, HaltState.OPEN)


async def test_raises_of_many_workspaces_do_not_wait_for_each_other_in_a_ring(two: list[SqlStore]) -> None:
    there = [raised(workspace_id=name, content=str(number)) for number in range(5) for name in ("w1", "w2")]
    await asyncio.gather(*[store.signals.raise_signals(some) for some in (there, there[::-1]) for store in two * 3])

    found = [await two[0].signals.signals(viewer(name), SignalFilter(), 10) for name in ("w1", "w2")]
    assert [[each.count for each in some] for some in found] == [[12] * 5] * 2


async def test_what_is_due_happens_once(two: list[SqlStore], clock: FakeClock) -> None:
    for number in range(10):
        await signal_of(two[0], content=str(number), ttl_s=60)
    clock.advance(60 * MICROSECONDS)
    done = await asyncio.gather(*[store.signals.sweep_due(100, clock.now()) for store in two * 4])

    assert sum(each.expired for each in done) == 10
    assert await two[0].broadcasts.last_seq("w1") == 20


async def test_many_say_the_same_and_it_is_told_once(two: list[SqlStore]) -> None:
    signal = await signal_of(two[0], severity=Severity.NUCLEAR)
    (halt,) = await two[0].halts.halts(viewer(), 10)
    agents = [f"agent-{number:03}" for number in range(EACH)]
    calls = [store.signals.change_signal(change(signal, actor=agent)) for agent in agents for store in two]
    acks = [store.halts.ack_halt(viewer(), halt.id, agents[place::3]) for place in range(3) for store in two]
    resumes = [store.halts.resume_halt(viewer(), halt.id, "admin") for store in two * 4]
    await asyncio.gather(*calls, *acks, *resumes)

    assert sorted(each.change for each in await told(two[0])) == [Step.ACKNOWLEDGED, Step.RAISED, Step.RESUMED]
    assert [each.agent_id for each in await two[0].signals.signal_acks(viewer(), signal.id, 100)] == agents
    assert sorted(each.agent_id for each in await two[0].halts.halt_acks(viewer(), halt.id, 100)) == agents


async def test_listeners_are_noted_by_many(two: list[SqlStore]) -> None:
    def fleet(seq: int) -> list[Subscriber]:
        return [Subscriber(workspace_id="w1", agent_id=f"a{each}", cursor=seq, seen_at=seq) for each in range(50)]

    orders = [fleet(seq)[:: 1 if seq % 2 else -1] for seq in range(1, 9)]
    await asyncio.gather(*[store.broadcasts.record_presence(some) for some in orders for store in two])

    assert {(each.cursor, each.seen_at) for each in await two[0].broadcasts.subscribers("w1", 0, 100)} == {(8, 8)}
