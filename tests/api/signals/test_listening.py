"""Receiving broadcasts over HTTP: the stream and the long poll, on a real server."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import httpx
import pytest

from openbrain.client import OpenBrain
from openbrain.contract.amygdala.broadcasts import BroadcastAnswer, Skipped
from openbrain.domain.access.permissions import Permission
from openbrain.domain.errors import Forbidden
from openbrain.ports.store.transfer import Position, StoredMemory
from openbrain.settings.server import Server
from openbrain.settings.tuning import ServerTuning
from openbrain.usecases.auth import successor
from openbrain_api.memories.transfer.exporting import Export
from tests.support.api.brain import Brain, http, refused, remembered
from tests.support.api.listening import Ear, ear
from tests.support.api.served import served
from tests.support.signals.broadcasting import burn
from tests.support.waiting import PATIENCE_S, until

STREAM = "/v1/amygdala/stream"


def listener(url: str, key: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=url, headers={"authorization": f"Bearer {key}"}, timeout=PATIENCE_S, verify=False)


@pytest.fixture
async def quick(brain: Brain) -> Brain:
    """A brain with heartbeats short enough for a test."""
    server = Server(listeners=3, tuning=ServerTuning(heartbeat_s=0.05))
    brain.settings = brain.settings.model_copy(update={"server": server})
    return brain


@pytest.fixture
async def key(brain: Brain) -> str:
    return await brain.key(permissions=frozenset(Permission))


async def test_the_state_comes_first_then_what_comes(brain: Brain, key: str) -> None:
    """Also while no stream server answers."""
    await burn(brain.store, "before")
    async with served(brain.app()) as url, ear(url, key) as ada:
        state = await ada.hears_the_state()
        await burn(brain.store, "after")
        await ada.hears(2)

    assert (state.seq, [each.title for each in state.signals]) == (1, ["before"])
    (broadcast,) = [each for each in ada.heard if isinstance(each, BroadcastAnswer)]
    assert broadcast.event["type"] == "openbrain.amygdala.broadcast.v1"
    assert broadcast.event["data"]["title"] == "after"


async def test_who_comes_back_hears_what_it_missed(brain: Brain, key: str) -> None:
    """By the number in the URL, and, as browsers send it, in the header, which takes precedence."""
    await burn(brain.store, "a", "b", "c")
    async with served(brain.app()) as url:
        async with ear(url, key, 1) as ada:
            state = await ada.hears_the_state()
            await ada.hears(2, 3)
        async with listener(url, key) as client:
            told = await client.get(STREAM, params={"after": 0, "seconds": 0}, headers={"last-event-id": "2"})

    assert state.seq == 3
    assert told.headers["content-type"] == "text/event-stream"
    assert told.headers["cache-control"] == "no-store"
    assert [line for line in told.text.splitlines() if line.startswith("id:")] == ["id: 3"]
    assert told.text.startswith("retry: ")


async def test_a_number_of_a_truth_that_was_put_back_begins_anew(brain: Brain, key: str) -> None:
    await burn(brain.store, "a")
    async with served(brain.app()) as url, ear(url, key, 1000) as ada:
        state = await ada.hears_the_state()
        await burn(brain.store, "b")
        await ada.hears(2)

    assert state.seq == 1


async def test_silence_is_filled_with_heartbeats(quick: Brain, key: str) -> None:
    async with served(quick.app()) as url, ear(url, key) as ada:

        async def beats() -> bool:
            return ada.heard.count(None) >= 3

        await until(beats)


class Asked:
    """Records how many keys each query was about."""

    def __init__(self, brain: Brain) -> None:
        self._api_keys, self.keys = brain.store.api_keys, [0]

    async def open_keys(self, ids: Sequence[str], now: int) -> frozenset[str]:
        self.keys.append(len(ids))
        return await self._api_keys.open_keys(ids, now)


@pytest.mark.parametrize("end", ["revoked", "expired", "rotated", "workspace closed"])
async def test_a_key_that_ends_hears_no_more(brain: Brain, key: str, end: str) -> None:
    """Streams and polls of the process share one query per check; heartbeats are far apart here."""
    lasting: dict[str, Any] = {"expires_at": brain.clock.now() + 1_000_000} if end == "expired" else {}
    other = await brain.key("w2" if end == "workspace closed" else "w1", agent="bob", **lasting)
    operator = await brain.key("system", permissions=frozenset({Permission.ADMIN}))
    app, asked = brain.app(), Asked(brain)
    app.state.api.listening._every_s, app.state.api.listening._api_keys = 0.05, asked
    async with served(app) as url, ear(url, key) as ada, ear(url, other) as bob, ear(url, other) as again:
        for each in (ada, bob, again):
            await each.hears_the_state()
        async with listener(url, other) as client, OpenBrain(url, operator) as admin:
            poll = asyncio.ensure_future(client.get("/v1/amygdala/broadcasts?wait=30"))

            async def all_listen() -> bool:
                return bool(app.state.api.hub.listening == 4)

            await until(all_listen)
            kept = await brain.store.api_keys.keys("w2" if end == "workspace closed" else "w1")
            bobs = next(each for each in kept if each.agent_id == "bob")
            if end == "revoked":
                await brain.store.api_keys.revoke_key("w1", bobs.id)
            elif end == "rotated":
                made, _ = successor(bobs, brain.clock.now(), bobs.expires_at)
                await brain.store.api_keys.replace_key(made, "0" * 64, brain.clock.now())
            elif end == "workspace closed":
                await admin.delete_workspace("w2")
            brain.clock.advance(1_000_000)
            refused(await poll, 401)
        await bob.ends()
        await again.ends()
        await burn(brain.store, "a")
        await ada.hears(1)
    assert max(asked.keys) == 2


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
async def test_an_export_of_a_key_that_ends_is_cut(
    brain: Brain, key: str, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the cut, this export would never end."""
    async with http(brain.app(), key) as client:
        await remembered(client, "A page of this.")
    page = Export.page

    async def another(self: Export, limit: int, _: Position | None) -> Sequence[StoredMemory]:
        return [*await page(self, 1, None)] * limit

    monkeypatch.setattr(Export, "page", another)
    other, app = await brain.key("w1", agent="bob"), brain.app()
    app.state.api.listening._every_s = 0.05
    headers = {"accept-encoding": encoding}
    async with (
        served(app) as url,
        listener(url, other) as client,
        client.stream("GET", "/v1/brain/export", headers=headers) as answer,
    ):
        parts = answer.aiter_raw()
        assert await anext(parts)
        bobs = next(each for each in await brain.store.api_keys.keys("w1") if each.agent_id == "bob")
        await brain.store.api_keys.revoke_key("w1", bobs.id)
        with pytest.raises(httpx.RemoteProtocolError):
            await asyncio.wait_for(_read_on(parts), PATIENCE_S)


