"""Writes while the brain is unreachable: kept on this machine, delivered later, once."""

import asyncio
import contextlib
import stat
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from openbrain.client import OpenBrain, outbox_wire
from openbrain.client.breaker import Breaker
from openbrain.client.outbox import FAILURES, Kept, Outbox, Write
from openbrain.client.outbox_wire import OutboxWire
from openbrain.domain.errors import Invalid, NotFound, SetupError, TryLater
from openbrain.domain.memory import MICROSECONDS
from tests.mcp.support import on, text
from tests.support.api.brain import Brain
from tests.support.waiting import PATIENCE_S


class Cut(httpx.AsyncBaseTransport):
    """The connection to the server: open, lost before a request, or lost before its answer."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._inner = inner
        self.state = "open"

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if self.state == "gone":
            raise httpx.ConnectError("gone")
        if self.state == "page" and request.method != "GET":
            return httpx.Response(200, content=b"<html>one moment</html>")
        if self.state == "portal":
            return httpx.Response(404, content=b"<html>who are you?</html>")
        if self.state == "broken":
            return httpx.Response(500, content=b"<html>Internal Server Error</html>")
        if self.state == "faulty" and b"poison" in request.content:
            return httpx.Response(500, json={"error": "service_error", "message": "an error of our own"})
        answer = await self._inner.handle_async_request(request)
        if self.state == "answer lost":
            await answer.aread()
            raise httpx.ReadError("lost")
        return answer


@contextlib.asynccontextmanager
async def cut_off(brain: Brain, path: Path, key: str) -> AsyncIterator[tuple[OpenBrain, Cut]]:
    cut = Cut(httpx.ASGITransport(brain.app()))
    async with OpenBrain("http://brain", key, transport=cut, attempts=1, outbox=Outbox(path)) as client:
        yield client, cut


def counts(path: Path) -> tuple[int, int]:
    """The numbers of waiting and of refused writes."""
    with contextlib.closing(Outbox(path)) as outbox:
        return outbox.waiting(), outbox.refused()


async def test_each_write_is_stored_once_however_it_was_cut_off(brain: Brain, tmp_path: Path) -> None:
    key, file = await brain.key(), tmp_path / "outbox" / "a.sqlite3"
    sent, stored = [f"fact {number}" for number in range(8)], []
    async with cut_off(brain, file, key) as (client, cut):
        for state, content in zip(["open", "answer lost", "gone", "open"] * 2, sent, strict=True):
            cut.state = state
            with contextlib.suppress(Kept):
                stored.append((await client.remember({"content": content, "type": "fact"})).content)
        with pytest.raises(Kept, match="do not repeat it"):
            await client.update("0198f3a2-5c1e-7b6d-9a55-0d4c3b2a1f00", tags=["x"])
        assert (await client.recall("facts")).count >= 0  # reads are answered
        assert [stat.S_IMODE(each.stat().st_mode) & 0o077 for each in (file, file.parent)] == [0, 0]
    assert stored == sent[:1]

    async with cut_off(brain, file, key) as (again, cut):
        delivering = asyncio.create_task(again.delivering())
        async with asyncio.timeout(PATIENCE_S):
            while counts(file)[0]:
                await asyncio.sleep(0.01)
        delivering.cancel()
        listed = await again.memories(limit=50)

    assert sorted(memory.content for memory in listed.memories) == sent
    assert counts(file) == (0, 1)  # there was no such memory to change


async def test_what_the_server_answers_is_told_and_not_kept(brain: Brain, tmp_path: Path) -> None:
    file = tmp_path / "outbox.sqlite3"
    async with cut_off(brain, file, await brain.key()) as (client, _):
        with pytest.raises(NotFound):
            await client.forget("0198f3a2-5c1e-7b6d-9a55-0d4c3b2a1f00")
    async with cut_off(brain, file, "ob_" + "x" * 43) as (stranger, cut):
        cut.state = "gone"
        with pytest.raises(Kept):
            await stranger.remember({"content": "x", "type": "fact"})
        with pytest.raises(TryLater) as caught:
            await stranger.recall("x")
        cut.state = "open"
        await asyncio.wait([asyncio.create_task(stranger.delivering())], timeout=0.2)
    assert not isinstance(caught.value, Kept)
    assert counts(file) == (1, 0)  # nothing is delivered without the right key


async def test_a_key_that_was_rotated_is_told_and_its_successor_delivers(brain: Brain, tmp_path: Path) -> None:
    file, old = tmp_path / "o.sqlite3", await brain.key()
    async with cut_off(brain, file, old) as (client, _):
        wire = client._wire
        assert isinstance(wire, OutboxWire)
        assert await wire.identify()
        await client.remember({"content": "before", "type": "fact"})
        whose = (await brain.store.api_keys.keys("w1", 1))[0]
        await brain.store.api_keys.revoke_key("w1", whose.id)
        brain.clock.advance(60 * MICROSECONDS)
        with pytest.raises(Kept, match=r"the key is no longer accepted: replace it with its successor"):
            await client.remember({"content": "while the key was no more", "type": "fact"})
        assert not await wire.deliver()
    kept, _ = counts(file)
    async with cut_off(brain, file, await brain.key()) as (client, _):
        wire = client._wire
        assert isinstance(wire, OutboxWire)
        assert await wire.deliver()
        contents = [memory.content for memory in (await client.memories()).memories]

    assert kept == 1
    assert sorted(contents) == ["before", "while the key was no more"]


async def test_a_key_of_another_workspace_is_never_sent_what_waits(brain: Brain, tmp_path: Path) -> None:
    file = tmp_path / "o.sqlite3"
    async with cut_off(brain, file, await brain.key()) as (client, cut):
        wire = client._wire
        assert isinstance(wire, OutboxWire)
        assert await wire.identify()
        cut.state = "gone"
        with pytest.raises(Kept):
            await client.remember({"content": "of the first workspace", "type": "fact"})
    async with cut_off(brain, file, await brain.key("w2")) as (stranger, _):
        wire = stranger._wire
        assert isinstance(wire, OutboxWire)
        assert await wire.deliver()
        assert (await stranger.memories()).count == 0
    assert counts(file) == (0, 1)


async def test_writes_of_two_keys_never_wait_in_one_file(brain: Brain, tmp_path: Path) -> None:
    file, first, second = tmp_path / "o.sqlite3", await brain.key(), await brain.key("w2")
    async with cut_off(brain, file, first) as (client, cut):
        cut.state = "gone"
        with pytest.raises(Kept):
            await client.remember({"content": "of the first workspace", "type": "fact"})
        async with cut_off(brain, file, second) as (stranger, strangers_cut):
            strangers_cut.state = "gone"
            with pytest.raises(TryLater, match="holds unsent writes of another key") as caught:
                await stranger.remember({"content": "of the second workspace", "type": "fact"})
        assert not isinstance(caught.value, Kept)
        cut.state = "open"
        wire = client._wire
        assert isinstance(wire, OutboxWire)
        assert await wire.deliver()
        assert [memory.content for memory in (await client.memories()).memories] == ["of the first workspace"]
        cut.state = "gone"
        with pytest.raises(Kept):
            await client.remember({"content": "of the first workspace too", "type": "fact"})
        async with cut_off(brain, file, second) as (stranger, _):
            with pytest.raises(Kept):
                await stranger.remember({"content": "of the second workspace", "type": "fact"})
            cut.state = "open"
            assert counts(file) == (1, 1)
            wire = stranger._wire
            assert isinstance(wire, OutboxWire)
            assert await wire.deliver()
            assert [memory.content for memory in (await stranger.memories()).memories] == ["of the second workspace"]


async def test_what_can_not_be_sent_is_not_kept_and_holds_nothing_up(brain: Brain, tmp_path: Path) -> None:
    file = tmp_path / "o.sqlite3"
    async with cut_off(brain, file, await brain.key()) as (client, cut):
        cut.state = "gone"
        with pytest.raises(Kept):
            await client.remember({"content": "first", "type": "fact"})
        for content, key in (("\ud800", ""), ("x", "two\nlines"), ("x", "\ud800")):
            with pytest.raises(Invalid):
                await client.remember({"content": content, "type": "fact"}, idempotency_key=key)
        with pytest.raises(Invalid, match="too long"):
            await client.forget("x" * 70_000)
        with pytest.raises(Kept):
            await client.remember(
                {"content": "last", "type": "fact", "expires_at": datetime(2100, 1, 1, tzinfo=UTC)},
                idempotency_key="schlüssel",
            )
        cut.state = "open"
        wire = client._wire
        assert isinstance(wire, OutboxWire)
        assert await wire.deliver()
        listed = (await client.memories()).memories

    assert sorted(memory.content for memory in listed) == ["first", "last"]
    assert counts(file) == (0, 0)


async def test_items_of_a_kept_batch_that_are_refused_are_told(brain: Brain, tmp_path: Path) -> None:
    file = tmp_path / "o.sqlite3"
    good, bad = {"content": "good", "type": "fact"}, {"content": "bad", "type": "no type"}
    async with cut_off(brain, file, await brain.key()) as (client, cut):
        cut.state = "gone"
        for batch in ([good, bad], [good, good]):
            with pytest.raises(Kept):
                await client.remember_batch(batch)
        cut.state = "open"
        wire = client._wire
        assert isinstance(wire, OutboxWire)
        assert await wire.deliver()
        listed = (await client.memories()).memories

    assert [memory.content for memory in listed] == ["good"]
    assert counts(file) == (0, 1)
    with contextlib.closing(Outbox(file)) as outbox:
        assert outbox.last_refusal().startswith("1 of 2 were refused, the first because of this: ")


async def test_what_another_process_left_is_sent(brain: Brain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two sessions that share a file, the one that kept a write ends before the brain answers again."""
    monkeypatch.setattr(outbox_wire, "LOOK_S", 0.01)
    file, key = tmp_path / "o.sqlite3", await brain.key()
    async with cut_off(brain, file, key) as (client, _):
        delivering = asyncio.create_task(client.delivering())
        async with cut_off(brain, file, key) as (other, cut):
            cut.state = "gone"
            with pytest.raises(Kept):
                await other.remember({"content": "x", "type": "fact"})
        async with asyncio.timeout(PATIENCE_S):
            while counts(file)[0]:
                await asyncio.sleep(0.01)
        delivering.cancel()
        listed = (await client.memories()).memories

    assert [memory.content for memory in listed] == ["x"]


