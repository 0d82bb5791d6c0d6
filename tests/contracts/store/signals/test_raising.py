"""Raises in the store, on every database: one row per identity, and one broadcast per change under the next number."""

import pytest
from pydantic import ValidationError

from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.errors import Conflict, NotFound
from openbrain.domain.memory import MICROSECONDS
from openbrain.domain.signals.values import HaltScope, HaltState, Severity, SignalState, Step
from openbrain.ports.store.signals import RaiseStatus, SignalFilter
from tests.support.signals.raising import change, fields, raise_one, raised, signal_of, steps, told, workspace
from tests.support.store.fixtures import FakeClock, rows, viewer

WINDOW = 300 * MICROSECONDS


@pytest.fixture(autouse=True)
async def w1(store: SqlStore) -> None:
    await workspace(store, "w1", "w2")


async def test_a_first_raise_is_stored_and_told(store: SqlStore) -> None:
    outcome = await raise_one(store, org="acme", project="p", ttl_s=60, traceparent="00-1-2-01")

    assert outcome.status is RaiseStatus.CREATED
    assert outcome.signal is not None
    assert outcome.halt is None
    assert (outcome.signal.state, outcome.signal.seq, outcome.signal.count) == (SignalState.ACTIVE, 1, 1)
    assert await store.signals.signal(viewer(), outcome.signal.id) == outcome.signal
    (event,) = await told(store)
    assert (event.signal_id, event.change, event.severity) == (outcome.signal.id, Step.RAISED, Severity.WARNING)
    assert (event.title, event.content, event.source) == ("disk full", "sda1 at 95 %", "disk")
    assert (event.org, event.project, event.halt, event.halt_id) == ("acme", "p", False, None)
    assert (event.raised_at, event.expires_at) == ("2027-01-15T08:00:00.000000Z", "2027-01-15T08:01:00.000000Z")
    (entry,) = await store.signals.signal_history(viewer(), outcome.signal.id, 10)
    assert (entry.seq, entry.step, entry.actor, entry.state) == (1, Step.RAISED, "ada", "active")


async def test_what_is_told_waits_in_the_outbox_as_it_is_kept(store: SqlStore) -> None:
    await store.signals.raise_signals([raised(), raised(content="other"), raised(workspace_id="w2")])

    waiting = [(each.stream, each.body) for each in await store.outbox.take(10)]
    kept = [
        (f"amygdala.broadcast.{name}", row.body)
        for name in ("w1", "w2")
        for row in await store.broadcasts.broadcasts_after(name, 0, 9)
    ]
    assert waiting == kept
    assert [fields(body)["seq"] for _, body in waiting] == [1, 2, 1]
    assert await store.broadcasts.last_seqs("", 10) == [("w1", 2), ("w2", 1)]
    assert await store.broadcasts.last_seqs("w1", 10) == [("w2", 1)]


async def test_a_thousand_raises_of_one_cause_are_one_broadcast_with_a_count(store: SqlStore) -> None:
    outcomes = await store.signals.raise_signals([raised(key=str(number)) for number in range(1000)])

    assert [each.status for each in outcomes] == [RaiseStatus.CREATED] + [RaiseStatus.MERGED] * 999
    assert {each.signal.count for each in outcomes if each.signal} == {1000}
    (event,) = await told(store)
    assert event.count == 1000


async def test_raises_one_by_one_are_counted_and_told_again_after_the_window(store: SqlStore, clock: FakeClock) -> None:
    first = await signal_of(store)
    for _ in range(20):
        await raise_one(store)
    assert (await signal_of(store)).id == first.id
    assert len(await told(store)) == 1

    clock.advance(WINDOW)
    await raise_one(store)
    assert [(each.seq, each.change, each.count) for each in await told(store)] == [
        (1, Step.RAISED, 1),
        (2, Step.RAISED, 23),
    ]


async def test_a_stronger_raise_is_told_at_once_and_a_weaker_hides_nothing(store: SqlStore) -> None:
    await raise_one(store, dedup_key="k", title="warm")
    await raise_one(store, dedup_key="k", title="hot", severity=Severity.CRITICAL)
    weak = await signal_of(store, dedup_key="k", title="cool", severity=Severity.INFO, at=raised().at + 9)

    assert await steps(store) == [(1, "raised", "active", "warning"), (2, "worsened", "active", "critical")]
    assert (weak.severity, weak.broadcast_severity, weak.title, weak.count) == (
        *(Severity.CRITICAL, Severity.CRITICAL, "hot", 3),
    )
    (present,) = (await store.signals.present(viewer())).signals
    assert present == weak