async def _read_on(parts: AsyncIterator[bytes]) -> None:
    async for _ in parts:
        pass


async def test_no_more_listen_than_may(quick: Brain, key: str) -> None:
    """A listener that leaves makes room, even if nothing was sent to it."""
    app = quick.app()
    async with served(app) as url:
        async with ear(url, key) as first, ear(url, key) as second, ear(url, key) as third:
            for each in (first, second, third):
                await each.hears_the_state()
            async with listener(url, key) as client:
                for path in (f"{STREAM}?seconds=5", "/v1/amygdala/broadcasts?wait=5"):
                    told = await client.get(path)
                    refused(told, 503)
                    assert told.headers["retry-after"] == "1"

        async def nobody() -> bool:
            return not app.state.api.hub.listening

        await until(nobody)


async def test_who_left_is_forgotten_before_anything_is_sent(brain: Brain, key: str) -> None:
    """Heartbeats are far apart here."""
    app = brain.app()
    async with served(app) as url:
        async with ear(url, key) as ada:
            await ada.hears_the_state()

        async def nobody() -> bool:
            return not app.state.api.hub.listening

        await until(nobody)


async def test_a_server_that_stops_ends_its_streams_at_once(brain: Brain, key: str) -> None:
    """The server does not wait for them; they reconnect and continue elsewhere."""
    async with served(brain.app(), graceful_s=PATIENCE_S) as url:
        ada = Ear(url, key)
        await ada.hears_the_state()
        client = OpenBrain(url, key)
        poll = asyncio.create_task(client.broadcasts(0, wait=30))

        async def both_listen() -> bool:
            return bool(sum(app.state.api.hub.listening for app in brain.apps) == 2)

        await until(both_listen)
    await ada.ends()
    assert (await poll).count == 0
    await ada.close()
    await client.close()


