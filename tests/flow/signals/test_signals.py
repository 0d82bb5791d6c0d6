"""A signal from one XADD to every subscriber's stream, with the whole system in this process."""

import json
from typing import Any

import pytest
from redis.asyncio import Redis

from openbrain.domain.access.visibility import Viewer
from openbrain.domain.events.data import SignalAcknowledged, SignalRaised
from openbrain.domain.events.envelope import FIELD, encode
from openbrain.domain.events.streams import SIGNAL_ACKNOWLEDGED, SIGNAL_RAISED
from openbrain.domain.signals.values import Severity
from openbrain.ports.store.tenants import Workspace
from openbrain.streams.publishing.broadcast_writer import stream_of
from openbrain_amygdala import unacknowledged
from tests.flow.conftest import Brain
from tests.support.waiting import until

STREAM = stream_of("default")
VIEWER = Viewer(workspace_id="default", agent_id="ada")


async def raised(redis: Redis, number: int, stream: str = SIGNAL_RAISED.name, **data: Any) -> None:
    """Raise a signal by one XADD, as a producer does."""
    given = {"workspace_id": "default", "source": "disk", "severity": "warning", "title": f"disk {number} is full"}
    event = encode(SIGNAL_RAISED.name, SignalRaised(**{**given, **data}), event_id=f"e-{number}", at=0, source="/probe")
    await redis.xadd(stream, {FIELD: event})


async def said(redis: Redis, agent: str, action: str, **data: Any) -> None:
    heard = SignalAcknowledged(**{"workspace_id": "default", "agent_id": agent, "action": action, **data})
    await redis.xadd(
        SIGNAL_ACKNOWLEDGED.name,
        {FIELD: encode(SIGNAL_ACKNOWLEDGED.name, heard, event_id=f"{agent}-{action}", at=0, source=f"/{agent}")},
    )


async def heard(brain: Brain, count: int, stream: str = STREAM) -> list[tuple[str, dict[str, Any]]]:
    """The entries of the broadcast stream, once there are `count`: id and data."""

    async def there() -> bool:
        return int(await brain.redis.xlen(stream)) >= count

    await until(there)
    entries: Any = await brain.redis.xrange(stream)
    return [(entry.decode(), json.loads(fields[FIELD.encode()])["data"]) for entry, fields in entries]


async def test_what_is_raised_is_heard_once_in_order_and_where_it_belongs(brain: Brain) -> None:
    await brain.container.store.workspaces.create_workspace(Workspace(id="bound", name="bound", created_at=0))
    for number in range(20):
        await raised(brain.redis, number)
    await raised(brain.redis, 3)
    await raised(brain.redis, 20, workspace_id="nobody's")
    await brain.redis.xadd(SIGNAL_RAISED.name, {FIELD: "not json"})
    await raised(brain.redis, 21)
    await raised(brain.redis, 22, stream=f"{SIGNAL_RAISED.name}.bound")
    await brain.redis.xadd(
        "events:health", {"event": "disk.full", "source": "nas", "priority": "high", "title": "full"}
    )
    await brain.redis.xadd("events:health", {"event": "rebuild.done", "source": "nas", "priority": "default"})
    entries = await heard(brain, 22)
    ((entry, data),) = await heard(brain, 1, stream_of("bound"))
    await brain.settled()

    assert [entry for entry, _ in entries] == [f"{seq}-0" for seq in range(1, 23)]
    assert [data["seq"] for _, data in entries] == list(range(1, 23))
    assert {data["title"] for _, data in entries} == {
        *(f"disk {number} is full" for number in (*range(20), 21)),
        "full",
    }
    assert (entry, data["title"]) == ("1-0", "disk 22 is full"), "the stream determines the workspace, not the event"
    assert await brain.redis.xlen(f"{SIGNAL_RAISED.name}.amygdala.dead") == 2, "a bad event does not affect the others"
    assert await brain.redis.xlen(STREAM) == 22, "a repeated event is the same signal"


async def test_a_nuclear_signal_halts_until_it_is_resumed(brain: Brain) -> None:
    await raised(brain.redis, 1, severity="nuclear")
    ((_, data),) = await heard(brain, 1)
    assert (data["severity"], data["halt"], data["halt_state"]) == (Severity.NUCLEAR, True, "open")

    await said(brain.redis, "ada", "seen", seq=1)
    await said(brain.redis, "bob", "ack", halt_id=data["halt_id"])
    await said(brain.redis, "cy", "ack", signal_id=data["signal_id"])
    await brain.settled()
    store = brain.container.store
    (halt,) = await store.halts.halts(VIEWER, 10)
    assert [ack.agent_id for ack in await store.halts.halt_acks(VIEWER, halt.id, 10)] == ["bob"]
    assert [ack.agent_id for ack in await store.signals.signal_acks(VIEWER, data["signal_id"], 10)] == ["cy"]
    assert [each.agent_id for each in await store.broadcasts.subscribers("default", 0, 10)] == ["ada", "bob", "cy"]

    await said(brain.redis, "cy", "resolve", signal_id=data["signal_id"])
    *_, (_, data) = await heard(brain, 3)
    assert (data["state"], data["halt"]) == ("resolved", True), "resolving a signal does not end its halt"


async def test_a_workspace_without_a_vault_shows_its_unheard_signals_until_they_are_acknowledged(
    brain: Brain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The metric of the `OpenBrainSignalUnheard` alert, as a scrape finds it."""
    monkeypatch.setattr(unacknowledged, "FRESH_S", 0.0)
    assert not brain.container.settings.vaults.folders

    operator = (brain.system.key_file.parent / "admin-key").read_text(encoding="utf-8").strip()

    async def seen() -> list[str]:
        answer = await brain.http.get("/metrics", headers={"authorization": f"Bearer {operator}"})
        assert answer.status_code == 200, answer.text
        return [line for line in answer.text.splitlines() if line.startswith("openbrain_signals_unacknowledged{")]

    assert await seen() == []
    await raised(brain.redis, 1, severity="critical")
    ((_, data),) = await heard(brain, 1)
    assert await seen() == ['openbrain_signals_unacknowledged{workspace="default"} 1.0']
    await said(brain.redis, "ada", "ack", signal_id=data["signal_id"])
    await heard(brain, 2)
    assert await seen() == []
