"""Changes that people and agents make to signals and halts, on every database."""

import pytest

from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.errors import Conflict, Invalid, NotFound
from openbrain.domain.signals.values import (
    Acknowledgement,
    HaltScope,
    HaltState,
    Severity,
    SignalState,
    Step,
    Subscriber,
)
from tests.support.signals.raising import change, of_org, raise_one, signal_of, steps, told, workspace
from tests.support.store.fixtures import START, FakeClock, viewer


@pytest.fixture(autouse=True)
async def w1(store: SqlStore) -> None:
    await workspace(store, "w1", "w2")


async def test_an_acknowledgement_is_told_once_and_noted_of_each(store: SqlStore, clock: FakeClock) -> None:
    signal = await signal_of(store, severity=Severity.CRITICAL)
    seen = await store.signals.change_signal(change(signal))
    clock.advance(1)
    again = await store.signals.change_signal(change(signal))
    eve = await store.signals.change_signal(change(signal, actor="eve"))

    assert (seen.state, seen.acknowledged_by, seen.acknowledged_at) == (SignalState.ACKNOWLEDGED, "bob", START)
    assert seen == again == eve
    assert [what for _, what, _, _ in await steps(store)] == ["raised", "acknowledged"]
    assert await store.signals.signal_acks(viewer(), signal.id, 10) == [
        Acknowledgement(agent_id="bob", at=START),
        Acknowledgement(agent_id="eve", at=START + 1),
    ]
    assert len(await store.signals.signal_acks(viewer(), signal.id, 1)) == 1


async def test_an_acknowledgement_names_what_was_heard(store: SqlStore) -> None:
    await signal_of(store, content="another")
    signal = await signal_of(store, dedup_key="k")
    await signal_of(store, dedup_key="k", severity=Severity.CRITICAL)

    old = await store.signals.change_signal(change(signal, signal_id="", seq=2))
    assert (old.id, old.state) == (signal.id, SignalState.ACTIVE)
    assert [each.agent_id for each in await store.signals.signal_acks(viewer(), signal.id, 10)] == ["bob"]
    with pytest.raises(Conflict, match="severity has risen"):
        await store.signals.change_signal(change(signal, Step.RESOLVED, seq=2))
    assert (await store.signals.change_signal(change(signal, signal_id="", seq=3))).state is SignalState.ACKNOWLEDGED
    assert (await store.signals.change_signal(change(signal, Step.RESOLVED, seq=3))).state is SignalState.RESOLVED


async def test_a_resolution_is_told_once(store: SqlStore, clock: FakeClock) -> None:
    signal = await signal_of(store)
    over = await store.signals.change_signal(change(signal, Step.RESOLVED, note="cleaned up"))
    clock.advance(1)
    assert await store.signals.change_signal(change(signal, Step.RESOLVED, actor="eve")) == over
    late = await store.signals.change_signal(change(signal, actor="eve"))

    assert (over.state, over.ended_by, over.ended_at, over.note) == (SignalState.RESOLVED, "bob", START, "cleaned up")
    assert late == over
    assert [what for _, what, _, _ in await steps(store)] == ["raised", "resolved"]
    entry = (await store.signals.signal_history(viewer(), signal.id, 10))[-1]
    assert (entry.step, entry.actor, entry.note, entry.seq) == (Step.RESOLVED, "bob", "cleaned up", 2)
    assert (await store.signals.present(viewer())).signals == ()


async def test_what_is_not_seen_is_not_there(store: SqlStore) -> None:
    signal = await signal_of(store, org="acme", severity=Severity.NUCLEAR, halt_scope=HaltScope.ORG)
    (halt,) = await store.halts.halts(viewer(), 10)
    strangers = [
        change(signal, viewer=of_org("other", without_org=True)),
        change(signal, workspace_id="w2", viewer=viewer("w2")),
        change(signal, signal_id="0190aaaa-0000-7000-8000-000000000000"),
        change(signal, signal_id="", seq=99),
        change(signal, signal_id="", seq=1, workspace_id="w2", viewer=viewer("w2")),
    ]
    said = []
    for stranger in strangers:
        with pytest.raises(NotFound) as caught:
            await store.signals.change_signal(stranger)
        said.append(str(caught.value))
    assert set(said) == {"no signal with this id"}
    for other in (of_org("other", without_org=True), viewer("w2")):
        for read in (store.signals.signal_history, store.signals.signal_acks):
            with pytest.raises(NotFound):
                await read(other, signal.id, 10)
        with pytest.raises(NotFound):
            await store.halts.ack_halt(other, halt.id, ["bob"])
        with pytest.raises(NotFound):
            await store.halts.resume_halt(other, halt.id, "bob")
        with pytest.raises(NotFound):
            await store.halts.halt_acks(other, halt.id, 10)
        assert await store.halts.halt(other, halt.id) is None
        assert await store.signals.signal(other, signal.id) is None
    assert (await store.signals.change_signal(change(signal, viewer=of_org("acme")))).state is SignalState.ACKNOWLEDGED


