"""No log, metric, span or process title, and no dead letter's reason, contains what passes through the running
pipeline: streams, tools, operations, and a stream server that goes away."""

import contextlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import orjson
import pytest
from anyio import connect_tcp
from redis.asyncio import Redis
from redis.exceptions import RedisError

from openbrain.domain.events.envelope import FIELD
from openbrain.domain.events.streams import STORED, SUBMITTED
from openbrain.settings import Settings, Streams
from openbrain.settings.tuning import StreamTuning
from openbrain_cli.system.embedded.pipeline import running
from tests.flow.conftest import Brain
from tests.support.api.routes.marked_requests import well_formed
from tests.support.api.served import served
from tests.support.processes.overhearing import Ear, Marks, listening
from tests.support.streams.fuzz import changed, event, submission
from tests.support.waiting import until

pytestmark = pytest.mark.timeout(300)
RPC = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


@pytest.fixture
def ear(capfd: pytest.CaptureFixture[str]) -> Iterator[Ear]:
    with listening(lambda: "".join(capfd.readouterr())) as heard:
        yield heard


@pytest.fixture
async def heard(ear: Ear, tmp_path: Path) -> AsyncIterator[Brain]:
    """Behind a real HTTP server, with short pauses; failing entries are tried to the end, however many fail."""
    streams = Streams(
        backoff_s=(0.05, 0.05),
        tuning=StreamTuning(poll_s=0.1, reap_s=0.05, breaker_s=0.05, reconnect_max_s=0.2, failing_share=1),
    )
    async with running(Settings(data_dir=tmp_path / "data", streams=streams)) as system, served(system.api()) as url:
        ear.secret = system.key_file.read_text(encoding="utf-8").strip()
        headers = {"Authorization": f"Bearer {ear.secret}"}
        async with (
            httpx.AsyncClient(base_url=url, headers=headers) as http,
            Redis.from_url(system.container.settings.streams.url) as redis,
        ):
            yield Brain(system, http, redis)


def nothing_told(ear: Ear, **more: str) -> None:
    told = {**ear.told(), **more}
    assert ear.marks.found(told) == []
    assert [source for source, text in told.items() if ear.secret and ear.secret in text] == []


async def reasons(redis: Redis) -> str:
    """The reasons stored with dead letters and parked entries."""
    found = []
    keys: Any = await redis.keys("*")
    for key in keys:
        if key.endswith(b".dead"):
            entries: Any = await redis.xrange(key)
            found += [fields[name] for _, fields in entries for name in (b"error", b"message")]
        elif key.endswith(b".retries"):
            found += list((await redis.hgetall(key)).values())
    return b"\n".join(found).decode(errors="replace")


async def put(brain: Brain, stream: str, body: bytes) -> None:
    await brain.redis.xadd(stream, {FIELD: body})


async def test_submissions_that_nobody_can_take(heard: Brain, ear: Ear) -> None:
    marks = ear.marks
    for name in submission():
        for value in (marks(name), [marks(name)], {marks(f"{name} key"): marks(name)}, marks(name) + "\0"):
            body = event(SUBMITTED.name, {**submission(marks("content")), name: value}, marks("event id"))
            await put(heard, SUBMITTED.name, orjson.dumps(body))
    for name in event(SUBMITTED.name, {}, ""):
        for wrong in (marks(name), [marks(name)], {marks(name): 1}):
            body = {**event(SUBMITTED.name, submission(marks("content")), marks("event id")), name: wrong}
            await put(heard, SUBMITTED.name, orjson.dumps(body))
    for raw in (b"{" + marks("raw").encode(), b"\xff" + marks("raw").encode(), b'"%s"' % marks("raw").encode()):
        await put(heard, SUBMITTED.name, raw)
    await heard.redis.xadd(SUBMITTED.name, {marks("field"): marks("value")})
    for name in changed(""):
        body = event(STORED.name, {**changed(marks("memory_id")), name: [marks(name)]}, marks("event id"))
        await put(heard, STORED.name, orjson.dumps(body))
    await heard.settled()

    told = await reasons(heard.redis)
    nothing_told(ear, reasons=told, valkey=_file(heard, "streams/valkey.log"))
    assert "streams.entry_dead" in ear.events()
    assert told.count("Invalid") > 50