async def test_writes_wait_while_something_else_answers_at_the_address(brain: Brain, tmp_path: Path) -> None:
    file = tmp_path / "o.sqlite3"
    async with cut_off(brain, file, await brain.key()) as (client, cut):
        wire = client._wire
        assert isinstance(wire, OutboxWire)
        assert await wire.identify()
        cut.state = "gone"
        with pytest.raises(Kept):
            await client.remember({"content": "x", "type": "fact"})
        cut.state = "portal"
        assert not await wire.deliver()
        assert counts(file) == (1, 0)
        cut.state = "open"
        assert await wire.deliver()


async def test_a_write_that_is_answered_with_a_page_is_sent_again(brain: Brain, tmp_path: Path) -> None:
    """Of a proxy that answers some requests itself. If it always does, later writes are sent in the end."""
    file = tmp_path / "o.sqlite3"
    async with cut_off(brain, file, await brain.key()) as (client, cut):
        wire = client._wire
        assert isinstance(wire, OutboxWire)
        for content in ("first", "second"):
            cut.state = "gone"
            with pytest.raises(Kept):
                await client.remember({"content": content, "type": "fact"})
        cut.state = "page"
        assert not await wire.deliver()
        assert counts(file) == (2, 0)
        cut.state = "open"
        assert await wire.deliver()
        cut.state = "gone"
        with pytest.raises(Kept):
            await client.remember({"content": "third", "type": "fact"})
        cut.state = "page"
        assert [await wire.deliver() for _ in range(FAILURES)] == [False] * (FAILURES - 1) + [True]
        listed = await client.memories()

    assert {memory.content for memory in listed.memories} == {"first", "second"}
    assert counts(file) == (0, 1)