async def test_the_same_raise_again_is_nothing(store: SqlStore) -> None:
    first = await raise_one(store, key="event-1")
    again = await raise_one(store, key="event-1", at=raised().at + 5)
    both = await store.signals.raise_signals([raised(key="event-2"), raised(key="event-2")])

    assert (again.status, again.signal) == (RaiseStatus.DUPLICATE, first.signal)
    assert [each.status for each in both] == [RaiseStatus.MERGED, RaiseStatus.DUPLICATE]
    assert both[1].signal == both[0].signal
    assert (await raise_one(store, key="event-1", workspace_id="w2")).status is RaiseStatus.CREATED
    assert len(await told(store)) == 1


async def test_a_key_of_something_else_is_refused_alone(store: SqlStore) -> None:
    await raise_one(store, key="k")
    other, good = await store.signals.raise_signals([raised(key="k", content="other"), raised(content="good")])

    assert other.status is RaiseStatus.REFUSED
    assert isinstance(other.error, Conflict)
    assert good.status is RaiseStatus.CREATED


async def test_an_unknown_workspace_is_refused_alone(store: SqlStore) -> None:
    bad, good = await store.signals.raise_signals([raised(workspace_id="none"), raised()])

    assert bad.status is RaiseStatus.REFUSED
    assert isinstance(bad.error, NotFound)
    assert good.status is RaiseStatus.CREATED


async def test_what_comes_after_its_ttl_is_not_told(store: SqlStore, clock: FakeClock) -> None:
    clock.advance(60 * MICROSECONDS)
    late = await raise_one(store, ttl_s=60, severity=Severity.NUCLEAR)

    assert (late.status, late.signal, late.halt) == (RaiseStatus.EXPIRED, None, None)
    assert await told(store) == []
    assert await store.halts.halts(viewer(), 10) == []


async def test_what_has_ended_is_raised_as_another(store: SqlStore, clock: FakeClock) -> None:
    first = await signal_of(store, key="event-1")
    await store.signals.change_signal(change(first, Step.RESOLVED))
    repeated = await raise_one(store, key="event-1")
    second = await signal_of(store, key="event-2", ttl_s=60, at=clock.now() + 1)
    clock.advance(61 * MICROSECONDS)
    third = await signal_of(store, key="event-3", at=clock.now())

    assert repeated.status is RaiseStatus.DUPLICATE
    assert len({first.id, second.id, third.id}) == 3
    assert [(seq, what) for seq, what, _, _ in await steps(store)] == [
        (1, "raised"),
        (2, "resolved"),
        (3, "raised"),
        (4, "expired"),
        (5, "raised"),
    ]
    states = [each.state for each in await store.signals.signals(viewer(), SignalFilter(), 10)]
    assert states == [SignalState.ACTIVE, SignalState.EXPIRED, SignalState.RESOLVED]


@pytest.mark.parametrize("changes", [{"severity": Severity.NUCLEAR}, {"halt": True}])
async def test_a_nuclear_signal_or_one_that_says_so_halts(store: SqlStore, changes: dict[str, object]) -> None:
    outcome = await raise_one(store, **changes, ttl_s=60)

    assert outcome.signal is not None
    assert outcome.halt is not None
    assert (outcome.halt.scope, outcome.halt.state) == (HaltScope.WORKSPACE, HaltState.OPEN)
    assert (outcome.halt.seq, outcome.halt.expires_at) == (1, outcome.signal.expires_at)
    assert await store.halts.halt(viewer(), outcome.halt.id) == outcome.halt
    assert (await store.signals.present(viewer())).halts == (outcome.halt,)
    (event,) = await told(store)
    assert (event.halt, event.halt_id, event.halt_state) == (True, outcome.halt.id, HaltState.OPEN)


async def test_a_halt_is_opened_later_widened_and_told_of(store: SqlStore) -> None:
    place = {"org": "acme", "project": "p", "severity": Severity.CRITICAL}
    await raise_one(store, **place)
    for scope in (HaltScope.PROJECT, HaltScope.PROJECT, HaltScope.WORKSPACE, HaltScope.ORG):
        await raise_one(store, **place, halt=True, halt_scope=scope)

    assert [(each.change, each.halt_scope) for each in await told(store)] == [
        (Step.RAISED, None),
        (Step.HALTED, HaltScope.PROJECT),
        (Step.HALTED, HaltScope.WORKSPACE),
    ]
    (halt,) = await store.halts.halts(viewer(), 10)
    assert (halt.scope, halt.seq) == (HaltScope.WORKSPACE, 3)


async def test_nothing_of_a_raise_that_fails_stays(store: SqlStore) -> None:
    with pytest.raises(ValidationError):
        await store.signals.raise_signals([raised(), raised(content="x", title=None)])

    assert await rows(store._database, "SELECT id FROM signals") == []
    assert await store.broadcasts.last_seq("w1") == 0
