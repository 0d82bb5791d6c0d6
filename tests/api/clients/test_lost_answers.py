"""The client when the connection breaks off before the answer: what it repeats by itself has its effect once."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from openbrain.client import OpenBrain
from openbrain.domain.access.permissions import Permission
from openbrain.domain.errors import NotFound, Outdated, TryLater
from tests.support.api.brain import Brain, unknown_id
from tests.support.processes.settings import changed
from tests.support.store.fixtures import FakeClock


class AnswerLost(httpx.AsyncBaseTransport):
    """The connection to the server: it breaks off after each first request, before the answer; time goes on then."""

    def __init__(self, inner: httpx.AsyncBaseTransport, clock: FakeClock) -> None:
        self._inner, self._clock = inner, clock
        self._lost: set[str] = set()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        answer = await self._inner.handle_async_request(request)
        asked = f"{request.method} {request.url.path}"
        if request.method != "GET" and asked not in self._lost:
            self._lost.add(asked)
            await answer.aread()
            self._clock.advance(1)
            raise httpx.ReadError("lost")
        return answer


@pytest.mark.usefixtures("pauses")
async def test_what_our_own_repetition_raises_counts_once(brain: Brain) -> None:
    transport = AnswerLost(httpx.ASGITransport(brain.app()), brain.clock)
    async with OpenBrain("http://brain.test", await brain.key(), transport=transport) as client:
        raised = await client.raise_signal(source="probe", severity="warning", title="it burns")
        halted = await client.raise_halt(title="stop")
        with pytest.raises(TryLater):
            await client.subscribe_query("deploys")
        made = (await client.subscriptions()).subscriptions
        replayed = await client.replay_subscription(made[0].id, datetime(2026, 1, 1, tzinfo=UTC))

    assert [each.signal and each.signal.count for each in (raised, halted)] == [1, 1]
    assert [each.id for each in made] == [replayed.id]


@pytest.mark.usefixtures("pauses")
async def test_what_our_own_repetition_finds_removed_is_removed(brain: Brain) -> None:
    webhooks = changed(brain.settings.webhooks, enabled=True, hosts=("hooks.example.org",))
    plain = httpx.ASGITransport(replace(brain, settings=brain.settings.model_copy(update={"webhooks": webhooks})).app())
    key, operators = [await brain.key(each, permissions=frozenset(Permission)) for each in ("w1", "system")]
    await brain.store.groups.register_group("memory.stored", "elsewhere", "ada", "")
    async with OpenBrain("http://brain.test", key, transport=plain) as client:
        thought, other = [await client.capture(text, metadata={"k": text}) for text in ("it rains", "it snows")]
        subscription = await client.subscribe_query("deploys")
        webhook = await client.create_webhook("https://hooks.example.org/a")
    async with OpenBrain("http://brain.test", key, transport=AnswerLost(plain, brain.clock)) as client:
        ended = await client.delete_thought(thought.id)
        erased = await client.delete_thought(other.id, erase=True)
        unsubscribed = await client.remove_subscription(subscription.id)
        unhooked = await client.remove_webhook(webhook.id)
        with pytest.raises(NotFound):  # its first request is answered
            await client.delete_thought(thought.id)
    async with OpenBrain("http://brain.test", operators, transport=AnswerLost(plain, brain.clock)) as operator:
        unregistered = await operator.unregister_group("memory.stored", "elsewhere")

    assert (ended.id, ended.deleted, ended.erased, erased.erased) == (thought.id, True, False, True)
    assert (unsubscribed.removed, unhooked.removed, unregistered.registered) == (True, True, False)


@pytest.mark.usefixtures("pauses")
async def test_a_memory_that_our_own_repetition_finds_forgotten_has_not_changed(brain: Brain) -> None:
    transport = AnswerLost(httpx.ASGITransport(brain.app()), brain.clock)
    async with OpenBrain("http://brain.test", await brain.key(), transport=transport) as client:
        stored = await client.remember({"content": "it rains", "type": "fact"})
        await client.update(stored.id, tags=["weather"])
        forgotten = await client.forget(stored.id, if_match='"2"')
        with pytest.raises(Outdated):
            await client.forget(stored.id, if_match='"1"')

    assert forgotten.forgotten


@pytest.mark.usefixtures("pauses")
async def test_a_memory_that_our_own_repetition_finds_changed_has_not_changed(brain: Brain) -> None:
    key = await brain.key()
    transport = AnswerLost(httpx.ASGITransport(brain.app()), brain.clock)
    async with OpenBrain("http://brain.test", key, transport=transport) as client:
        stored = await client.remember({"content": "it rains", "type": "fact"})
        changed = await client.update(stored.id, content="it pours", tags=["weather"], if_match='"1"')
        await client.forget(stored.id)
        restored = await client.restore(stored.id, if_match='"2-forgotten"')

    assert (changed.version, changed.content, restored.version, restored.reason) == (2, "it pours", 3, None)


async def test_the_change_of_another_is_not_taken_for_our_own(brain: Brain) -> None:
    async with OpenBrain("http://brain.test", await brain.key(), transport=httpx.ASGITransport(brain.app())) as ada:
        stored = await ada.remember({"content": "it rains", "type": "fact"})
        async with OpenBrain(
            "http://brain.test", await brain.key(agent="bob"), transport=httpx.ASGITransport(brain.app())
        ) as bob:
            await bob.update(stored.id, tags=["weather"])
            with pytest.raises(Outdated):
                await ada.update(stored.id, tags=["weather"], if_match='"1"')
            await bob.forget(stored.id)
            await bob.restore(stored.id)
            with pytest.raises(Outdated):
                await ada.restore(stored.id, if_match='"2-forgotten"')
        await ada.update(stored.id, tags=["rain"])
        with pytest.raises(Outdated):
            await ada.update(stored.id, tags=["snow"], if_match='"3"')


@pytest.mark.parametrize(
    "start",
    [
        lambda brain: brain.verify(),
        lambda brain: brain.clean(normalise=True, dry_run=False),
        lambda brain: brain.undo(unknown_id()),
    ],
)
async def test_an_operation_is_not_started_twice(start: Any) -> None:
    asked: list[httpx.Request] = []

    def lost(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        raise httpx.ReadError("lost")

    with pytest.raises(TryLater):
        await start(OpenBrain("http://brain.test", transport=httpx.MockTransport(lost)))
    assert len(asked) == 1
