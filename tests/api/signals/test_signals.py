"""Signals and halts over HTTP: who may raise and see them, and their effects."""

import itertools
from typing import Any

import httpx
import pytest

from openbrain.client import OpenBrain
from openbrain.domain.access.permissions import Permission
from openbrain.domain.errors import Conflict, Forbidden, NotFound
from openbrain.domain.memory import MICROSECONDS
from openbrain.domain.signals.values import HaltState, Severity, SignalState
from openbrain.usecases.backpressure import Pressure
from openbrain_mcp.tools.signals import HALTED
from tests.mcp.support import fields, text, tools
from tests.support.api.brain import Brain, http, refused, unknown_id

SIGNALS, HALTS = "/v1/amygdala/signals", "/v1/amygdala/halts"
DISK: dict[str, Any] = {"source": "db-1", "severity": "warning", "title": "disk at 97 %", "content": "sda1"}


async def client_of(brain: Brain, workspace: str = "w1", agent: str = "ada", **limits: Any) -> OpenBrain:
    key = await brain.key(workspace, agent, **limits)
    return OpenBrain("http://brain", key, transport=httpx.ASGITransport(brain.app()))


async def test_a_signal_from_its_raise_to_its_end(brain: Brain) -> None:
    async with await client_of(brain) as ada, await client_of(brain, agent="bob") as bob:
        made = await ada.raise_signal(**DISK)
        again = await bob.raise_signal(**DISK)
        assert made.signal is not None
        found = made.signal.id
        seen = await bob.acknowledge_signal(found, note="on it")
        ended = await bob.resolve_signal(found, note="swapped")
        whole = await ada.signal(found)
        listed = await ada.signals(state=["resolved"])

    assert (made.status.value, again.status.value) == ("created", "merged")
    assert (seen.state, seen.acknowledged_by) == (SignalState.ACKNOWLEDGED, "bob")
    assert (ended.state, ended.ended_by, ended.note) == (SignalState.RESOLVED, "bob", "swapped")
    assert [ack.agent_id for ack in whole.acks] == ["bob"]
    assert [line.step for line in whole.history] == ["raised", "acknowledged", "resolved"]
    assert [(each.id, each.count) for each in listed.signals] == [(found, 2)]


async def test_an_idempotency_key_is_one_raise_also_when_the_signal_has_ended(brain: Brain) -> None:
    async with await client_of(brain) as ada, await client_of(brain, agent="bob") as bob:
        made = await ada.raise_signal(**DISK, idempotency_key="k")
        assert made.signal is not None
        await ada.resolve_signal(made.signal.id)
        again = await ada.raise_signal(**DISK, idempotency_key="k")
        with pytest.raises(Conflict):
            await ada.raise_signal(**(DISK | {"title": "another"}), idempotency_key="k")
        other = await bob.raise_signal(**DISK, idempotency_key="k")

    assert again.status.value == "duplicate"
    assert other.status.value == "created"  # idempotency keys are separate for each API key


async def test_statuses_of_a_raise(brain: Brain) -> None:
    async with http(brain.app(), await brain.key()) as ada:
        statuses = [(await ada.post(SIGNALS, json=DISK)).status_code for _ in range(2)]

    assert statuses == [201, 200]


async def test_pages_of_signals_and_halts_hold_each_once(brain: Brain) -> None:
    async with await client_of(brain, permissions=frozenset(Permission)) as ada:
        for number in range(5):
            brain.clock.advance(MICROSECONDS)
            await ada.raise_halt(title=f"stop {number}")
        for ask, part in ((ada.signals, "signals"), (ada.halts, "halts")):
            ids: list[str] = []
            cursor = None
            for _ in range(4):
                page: Any = await ask(limit=2, cursor=cursor)
                ids += [each.id for each in getattr(page, part)]
                cursor = page.next_cursor
                if cursor is None:
                    break
            assert len(ids) == len(set(ids)) == 5
            assert cursor is None