async def test_nobody_escalates_by_hand(store: SqlStore) -> None:
    signal = await signal_of(store)
    with pytest.raises(Invalid, match="step"):
        await store.signals.change_signal(change(signal, Step.ESCALATED))


async def test_everyone_acknowledges_a_halt_and_somebody_resumes_it(store: SqlStore, clock: FakeClock) -> None:
    halt = (await raise_one(store, severity=Severity.NUCLEAR)).halt
    assert halt is not None
    assert await store.halts.ack_halt(viewer(), halt.id, ["bob", "ada", "bob"]) == halt
    clock.advance(5)
    await store.halts.ack_halt(viewer(), halt.id, ["bob", "eve"])
    over = await store.halts.resume_halt(viewer(), halt.id, "admin", "all clear")

    assert await store.halts.halt_acks(viewer(), halt.id, 10) == [
        Acknowledgement(agent_id="ada", at=START),
        Acknowledgement(agent_id="bob", at=START),
        Acknowledgement(agent_id="eve", at=START + 5),
    ]
    assert (over.state, over.ended_by, over.note, over.seq) == (HaltState.RESUMED, "admin", "all clear", 2)
    assert await store.halts.resume_halt(viewer(), halt.id, "other") == over
    assert [(each.change, each.halt, each.halt_state) for each in await told(store)] == [
        (Step.RAISED, True, HaltState.OPEN),
        (Step.RESUMED, False, HaltState.RESUMED),
    ]
    assert await store.halts.halts(viewer(), 10, states=[HaltState.OPEN]) == []


async def test_nothing_but_a_resume_or_its_ttl_ends_a_halt(store: SqlStore) -> None:
    outcome = await raise_one(store, severity=Severity.NUCLEAR)
    assert outcome.signal is not None
    await store.signals.change_signal(change(outcome.signal))
    await store.signals.change_signal(change(outcome.signal, Step.RESOLVED))

    present = await store.signals.present(viewer())
    assert (present.signals, [each.id for each in present.halts]) == ((), [outcome.halt and outcome.halt.id])
    assert [each.halt for each in await told(store)] == [True, True, True]


async def test_a_resumed_halt_is_not_opened_again_by_the_same_signal(store: SqlStore) -> None:
    halt = (await raise_one(store, severity=Severity.NUCLEAR)).halt
    assert halt is not None
    await store.halts.resume_halt(viewer(), halt.id, "admin")
    again = await raise_one(store, severity=Severity.NUCLEAR)

    assert again.halt is not None
    assert again.halt.state is HaltState.RESUMED
    assert (await raise_one(store, severity=Severity.NUCLEAR, dedup_key="new")).halt in await store.halts.halts(
        viewer(), 10, states=[HaltState.OPEN]
    )


async def test_who_sees_other_orgs_hears_that_everyone_halts_and_not_why(store: SqlStore) -> None:
    everyone = (await raise_one(store, org="acme", severity=Severity.NUCLEAR)).halt
    narrow = (await raise_one(store, org="acme", content="2", halt=True, halt_scope=HaltScope.ORG)).halt
    assert everyone is not None
    assert narrow is not None
    other = of_org("other")

    present = await store.signals.present(other)
    assert present.signals == ()
    (halt,) = present.halts
    assert (halt.id, halt.title, halt.raised_by, halt.org) == (everyone.id, "", "", "")
    assert await store.halts.halts(other, 10) == [halt]
    assert await store.halts.halt(other, everyone.id) == halt
    assert await store.halts.ack_halt(other, everyone.id, ["zoe"]) == halt
    assert [(each.org, each.everyone) for each in await store.broadcasts.broadcasts_after("w1", 0, 10)] == [
        ("acme", True),
        ("acme", False),
    ]
    await store.halts.resume_halt(viewer(), everyone.id, "admin")
    assert [each.everyone for each in await store.broadcasts.broadcasts_after("w1", 2, 10)] == [True]


async def test_who_listens_is_known_by_what_was_heard_last(store: SqlStore) -> None:
    def listener(name: str, cursor: int, at: int, via: str = "sse") -> Subscriber:
        return Subscriber(workspace_id="w1", agent_id=name, cursor=cursor, via=via, org="acme", seen_at=START + at)

    await store.broadcasts.record_presence(
        [listener("ada", 5, 10), listener("bob", 1, 10), listener("ada", 3, 20, "poll")]
    )
    await store.broadcasts.record_presence([listener("ada", 4, 15, "redis"), listener("zoe", 0, 1)])
    await store.broadcasts.record_presence([])

    assert await store.broadcasts.subscribers("w1", START + 10, 10) == [
        listener("ada", 5, 20, "redis"),
        listener("bob", 1, 10),
    ]
    assert [each.agent_id for each in await store.broadcasts.subscribers("w1", START, 1, after="ada")] == ["bob"]
    assert await store.broadcasts.subscribers("w2", START, 10) == []
    assert await store.broadcasts.forget_subscribers(START + 5, 10) == 1
    assert [each.agent_id for each in await store.broadcasts.subscribers("w1", START, 10)] == ["ada", "bob"]
