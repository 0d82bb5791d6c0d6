"""What the service does with stream entries: raises by key, acknowledgements only by the owner, timed sweeps."""

from dataclasses import dataclass
from typing import Any

import pytest

from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.errors import Conflict, Invalid, NotFound
from openbrain.domain.events.data import SignalAcknowledged, SignalRaised
from openbrain.domain.events.envelope import CloudEvent
from openbrain.domain.ids import uuid7
from openbrain.domain.memory import DAY
from openbrain.domain.signals.values import HaltScope, Severity, SignalState
from openbrain.usecases.content.policy import DetectingPolicy
from openbrain_amygdala.handlers.signal_acknowledged import record_acknowledgements
from openbrain_amygdala.handlers.signal_raised import raise_all
from openbrain_amygdala.jobs.sweep import Retention, purge, sweep
from tests.support.signals.raising import raise_one, signal_of, workspace
from tests.support.store.fixtures import START, FakeClock, viewer

KEPT = Retention(broadcasts=7 * DAY, signals=90 * DAY, subscribers=7 * DAY, dead_letters=30 * DAY)


@pytest.fixture(params=["sqlite"])
def database_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """SQLite is enough: the store's contract tests cover what all databases do alike."""
    return f"sqlite+aiosqlite:///{tmp_path_factory.mktemp('truth')}/truth.db"


@dataclass
class Came:
    """An entry as the service passes it to a handler."""

    event: CloudEvent[Any]
    id: str = f"{START // 1000}-0"
    workspace: str | None = None


def raised(event_id: str = "e-1", bound: str | None = None, entry: str = "", **data: Any) -> Came:
    given = {"workspace_id": "w1", "source": "disk", "severity": "warning", "title": "full", **data}
    event = CloudEvent[SignalRaised](id=event_id, source="/probe", type="t", data=SignalRaised(**given))
    return Came(event, entry or f"{START // 1000}-0", bound)


def said(agent: str, action: str, bound: str | None = None, **data: Any) -> Came:
    given = SignalAcknowledged(**{"workspace_id": "w1", "agent_id": agent, "action": action, **data})
    return Came(CloudEvent[SignalAcknowledged](id="a", source="/a", type="t", data=given), workspace=bound)


async def test_each_is_answered_for_itself_and_the_same_event_counts_once(store: SqlStore) -> None:
    await workspace(store, "w1", "w2")
    batch = [
        raised("1"),
        raised("1"),
        raised("2", workspace_id="unknown"),
        raised("3", halt=True, halt_scope="org"),
        raised("4", bound="w2", workspace_id="w1"),
    ]
    results = await raise_all(batch, signals=store.signals, content_policy=DetectingPolicy(), now=START)

    assert [type(result).__name__ for result in results] == ["NoneType", "NoneType", "NotFound", "Invalid", "NoneType"]
    assert [(await store.broadcasts.last_seq(name)) for name in ("w1", "w2")] == [1, 1]
    assert await raise_all(batch[:1], signals=store.signals, content_policy=DetectingPolicy(), now=START + DAY) == [
        None
    ]
    (signal,) = (await store.signals.present(viewer())).signals
    assert (signal.count, signal.first_raised_at) == (1, START)


async def test_a_time_that_is_ahead_of_ours_is_not_believed(store: SqlStore) -> None:
    await workspace(store)
    await raise_all(
        [raised(entry=f"{(START + DAY) // 1000}-0", ttl_s=60)],
        signals=store.signals,
        content_policy=DetectingPolicy(),
        now=START,
    )
    (signal,) = (await store.signals.present(viewer())).signals
    assert (signal.first_raised_at, signal.expires_at) == (START, START + 60_000_000)


async def test_a_fleet_that_stops_is_noted_whole_and_counts_as_listening(store: SqlStore) -> None:
    await workspace(store)
    outcome = await raise_one(store, severity=Severity.NUCLEAR, halt_scope=HaltScope.WORKSPACE)
    assert outcome.halt is not None
    fleet = [f"agent-{number:03}" for number in range(200)]
    results = await record_acknowledgements(
        [said(agent, "ack", halt_id=outcome.halt.id, seq=1, org="acme") for agent in fleet], store=store, now=START
    )

    assert results == [None] * 200
    assert [ack.agent_id for ack in await store.halts.halt_acks(viewer(), outcome.halt.id, 500)] == fleet
    listening = await store.broadcasts.subscribers("w1", 0, 500)
    assert [each.agent_id for each in listening] == fleet
    assert {(each.via, each.org, each.cursor) for each in listening} == {("redis", "acme", 1)}


async def test_signals_are_acknowledged_by_id_or_by_what_was_heard(store: SqlStore) -> None:
    await workspace(store, "w1", "w2")
    one, other = await signal_of(store, content="one"), await signal_of(store, content="other")
    results = await record_acknowledgements(
        [
            said("ada", "ack", signal_id=one.id),
            said("bob", "ack", seq=other.seq),
            said("cy", "resolve", signal_id=other.id),
            said("dan", "ack", signal_id=other.id),
            said("eve", "ack", signal_id=uuid7(START)),
            said("eve", "ack", bound="w2", signal_id=one.id),
            said("eve", "ack"),
            said("eve", "ack", halt_id=uuid7(START)),
        ],
        store=store,
        now=START,
    )

    kinds = [None, None, None, None, NotFound, NotFound, Invalid, NotFound]
    assert [result if result is None else type(result) for result in results] == kinds, "lateness is not an error"
    states = [(await store.signals.signal(viewer(), each.id)) for each in (one, other)]
    assert [each and each.state for each in states] == [SignalState.ACKNOWLEDGED, SignalState.RESOLVED]
    assert [each.agent_id for each in await store.broadcasts.subscribers("w1", 0, 10)] == ["ada", "bob", "cy", "dan"]


async def test_a_resolution_of_what_has_grown_worse_since_is_refused(store: SqlStore) -> None:
    await workspace(store)
    signal = await signal_of(store, dedup_key="k")
    await signal_of(store, dedup_key="k", severity=Severity.CRITICAL)

    old = said("ada", "resolve", signal_id=signal.id, seq=signal.seq)
    (result,) = await record_acknowledgements([old], store=store, now=START)

    assert isinstance(result, Conflict)
    found = await store.signals.signal(viewer(), signal.id)
    assert found is not None
    assert found.state is SignalState.ACTIVE


async def test_time_moves_what_is_due_and_forgets_what_is_past(store: SqlStore, clock: FakeClock) -> None:
    await workspace(store)
    clock.time = await store.time() - 10_000_000
    signal = await signal_of(store, ttl_s=1, at=clock.time)
    await record_acknowledgements([said("ada", "seen", seq=1)], store=store, now=clock.time)

    assert await sweep(store, 100) == 1
    assert await sweep(store, 100) == 0
    found = await store.signals.signal(viewer(), signal.id)
    assert found is not None
    assert found.state is SignalState.EXPIRED
    assert await purge(store, 100, KEPT) == 0
    assert len(await store.broadcasts.broadcasts_after("w1", 0, 10)) == 2
    past = Retention(broadcasts=0, signals=0, subscribers=0, dead_letters=0)
    assert await purge(store, 100, past) >= 1
    assert await store.broadcasts.broadcasts_after("w1", 0, 10) == []
    assert await store.broadcasts.subscribers("w1", 0, 10) == []
