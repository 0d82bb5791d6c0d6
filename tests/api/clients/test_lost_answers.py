"""The client when the connection breaks off before the answer: what it repeats by itself has its effect once."""

from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from openbrain.client import OpenBrain
from openbrain.domain.errors import TryLater
from tests.support.api.brain import Brain, unknown_id


class AnswerLost(httpx.AsyncBaseTransport):
    """The connection to the server: it breaks off after each first request, before the answer."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._inner = inner
        self._lost: set[str] = set()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        answer = await self._inner.handle_async_request(request)
        if request.method == "POST" and request.url.path not in self._lost:
            self._lost.add(request.url.path)
            await answer.aread()
            raise httpx.ReadError("lost")
        return answer


@pytest.mark.usefixtures("pauses")
async def test_what_our_own_repetition_raises_counts_once(brain: Brain) -> None:
    transport = AnswerLost(httpx.ASGITransport(brain.app()))
    async with OpenBrain("http://brain.test", await brain.key(), transport=transport) as client:
        raised = await client.raise_signal(source="probe", severity="warning", title="it burns")
        halted = await client.raise_halt(title="stop")
        with pytest.raises(TryLater):
            await client.subscribe_query("deploys")
        made = (await client.subscriptions()).subscriptions
        replayed = await client.replay_subscription(made[0].id, datetime(2026, 1, 1, tzinfo=UTC))

    assert [each.signal and each.signal.count for each in (raised, halted)] == [1, 1]
    assert [each.id for each in made] == [replayed.id]


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