@pytest.mark.parametrize("body", [{"content": "a\x1b[31mred"}, {"content": "a", "tags": ["b\x00"]}])
async def test_what_the_brain_would_refuse_for_its_characters_is_not_kept(
    brain: Brain, tmp_path: Path, body: dict[str, object]
) -> None:
    file = tmp_path / "o.sqlite3"
    async with cut_off(brain, file, await brain.key()) as (client, cut):
        with pytest.raises(Invalid, match="control characters"):
            await client.remember({"type": "fact", **body})
        cut.state = "gone"
        with pytest.raises(Invalid, match="control characters"):
            await client.remember({"type": "fact", **body})
        with pytest.raises(Kept):
            await client.capture("a\x1b[31mred")
        cut.state = "open"
        wire = client._wire
        assert isinstance(wire, OutboxWire)
        assert await wire.deliver()

    assert counts(file) == (0, 0)


async def test_a_file_that_can_not_be_used_is_named_and_tried_again(brain: Brain, tmp_path: Path) -> None:
    file, aside = tmp_path / "outbox" / "o.sqlite3", tmp_path / "aside"
    async with cut_off(brain, file, await brain.key()) as (client, cut):
        cut.state = "gone"
        file.parent.write_text("no folder")
        with pytest.raises(SetupError, match=r"o\.sqlite3 can't be used \(.*exists.*\): look at its folder"):
            await client.remember({"content": "x", "type": "fact"})
        file.parent.rename(aside)
        with pytest.raises(Kept):
            await client.remember({"content": "x", "type": "fact"})
        cut.state = "open"
        wire = client._wire
        assert isinstance(wire, OutboxWire)
        lock = file.with_suffix(".lock")
        lock.mkdir()
        assert not await wire.deliver()
        lock.rmdir()
        assert await wire.deliver()