async def test_rooms_that_fail_with_words_that_quote(heard: Brain, ear: Ear, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unexpected fault in each service; then an operation that fails."""

    async def quoting(*given: Any, **named: Any) -> Any:
        raise RuntimeError(f"{given} {named}")

    for part, call in (("text", "write"), ("embedder", "embed"), ("vectors", "write")):
        monkeypatch.setattr(getattr(heard.container, part), call, quoting)
    marks = ear.marks
    ids = [
        await heard.remember(marks("content"), tags=[marks("tag")], metadata={marks("key"): marks("value")}, org="o")
        for _ in range(5)
    ]
    await heard.settled()
    monkeypatch.undo()
    monkeypatch.setattr(heard.container.store, "scrub", quoting)
    erased = await heard.http.request("DELETE", f"/v1/brain/memories/{ids[0]}", params={"erase": 1})
    operation = f"/v1/admin/operations/{erased.json()['operation_id']}"

    async def waits() -> bool:
        return "waits_for" in (await heard.http.get(operation)).json()["result"]

    await until(waits)
    told = (await heard.http.get(operation)).text

    nothing_told(ear, reasons=await reasons(heard.redis), operation=told)
    assert {"streams.entry_parked", "streams.entry_dead", "operation.waits"} <= ear.events()


async def test_tools_and_broken_http(heard: Brain, ear: Ear) -> None:
    marks = ear.marks
    await heard.remember(marks("content"))
    calls: list[Any] = [
        {"name": marks("tool"), "arguments": {"content": marks("argument")}},
        {"name": "brain_remember", "arguments": {"content": marks("content"), "type": marks("type")}},
        {"name": "brain_remember", "arguments": {"content": marks("content"), "type": "fact", "tags": [marks("tag")]}},
        {"name": "brain_remember", "arguments": {"content": [marks("content")], marks("unknown"): marks("value")}},
        {"name": "brain_recall", "arguments": {"query": marks("query"), "filter": {"org": marks("org")}}},
        {"name": "brain_recall", "arguments": {"query": {marks("query"): 1}}},
        {"name": "brain_forget", "arguments": {"id": marks("id"), "memory_id": marks("id"), "reason": marks("reason")}},
        {"name": "brain_list", "arguments": {"project": marks("project"), "limit": marks("limit")}},
        [marks("no parameters")],
        marks("no parameters"),
    ]
    bodies = [
        *({"jsonrpc": "2.0", "id": marks("rpc id"), "method": "tools/call", "params": call} for call in calls),
        {"jsonrpc": "2.0", "id": 1, "method": marks("method"), "params": {marks("name"): marks("value")}},
        {"jsonrpc": marks("version"), "method": "tools/list"},
        {"jsonrpc": "2.0", "method": f"notifications/{marks('note')}", "params": {"reason": marks("reason")}},
        marks("no object"),
    ]
    for body in bodies:
        await heard.http.post("/mcp", content=orjson.dumps(body), headers=RPC)
    await heard.http.post("/mcp", content=b"{" + marks("raw").encode(), headers=RPC)
    for name in ("mcp-session-id", "mcp-protocol-version", "last-event-id", "origin", "mcp-method", "mcp-name"):
        await heard.http.post("/mcp", json=bodies[2], headers={**RPC, name: marks(name)})
    for raw in ("GET /%s HTTP/9.9\r\n\r\n", "%s\r\n\r\n", "GET / HTTP/1.1\r\nhost: x\r\n%s\r\n\r\n", "\0%s\r\n\r\n"):
        await _raw(heard, raw % marks("broken http"))

    nothing_told(ear)
    assert "POST /v1/brain/remember" in ear.spans()


async def test_while_the_stream_server_is_away(heard: Brain, ear: Ear) -> None:
    with contextlib.suppress(RedisError):
        await heard.redis.shutdown(nosave=True)
    for request in well_formed(ear.marks, {}):
        await heard.http.request(
            request.method, request.path, content=request.content, params=request.params, headers=dict(request.headers)
        )

    async def told() -> bool:
        return "streams.redis_trouble" in ear.events()

    await until(told)
    nothing_told(ear)


async def _raw(brain: Brain, text: str) -> None:
    url = urlsplit(str(brain.http.base_url))
    async with await connect_tcp(str(url.hostname), int(url.port or 0)) as stream:
        await stream.send(text.encode())
        with contextlib.suppress(Exception):
            await stream.receive()


def _file(brain: Brain, name: str) -> str:
    return (brain.container.settings.data_dir / name).read_text(encoding="utf-8", errors="replace")


def test_marks_are_found_in_any_source() -> None:
    marks = Marks()
    word = marks("somewhere")

    assert len(marks.found({"a": f"x{word.upper()}y", "b": "nothing"})) == 1