async def test_a_halt_from_its_raise_to_its_end(brain: Brain) -> None:
    """It shows who has stopped, and which listeners have not."""
    admin = await client_of(brain, agent="boss", permissions=frozenset(Permission))
    async with admin, await client_of(brain) as ada, await client_of(brain, agent="bob") as bob:
        await ada.amygdala(cursor=0)
        await bob.amygdala(cursor=0, via="redis")
        await brain.presence()
        made = await ada.raise_halt(title="wrong prices", content="nobody deploys")
        assert made.halt is not None
        assert made.signal is not None
        await ada.acknowledge_halt(made.halt.id)
        stands = await bob.halt(made.halt.id)
        state = await bob.amygdala()
        listening = await bob.subscribers()
        await ada.resolve_signal(made.signal.id)
        still = await bob.amygdala()
        with pytest.raises(Forbidden):
            await ada.resume_halt(made.halt.id)
        ended = await admin.resume_halt(made.halt.id, note="right again")
        after = await bob.amygdala()

    assert made.signal.severity is Severity.NUCLEAR
    assert ([ack.agent_id for ack in stands.acks], stands.missing, stands.listening) == (["ada"], ("bob",), 2)
    assert (state.halted, state.severity) == (True, Severity.NUCLEAR)
    assert [(each.agent_id, each.via) for each in listening.subscribers] == [("ada", "poll"), ("bob", "redis")]
    assert still.halted
    assert still.signals == ()
    assert (ended.state, ended.ended_by, ended.note) == (HaltState.RESUMED, "boss", "right again")
    assert not after.halted


async def test_who_was_not_heard_of_lately_is_not_missing(brain: Brain) -> None:
    async with await client_of(brain) as ada:
        await ada.amygdala(cursor=0)
        await brain.presence()
        made = await ada.raise_halt(title="stop")
        assert made.halt is not None
        brain.clock.advance(400 * MICROSECONDS)
        lately, ever = await ada.halt(made.halt.id), await ada.halt(made.halt.id, within_s=500)

    assert (lately.missing, ever.missing) == ((), ("ada",))


async def test_a_halt_of_another_project_is_not_ones_own(brain: Brain) -> None:
    async with await client_of(brain) as ada:
        made = await ada.raise_halt(title="stop", scope="project", org="acme", project="shop")
        halted = {
            (org, project): (await ada.amygdala(org=org, project=project)).halted
            for org, project in itertools.product(("acme", "other", ""), ("shop", "till", ""))
        }

    assert made.halt is not None
    assert made.halt.scope.value == "project"
    assert {place for place, stands in halted.items() if stands} == {
        ("acme", "shop"),
        ("acme", ""),
        ("", "shop"),
        ("", ""),
    }


async def test_a_key_of_some_orgs_sees_and_changes_no_others(brain: Brain) -> None:
    """The answers about other orgs' signals equal the answers about nothing."""
    alpha = await client_of(brain, agent="bob", orgs=("alpha",), without_org=False, permissions=frozenset(OWN))
    async with alpha, await client_of(brain) as ada:
        theirs = await ada.raise_halt(title="secret of beta", scope="org", org="beta", content="beta alone")
        ours = await ada.raise_signal(**DISK, org="alpha")
        assert theirs.signal is not None
        assert theirs.halt is not None
        assert ours.signal is not None
        state = await alpha.amygdala()
        signals, halts = await alpha.signals(), await alpha.halts()
        answers = []
        for path in (f"{SIGNALS}/{theirs.signal.id}", f"{HALTS}/{theirs.halt.id}"):
            for verb in ("", "/ack", "/resolve" if "signals" in path else "/resume"):
                both = []
                for each in (path, path.rpartition("/")[0] + "/" + unknown_id(), path.rpartition("/")[0] + "/no-id"):
                    method = "POST" if verb else "GET"
                    key = await brain.key("w1", "bob", orgs=("alpha",), without_org=False, permissions=frozenset(OWN))
                    async with http(brain.app(), key) as client:
                        told = await client.request(method, each + verb, json={} if verb else None)
                    both.append((told.status_code, told.text))
                answers.append(both)
        with pytest.raises(Forbidden):
            await alpha.raise_signal(**DISK, org="beta")
        with pytest.raises(Forbidden):
            await alpha.raise_halt(title="all of you")
        with pytest.raises(Forbidden):
            await alpha.raise_halt(title="all of you", org="alpha")

    assert [each.id for each in signals.signals] == [each.id for each in state.signals] == [ours.signal.id]
    assert halts.halts == state.halts == ()
    assert not state.halted
    for both in answers:
        assert both[0] == both[1] == both[2]
        assert both[0][0] in (403, 404)
        assert "beta" not in both[0][1]


OWN = {Permission.BRAIN_READ, Permission.SIGNAL_RAISE, Permission.SIGNAL_ACK}


