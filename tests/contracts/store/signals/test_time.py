"""What happens to signals and halts over time, on every database; what is purged; numbers after a restore."""

import pytest

from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.memory import DAY, MICROSECONDS
from openbrain.domain.signals.values import HaltState, Severity, SignalState, Step
from openbrain.ports.store.operations import Operation
from openbrain.ports.store.signals import RaiseStatus, SignalFilter, Swept
from tests.support.signals.raising import change, fields, raise_one, raised, signal_of, steps, told, workspace
from tests.support.store.fixtures import START, FakeClock, rows, viewer

QUIET = 900 * MICROSECONDS


@pytest.fixture(autouse=True)
async def w1(store: SqlStore) -> None:
    await workspace(store, "w1", "w2")


async def swept(store: SqlStore, clock: FakeClock, microseconds: int) -> Swept:
    """Advance the clock and run a sweep."""
    clock.advance(microseconds)
    return await store.signals.sweep_due(100, clock.now())


async def test_quiet_lowers_and_resolves_and_each_is_told(store: SqlStore, clock: FakeClock) -> None:
    await raise_one(store)
    assert await swept(store, clock, QUIET - 1) == Swept()
    assert await swept(store, clock, 1) == Swept(lowered=1)
    assert await store.signals.sweep_due(100, clock.now()) == Swept()
    assert await swept(store, clock, QUIET) == Swept(resolved=1)

    assert await steps(store) == [
        (1, "raised", "active", "warning"),
        (2, "lowered", "active", "info"),
        (3, "resolved", "resolved", "info"),
    ]
    assert [each.actor for each in await told(store)] == ["ada", "time", "time"]


async def test_a_grave_one_escalates_after_a_day_and_stays(store: SqlStore, clock: FakeClock) -> None:
    signal = await signal_of(store, severity=Severity.CRITICAL)
    assert await swept(store, clock, DAY) == Swept(escalated=1)
    assert await swept(store, clock, 100 * DAY) == Swept()
    (standing,) = (await store.signals.present(viewer())).signals
    assert (standing.state, standing.severity) == (SignalState.ESCALATED, Severity.CRITICAL)

    assert (await store.signals.change_signal(change(signal))).state is SignalState.ACKNOWLEDGED
    assert await swept(store, clock, QUIET) == Swept(lowered=1)


async def test_ttl_ends_signal_and_halt_and_quiet_ends_no_halt(store: SqlStore, clock: FakeClock) -> None:
    timed = await raise_one(store, severity=Severity.NUCLEAR, ttl_s=60)
    for_ever = await raise_one(store, halt=True, content="2", severity=Severity.INFO)
    done = await swept(store, clock, 60 * MICROSECONDS)
    assert (done.expired, done.halts_expired, done.total) == (1, 1, 2)
    assert await swept(store, clock, QUIET) == Swept(resolved=1)

    assert timed.halt is not None
    assert for_ever.halt is not None
    ended = await store.halts.halt(viewer(), timed.halt.id)
    assert ended is not None
    assert (ended.state, ended.ended_by) == (HaltState.EXPIRED, "time")
    assert [each.id for each in (await store.signals.present(viewer())).halts] == [for_ever.halt.id]
    assert [(each.change, each.halt) for each in await told(store)][2:] == [
        (Step.HALT_EXPIRED, False),
        (Step.EXPIRED, False),
        (Step.RESOLVED, True),
    ]


