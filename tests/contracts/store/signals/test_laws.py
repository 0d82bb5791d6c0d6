"""For any order of raises, changes and waits, the state that listeners derive from broadcasts equals the database's,
and a weaker signal never hides a stronger one."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection

from openbrain.adapters.sql.engine.opening import open_database
from openbrain.adapters.sql.schema.tables import OTHERS, outbox, workspaces
from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.memory import MICROSECONDS
from openbrain.domain.signals.rules import TIME, SignalTimes
from openbrain.domain.signals.values import (
    OPEN_STATES,
    TRANSITIONS,
    Halt,
    HaltScope,
    HaltState,
    Raise,
    Severity,
    Signal,
    SignalState,
    Step,
)
from openbrain.ports.store.signals import SignalEntry, SignalFilter
from tests.support.forms import examples
from tests.support.signals.raising import change, fields, heard, raised, told, workspace
from tests.support.store.fixtures import START, FakeClock, viewer
from tests.support.store.schema import make_tables

MINUTE = 60 * MICROSECONDS
TIMES = SignalTimes(quiet=2 * MINUTE, resolve=2 * MINUTE, escalate=5 * MINUTE, dedupe=MINUTE, tombstone=10 * MINUTE)
OF_HALTS = (Step.HALTED, Step.RESUMED, Step.HALT_EXPIRED)

RAISES = st.fixed_dictionaries(
    {
        "dedup_key": st.sampled_from(["a", "b"]),
        "severity": st.sampled_from(list(Severity)),
        "title": st.sampled_from(["one", "two"]),
        "at": st.integers(0, 3).map(lambda minutes: START - minutes * MICROSECONDS),
        "ttl_s": st.sampled_from([None, None, 60, 240]),
        "halt": st.sampled_from([False, False, True]),
        "halt_scope": st.sampled_from(list(HaltScope)),
    }
)
RAISING = st.tuples(st.just("raise"), RAISES)
DOINGS = st.one_of(
    RAISING,
    RAISING,
    RAISING,
    st.tuples(st.sampled_from(["ack", "resolve", "resume"]), st.integers(0, 3)),
    st.tuples(st.just("ack_seq"), st.integers(1, 6)),
    st.tuples(st.just("wait"), st.integers(1, 6)),
)


class World:
    """A store that is emptied for each example."""

    def __init__(self, url: str) -> None:
        self.runner = asyncio.Runner()
        self.database = open_database(url, pool=2)
        self.runner.run(self.database.write(make_tables))
        self.begin()

    def begin(self) -> None:
        self.clock = FakeClock()
        self.store = SqlStore(self.database, self.clock, times=TIMES)
        self.runner.run(self.database.write(_empty))
        self.runner.run(workspace(self.store))

    def end(self) -> None:
        self.runner.run(self.store.close())
        self.runner.close()


def _empty(connection: Connection) -> None:
    for table in (*OTHERS, outbox, workspaces):
        connection.execute(table.delete())


@pytest.fixture
def world(database_url: str) -> Iterator[World]:
    made = World(database_url)
    yield made
    made.end()


def drawn(count: int) -> settings:
    return settings(max_examples=examples(count), deadline=None, suppress_health_check=list(HealthCheck))


def test_any_order_and_any_duplicates_end_the_same(world: World) -> None:
    @drawn(40)
    @given(st.lists(RAISES, min_size=1, max_size=8), st.randoms(use_true_random=False))
    def holds(some: list[dict[str, Any]], random: Any) -> None:
        raises = [raised(**each, org="acme", project="p", key=str(place)) for place, each in enumerate(some)]
        world.begin()
        world.runner.run(world.store.signals.raise_signals(raises))
        once = world.runner.run(ends(world.store))
        delivered = raises + random.choices(raises, k=len(raises))
        random.shuffle(delivered)
        world.begin()
        world.runner.run(deliver(world.store, delivered, random))

        assert world.runner.run(ends(world.store)) == once

    holds()


async def deliver(store: SqlStore, raises: list[Raise], random: Any) -> None:
    while raises:
        size = random.randint(1, 4)
        await store.signals.raise_signals(raises[:size])
        raises = raises[size:]


async def ends(store: SqlStore) -> list[tuple[Signal, list[Halt]]]:
    """The present state, with ids and numbers left out, because they are given in order."""
    found = await store.signals.signals(viewer(), SignalFilter(), 100)
    halts = {each.signal_id: each for each in await store.halts.halts(viewer(), 100)}
    return sorted(
        [
            (
                replace(each, id="", seq=0, worsened_seq=0),
                [
                    replace(halts[each.id], id="", signal_id="", seq=0, title="", raised_at=0)
                    for _ in range(each.id in halts)
                ],
            )
            for each in found
        ],
        key=lambda each: each[0].dedup_key,
    )


def test_what_is_told_is_what_is_and_follows_the_table(world: World) -> None:
    @drawn(60)
    @given(st.lists(DOINGS, min_size=1, max_size=14))
    def holds(doings: list[tuple[str, Any]]) -> None:
        world.begin()
        strongest: dict[str, Severity] = {}
        for what, which in doings:
            world.runner.run(do(world, what, which, strongest))
        world.runner.run(verify(world.store, strongest))

    holds()


async def do(world: World, what: str, which: Any, strongest: dict[str, Severity]) -> None:
    store = world.store
    signals = await store.signals.signals(viewer(), SignalFilter(), 100)
    if what == "raise":
        given = raised(**{**which, "at": world.clock.now() + which["at"] - START}, org="acme", project="p")
        (outcome,) = await store.signals.raise_signals([given])
        if outcome.signal:
            known = strongest.get(outcome.signal.id, given.severity)
            strongest[outcome.signal.id] = max(known, given.severity, key=lambda each: each.rank)
    elif what == "wait":
        world.clock.advance(which * MINUTE)
        await store.signals.sweep_due(100, world.clock.now())
    elif what == "ack_seq" and which <= await store.broadcasts.last_seq("w1"):
        await store.signals.change_signal(change(signals[0], signal_id="", seq=which))
    elif what in ("ack", "resolve") and which < len(signals):
        step = Step.ACKNOWLEDGED if what == "ack" else Step.RESOLVED
        await store.signals.change_signal(change(signals[which], step))
    elif what == "resume":
        standing = await store.halts.halts(viewer(), 100, states=[HaltState.OPEN])
        if which < len(standing):
            await store.halts.resume_halt(viewer(), standing[which].id, "admin")


async def verify(store: SqlStore, strongest: dict[str, Severity]) -> None:
    broadcasts = await told(store)
    numbers = list(range(1, len(broadcasts) + 1))
    assert (
        [each.seq for each in broadcasts]
        == numbers
        == [fields(each.body)["seq"] for each in await store.outbox.take(1000)]
    )
    signals = {each.id: each for each in await store.signals.signals(viewer(), SignalFilter(), 1000)}
    halts = {each.signal_id: each for each in await store.halts.halts(viewer(), 1000)}
    last = heard(broadcasts)
    assert last.keys() == signals.keys() == strongest.keys()
    entries: list[SignalEntry] = []
    for signal_id, signal in signals.items():
        known, halt = last[signal_id], halts.get(signal_id)
        assert (known.state, known.severity, known.raised_severity) == (
            *(signal.state, signal.broadcast_severity, signal.severity),
        )
        assert signal.severity is strongest[signal_id]
        assert known.halt == (halt is not None and halt.state is HaltState.OPEN)
        mine = await store.signals.signal_history(viewer(), signal_id, 1000)
        follow_the_table(mine)
        entries += mine
    assert sorted(each.seq for each in entries) == numbers
    open_ones = [each for each in signals.values() if each.state in OPEN_STATES]
    assert len({each.identity for each in open_ones}) == len(open_ones)
    assert {each.id for each in (await store.signals.present(viewer())).signals} == {each.id for each in open_ones}


def follow_the_table(entries: Any) -> None:
    first, *rest = entries
    assert (first.step, first.state) == (Step.RAISED, SignalState.ACTIVE)
    before = first
    for entry in rest:
        state = SignalState(before.state)
        assert entry.state == (state if entry.step in OF_HALTS else TRANSITIONS[state, entry.step])
        assert Severity(entry.severity).rank >= Severity(before.severity).rank
        if entry.step is Step.LOWERED or (entry.step is Step.RESOLVED and entry.actor == TIME):
            assert state is SignalState.ACKNOWLEDGED or not Severity(entry.severity).grave
        before = entry