async def test_no_write_is_set_aside_while_everything_fails(brain: Brain, tmp_path: Path) -> None:
    """As behind a proxy that answers 500 for an hour."""
    file = tmp_path / "o.sqlite3"
    async with cut_off(brain, file, await brain.key()) as (client, cut):
        wire = client._wire
        assert isinstance(wire, OutboxWire)
        wire._breaker = Breaker(0, 0)
        assert await wire.identify()
        cut.state = "gone"
        with pytest.raises(Kept):
            await client.remember({"content": "x", "type": "fact"})
        cut.state = "broken"
        assert [await wire.deliver() for _ in range(FAILURES + 1)] == [False] * (FAILURES + 1)
        assert counts(file) == (1, 0)
        cut.state = "open"
        assert await wire.deliver()

    assert counts(file) == (0, 0)


async def test_a_write_at_which_the_server_fails_does_not_hold_up_the_others(brain: Brain, tmp_path: Path) -> None:
    file = tmp_path / "o.sqlite3"
    async with cut_off(brain, file, await brain.key()) as (client, cut):
        cut.state = "gone"
        for content in ("poison", "good"):
            with pytest.raises(Kept):
                await client.remember({"content": content, "type": "fact"})
        cut.state = "faulty"
        wire = client._wire
        assert isinstance(wire, OutboxWire)
        wire._breaker = Breaker(0, 0)
        delivered = [await wire.deliver() for _ in range(FAILURES)]
        listed = await client.memories()

    assert delivered == [False] * (FAILURES - 1) + [True]
    assert [memory.content for memory in listed.memories] == ["good"]
    assert counts(file) == (0, 1)


def test_an_outbox_has_an_end_and_one_deliverer(tmp_path: Path) -> None:
    with contextlib.ExitStack() as stack:
        boxes = [stack.enter_context(contextlib.closing(Outbox(tmp_path / "o.sqlite3", most=2))) for _ in range(2)]
        for number in range(2):
            boxes[number].keep(Write("POST", "/v1/brain/remember", {"content": str(number)}))
        with pytest.raises(TryLater, match="2 unsent writes are already in"):
            boxes[0].keep(Write("POST", "/v1/brain/remember"))
        with boxes[0].delivering() as first, boxes[1].delivering() as second:
            assert (first, second) == (True, False)
    kept = Write("POST", "/v1/brain/remember").keyed()
    assert kept.headers["idempotency-key"] == kept.keyed().headers["idempotency-key"]


async def test_a_tool_says_that_a_write_waits(brain: Brain, tmp_path: Path) -> None:
    async with cut_off(brain, tmp_path / "o.sqlite3", await brain.key()) as (asked, cut), on(asked) as client:
        cut.state = "gone"
        kept = await client.call_tool("brain_remember", {"content": "x", "type": "fact"})
        asking = await client.call_tool("brain_recall", {"query": "x"})

    assert not kept.is_error
    assert kept.structured_content == {"success": True, "pending": True}
    assert text(kept).startswith("Stored on this machine and sent once")
    assert asking.is_error