async def test_a_halt_that_only_time_ended_begins_again_with_the_next_nuclear_raise(
    store: SqlStore, clock: FakeClock
) -> None:
    first = await raise_one(store, severity=Severity.NUCLEAR, ttl_s=60)
    await raise_one(store, severity=Severity.CRITICAL)  # without a time limit: the signal outlives its halt
    assert first.halt is not None
    await store.halts.ack_halt(viewer(), first.halt.id, ["ada"])
    assert await swept(store, clock, 60 * MICROSECONDS) == Swept(halts_expired=1)
    assert (await store.signals.present(viewer())).halts == ()

    again = await raise_one(store, severity=Severity.NUCLEAR, ttl_s=30, at=clock.now())
    (halt,) = (await store.signals.present(viewer())).halts
    assert (again.status, again.halt, halt.state) == (RaiseStatus.MERGED, halt, HaltState.OPEN)
    assert (halt.raised_at, halt.expires_at, halt.ended_by) == (clock.now(), clock.now() + 30 * MICROSECONDS, "")
    assert ((await told(store))[-1].change, (await told(store))[-1].halt) == (Step.HALTED, True)
    assert await store.halts.halt_acks(viewer(), halt.id, 9) == [], "nobody has stopped again yet"
    assert await swept(store, clock, 30 * MICROSECONDS) == Swept(halts_expired=1)


async def test_a_resume_covers_what_was_known_and_a_nuclear_raise_after_it_halts(store: SqlStore) -> None:
    first = await raise_one(store, severity=Severity.CRITICAL, halt=True)
    assert first.halt is not None
    await store.halts.ack_halt(viewer(), first.halt.id, ["ada"])
    await store.halts.resume_halt(viewer(), first.halt.id, "admin", "go on")
    assert (await raise_one(store, severity=Severity.CRITICAL, halt=True)).status is RaiseStatus.MERGED
    assert (await store.signals.present(viewer())).halts == (), "who resumed knew of it"

    await raise_one(store, severity=Severity.NUCLEAR)
    (halt,) = (await store.signals.present(viewer())).halts
    assert (halt.state, halt.note, await store.halts.halt_acks(viewer(), halt.id, 9)) == (HaltState.OPEN, "", [])
    assert ((await told(store))[-1].change, (await told(store))[-1].halt) == (Step.WORSENED, True)


async def test_quiet_does_not_end_what_is_held_and_the_same_raise_holds_it_longer(
    store: SqlStore, clock: FakeClock
) -> None:
    await raise_one(store, key="mark", held_until=START + 4 * QUIET)
    assert await swept(store, clock, 3 * QUIET) == Swept(lowered=1)
    again = await raise_one(store, key="mark", held_until=START + 7 * QUIET)
    assert again.signal is not None
    assert (again.status, again.signal.count) == (RaiseStatus.DUPLICATE, 1)
    assert await swept(store, clock, 4 * QUIET - 1) == Swept()
    assert await swept(store, clock, 1) == Swept(resolved=1)

    assert [each.change for each in await told(store)] == [Step.RAISED, Step.LOWERED, Step.RESOLVED]


async def test_a_sweep_takes_no_more_than_its_limit(store: SqlStore, clock: FakeClock) -> None:
    await store.signals.raise_signals(
        [raised(content=str(number)) for number in range(5)] + [raised(workspace_id="w2")]
    )
    clock.advance(QUIET)

    assert [(await store.signals.sweep_due(4, clock.now())).total for _ in range(3)] == [4, 2, 0]


async def test_a_workspace_that_is_being_deleted_holds_nobody_up(store: SqlStore, clock: FakeClock) -> None:
    await store.signals.raise_signals([raised(), raised(workspace_id="w2")])
    operation = Operation(id="0190aaaa-0000-7000-8000-000000000000", workspace_id="system", kind="close", actor="ada")
    await store.workspaces.close_workspace("w1", operation)
    clock.advance(QUIET)

    assert (await store.signals.sweep_due(1, clock.now())).lowered == 1
    counts = await store.workspaces.workspace_counts("w1")
    assert (counts["signals"], counts["signal_history"], counts["broadcasts"]) == (1, 1, 1)
    gone = await store.workspaces.drop_workspace("w1", "")
    assert (gone["signals"], gone["signal_history"], gone["broadcasts"], gone["outbox"]) == (1, 1, 1, 1)
    assert [each["workspace_id"] for each in await rows(store._database, "SELECT workspace_id FROM signals")] == ["w2"]