async def test_another_tenant_is_told_nothing(brain: Brain) -> None:
    eve = await client_of(brain, "w2", "eve", permissions=frozenset(Permission))
    async with eve, await client_of(brain) as ada:
        made = await ada.raise_halt(title="stop")
        await ada.amygdala(cursor=0)
        await brain.presence()
        assert made.signal is not None
        assert made.halt is not None
        state, listening = await eve.amygdala(), await eve.subscribers()
        found = (await eve.signals(), await eve.halts(), await eve.broadcasts(0))
        asked = (eve.signal, eve.acknowledge_signal, eve.resolve_signal)
        for ask in asked:
            with pytest.raises(NotFound, match="no signal with this id"):
                await ask(made.signal.id)
        for stop in (eve.halt, eve.acknowledge_halt, eve.resume_halt):
            with pytest.raises(NotFound, match="no halt with this id"):
                await stop(made.halt.id)

    assert (state.seq, state.halted, listening.count) == (0, False, 0)
    assert [each.count for each in found] == [0, 0, 0]


async def test_an_agent_speaks_for_another_only_where_its_key_may(brain: Brain) -> None:
    key = await brain.key(act_as=("bob",))
    made = None
    for name in ("bob", "eve"):
        async with http(brain.app(), key, **{"x-openbrain-agent": name}) as client:
            made = made or (await client.post(HALTS, json={"title": "stop"})).json()["halt"]["id"]
            await client.post(f"{HALTS}/{made}/ack", json={})
            status = (await client.get(f"{HALTS}/{made}")).json()

    assert {ack["agent_id"] for ack in status["acks"]} == {"bob", "ada"}


async def test_an_alarm_is_taken_while_writes_are_refused(brain: Brain) -> None:
    """The alarm reports the very trouble."""
    full = Pressure(brain.store.outbox, None, outbox_limit=1, memory_share=1)
    async with http(brain.app(pressure=full), await brain.key()) as ada:
        await ada.post(SIGNALS, json=DISK)
        write = await ada.post("/v1/brain/remember", json={"content": "x", "type": "fact"})
        alarm = await ada.post(SIGNALS, json=DISK | {"content": "another"})

    refused(write, 503)
    assert alarm.status_code == 201


async def test_bad_query_strings_are_named(brain: Brain) -> None:
    bads = {
        SIGNALS: {"state": "burning", "min_severity": "alert", "since": "yesterday", "limit": "0", "cursor": "x"},
        HALTS: {"state": "stopped", "limit": "101", "cursor": "x"},
        "/v1/amygdala/state": {"cursor": "-1", "via": "fax", "org": "x" * 129},
        "/v1/amygdala/broadcasts": {"after": "-1", "wait": "31", "limit": "0"},
        "/v1/amygdala/stream": {"after": "x", "seconds": "-1", "project": "\x07"},
        "/v1/amygdala/subscribers": {"within_s": "0", "limit": "0"},
    }
    async with http(brain.app(), await brain.key()) as ada:
        for path, fields in bads.items():
            for name, value in fields.items():
                refused(await ada.get(path, params={name: value}), 422, name)
        told = await ada.get("/v1/amygdala/stream", headers={"last-event-id": "x"})

    refused(told, 422, "Last-Event-ID")


async def test_a_model_is_shown_a_halt_and_acknowledges_it_also_when_its_alarm_has_ended(brain: Brain) -> None:
    async with await client_of(brain, agent="boss", permissions=frozenset(Permission)) as boss:
        raised = await boss.raise_halt(title="wrong prices", scope="project", org="acme", project="shop")
        assert raised.halt is not None
        assert raised.signal is not None
        await boss.resolve_signal(raised.signal.id)
        async with tools(brain, await brain.key()) as client:
            here = text(await client.call_tool("brain_signals", {"org": "acme", "project": "shop"}))
            elsewhere = text(await client.call_tool("brain_signals", {"org": "acme", "project": "web"}))
            acked = fields(await client.call_tool("brain_signal_ack", {"id": raised.halt.id}))
            unknown = text(await client.call_tool("brain_signal_ack", {"id": unknown_id()}))
        status = await boss.halt(raised.halt.id)

    assert here.startswith(HALTED)
    assert f"\nid: {raised.halt.id}\n" in here
    assert "\n---\nwrong prices\n<<end " in here
    assert elsewhere == "Nothing was found."
    assert acked == {"success": True, "id": raised.signal.id, "state": "open", "halt_id": raised.halt.id}
    assert [each.agent_id for each in status.acks] == ["ada"]
    assert "no alarm and no halt with this id" in unknown