async def test_a_key_of_some_orgs_hears_those_alone(brain: Brain, key: str) -> None:
    """It receives only the numbers of other broadcasts; of a halt for everyone that it exists, not why."""
    limited = await brain.key(
        agent="bob", orgs=("alpha",), without_org=False, permissions=frozenset({Permission.BRAIN_READ})
    )
    async with served(brain.app()) as url, ear(url, limited, 0) as bob:
        await bob.hears_the_state()
        await burn(brain.store, "ours", org="alpha")
        await burn(brain.store, "secret", org="beta")
        async with OpenBrain(url, key) as admin:
            await admin.raise_signal(
                source="beta's", severity="nuclear", title="secret halt", content="secret too", org="beta"
            )
        await burn(brain.store, "secret end", org="beta")

        async def all_told() -> bool:
            return any(isinstance(each, Skipped) and each.last == 4 for each in bob.heard)

        await until(all_told)
        poll = await bob.client.broadcasts(0)
        state = await bob.client.amygdala()

    told = "".join(str(each) for each in bob.heard) + str(poll) + str(state)
    assert bob.numbers == [each.seq for each in poll.broadcasts] == [1, 3]
    assert (poll.through, poll.last) == (4, 4)
    assert "ours" in told
    assert "secret" not in told
    assert "beta" not in told
    assert state.halted


async def test_a_key_that_may_not_read_hears_nothing(brain: Brain) -> None:
    deaf = await brain.key(permissions=frozenset({Permission.SIGNAL_RAISE}))
    async with served(brain.app()) as url, OpenBrain(url, deaf) as client:
        with pytest.raises(Forbidden):
            async for _ in client.hear():
                pass


async def test_a_long_poll_is_answered_when_something_comes(brain: Brain, key: str) -> None:
    app = brain.app()
    async with served(app) as url, OpenBrain(url, key) as ada:
        poll = asyncio.create_task(ada.broadcasts(0, wait=30))

        async def waits() -> bool:
            return bool(app.state.api.hub.listening)

        await until(waits)
        await burn(brain.store, "a")
        found = await poll
        again = await ada.broadcasts(found.through)

    assert [each.event["data"]["title"] for each in found.broadcasts] == ["a"]
    assert (found.through, found.last, found.begins) == (1, 1, 0)
    assert (again.count, again.through) == (0, 1)


async def test_pages_fill_a_gap(brain: Brain, key: str) -> None:
    await burn(brain.store, *(f"s{number}" for number in range(7)))
    numbers: list[int] = []
    async with http(brain.app(), key) as client:
        while True:
            params = {"after": numbers[-1] if numbers else 0, "limit": 3}
            page = (await client.get("/v1/amygdala/broadcasts", params=params)).json()
            numbers += [each["seq"] for each in page["broadcasts"]]
            if page["through"] == page["last"]:
                break

    assert numbers == list(range(1, 8))


async def test_who_hears_counts_as_listening(brain: Brain, key: str) -> None:
    bob, app = await brain.key(agent="bob"), brain.app()
    async with served(app) as url, OpenBrain(url, key) as ada:
        async with ear(url, bob, org="acme", project="shop") as hearing:
            await hearing.hears_the_state()
            poll = asyncio.create_task(ada.broadcasts(0, wait=30))

            async def both_listen() -> bool:
                return bool(app.state.api.hub.listening == 2)

            await until(both_listen)
            await burn(brain.store, "a")
            await poll

            async def both() -> bool:
                await brain.presence()
                return (await ada.subscribers()).count == 2

            await until(both)
        found = {each.agent_id: each for each in (await ada.subscribers()).subscribers}

    assert {name: each.via for name, each in found.items()} == {"ada": "poll", "bob": "sse"}
    assert (found["bob"].org, found["bob"].project) == ("acme", "shop")