async def test_what_has_ended_becomes_a_tombstone_and_goes_at_last(store: SqlStore, clock: FakeClock) -> None:
    halted = await signal_of(store, severity=Severity.NUCLEAR, content="halted", key="1")
    signal = await signal_of(store, key="2")
    for each in (signal, halted):
        await store.signals.change_signal(change(each))
        await store.signals.change_signal(change(each, Step.RESOLVED))
    assert (await swept(store, clock, 14 * DAY)).tombstoned == 2
    assert await purged(store, clock.now(), ended_before=START) == 0
    clock.advance(DAY)

    # One signal is purged, but not the one whose halt is open.
    assert await purged(store, clock.now(), ended_before=clock.now()) == 1
    assert [each.id for each in await store.signals.signals(viewer(), SignalFilter(), 10)] == [halted.id]
    for table in ("signal_history", "signal_acks"):
        left = await rows(store._database, f"SELECT DISTINCT signal_id FROM {table}")
        assert [each["signal_id"] for each in left] == [halted.id]
    (halt,) = await store.halts.halts(viewer(), 10)
    await store.halts.ack_halt(viewer(), halt.id, ["bob"])
    await store.halts.resume_halt(viewer(), halt.id, "admin")
    assert await purged(store, clock.now(), ended_before=clock.now()) == 1
    assert await rows(store._database, "SELECT halt_id FROM halt_acks") == []
    # The keys go, each after its time.
    assert await purged(store, START + 30 * DAY - 1) == 0
    assert await purged(store, START + 30 * DAY) == 2


async def purged(store: SqlStore, now: int, *, broadcasts_before: int = 0, ended_before: int = 0) -> int:
    return await store.signals.purge_signals(
        100, broadcasts_before=broadcasts_before, ended_before=ended_before, now=now
    )


async def test_old_broadcasts_go_and_numbers_go_on(store: SqlStore, clock: FakeClock) -> None:
    await raise_one(store, content="1")
    clock.advance(DAY)
    await raise_one(store, content="2")
    assert [await store.broadcasts.broadcast_floor("w1", START + at) for at in (0, DAY, DAY + 1)] == [0, 1, 2]

    assert await purged(store, clock.now(), broadcasts_before=START + DAY) == 1
    assert [each.seq for each in await told(store)] == [2]
    assert [await store.broadcasts.broadcast_floor("w1", START + at) for at in (DAY, DAY + 1)] == [1, 2]
    assert await purged(store, clock.now(), broadcasts_before=clock.now() + 1) == 1
    assert await store.broadcasts.broadcast_floor("w1", START + DAY + 1) == 2
    assert (await store.signals.present(viewer())).seq == 2
    assert (await signal_of(store, content="3")).seq == 3
    assert await store.broadcasts.last_seq("unknown") == await store.broadcasts.broadcast_floor("unknown", START) == 0


async def test_after_a_restore_what_is_new_is_told_above_what_the_stream_has(store: SqlStore) -> None:
    first, second = await signal_of(store), await signal_of(store, content="2", severity=Severity.NUCLEAR)
    third = await signal_of(store, content="2", severity=Severity.NUCLEAR, halt=True, ttl_s=5)
    waiting = await store.outbox.take(10)
    await store.outbox.delete([each.id for each in waiting])

    assert await store.broadcasts.renumber("w1", 2, 50) == 51
    assert [(each.seq, each.signal_id) for each in await told(store)] == [(1, first.id), (51, second.id)]
    assert third.seq == 2
    assert [fields(each.body)["seq"] for each in await store.outbox.take(10)] == [51]
    moved = await store.signals.signal(viewer(), second.id)
    assert moved is not None
    assert (moved.seq, moved.worsened_seq) == (51, 51)
    assert (await store.halts.halts(viewer(), 10))[0].seq == 51
    assert (await signal_of(store, content="4")).seq == 52
    # The numbers jump even if no number in the database was too low.
    assert await store.broadcasts.renumber("w1", 60, 80) == 80
    assert (await signal_of(store, content="5")).seq == 81
