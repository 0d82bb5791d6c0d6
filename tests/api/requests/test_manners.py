"""HTTP conventions: request ids, compression, HEAD and OPTIONS, entity tags."""

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import structlog
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from openbrain.domain import limits
from openbrain.observability import metrics
from openbrain_api.http import compression
from tests.support.api.brain import Brain, http, offer, refused, remembered

REMEMBER, BATCH = "/v1/brain/remember", "/v1/brain/remember:batch"
PACKED = {"content-type": "application/json", "content-encoding": "gzip"}


async def test_a_request_id_comes_back_or_is_made(brain: Brain) -> None:
    async with http(brain.app(), await brain.key()) as client:
        own = await client.get("/v1/brain/list", headers={"x-request-id": "job-7/retry=2"})
        made = [await client.get("/v1/brain/list") for _ in range(2)]
        bad = [
            await client.get(path, headers={"x-request-id": given})
            for path, given in (("/v1/brain/list", "two words"), ("/nowhere", "x" * 129), ("/v1/health", "\x7f"))
        ]
        failed = await client.get("/nowhere", headers={"x-request-id": "lost"})

    assert own.headers["x-request-id"] == "job-7/retry=2"
    ids = [response.headers["x-request-id"] for response in [*made, *bad]]
    assert len(set(ids)) == 5
    assert all(len(each) == 32 for each in ids)
    assert failed.headers["x-request-id"] == "lost"


async def test_what_is_logged_during_a_request_carries_its_id(brain: Brain, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("a fault that nobody foresaw")

    monkeypatch.setattr(brain.store.memories, "listing", broken)
    with structlog.testing.capture_logs(processors=[structlog.contextvars.merge_contextvars]) as logged:
        async with http(brain.app(), await brain.key()) as client:
            response = await client.get("/v1/brain/list", headers={"x-request-id": "r-1"})

    refused(response, 500)
    assert [(line["event"], line["request_id"]) for line in logged] == [("api.request_failed", "r-1")]
    assert structlog.contextvars.get_contextvars() == {}


async def test_the_span_of_a_request_carries_its_id(brain: Brain, monkeypatch: pytest.MonkeyPatch) -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    metrics.tracer.cache_clear()
    async with http(brain.app(), await brain.key()) as client:
        await client.get("/v1/brain/list", headers={"x-request-id": "r-2"})
    metrics.tracer.cache_clear()

    (span,) = [each for each in exporter.get_finished_spans() if each.name == "GET /v1/brain/list"]
    assert dict(span.attributes or {}) == {"openbrain.request_id": "r-2"}


async def test_long_answers_are_packed_where_asked(brain: Brain) -> None:
    async with http(brain.app(), await brain.key()) as client:
        await remembered(client, *(f"{number} " + "word " * 500 for number in range(5)))
        plain = await client.get("/v1/brain/list", headers={"accept-encoding": "identity"})
        packed = await client.get("/v1/brain/list", headers={"accept-encoding": "br, gzip;q=0.5"})
        never = await client.get("/v1/brain/list", headers={"accept-encoding": "gzip;q=0"})
        short = await client.get("/v1/brain/list", params={"limit": 1}, headers={"accept-encoding": "gzip"})

    assert packed.headers["content-encoding"] == "gzip"
    assert int(packed.headers["content-length"]) < len(plain.content) / 5
    assert packed.json() == plain.json() == never.json()
    assert "content-encoding" not in plain.headers.keys() | never.headers.keys() | short.headers.keys()
    assert plain.headers["vary"] == packed.headers["vary"] == "accept-encoding"


async def test_a_packed_body_is_unpacked(brain: Brain) -> None:
    body = b'{"content": "packed", "type": "fact"}'
    async with http(brain.app(), await brain.key()) as client:
        whole = await client.post(REMEMBER, content=gzip.compress(body), headers=PACKED)
        members = await client.post(REMEMBER, content=gzip.compress(body[:9]) + gzip.compress(body[9:]), headers=PACKED)
        cut = await client.post(REMEMBER, content=gzip.compress(body)[:-9], headers=PACKED)
        no_gzip = await client.post(REMEMBER, content=body, headers=PACKED)
        other = await client.post(REMEMBER, content=body, headers={**PACKED, "content-encoding": "br"})

    assert (whole.status_code, members.status_code) == (201, 200)
    assert members.json()["id"] == whole.json()["id"]
    for response in (cut, no_gzip):
        assert refused(response, 400)["error"] == "invalid_gzip"
    refused(other, 415)
    assert other.headers["accept-encoding"] == "gzip"


@pytest.mark.parametrize(("path", "limit"), [(REMEMBER, limits.ONE_BODY_BYTES), (BATCH, limits.BODY_BYTES)])
async def test_a_bomb_is_cut_at_the_limit(brain: Brain, monkeypatch: pytest.MonkeyPatch, path: str, limit: int) -> None:
    """A few bytes that would expand to a gigabyte: never more than the limit is decompressed."""
    unpacked = 0
    real = compression.decompressed

    async def counted(parts: Any) -> Any:
        nonlocal unpacked
        async for part in real(parts):
            unpacked += len(part)
            yield part

    monkeypatch.setattr("openbrain_api.http.parsing.decompressed", counted)
    packer = zlib.compressobj(9, wbits=31)
    # Compressed once: after a full flush a block is independent of the others, and may be repeated.
    first, again = (packer.compress(b"[" * 2**20) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    bomb = first + again * 1023
    async with http(brain.app(), await brain.key()) as client:
        response = await client.post(path, content=bomb, headers=PACKED)

    assert str(limit) in refused(response, 413)["message"]
    assert unpacked <= limit + compression.PART_BYTES


async def test_thousands_of_empty_gzip_members_let_others_run() -> None:
    """Each copied the rest of the body, without a pause: a megabyte stopped the API for two seconds."""
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def body() -> AsyncIterator[bytes]:
        yield gzip.compress(b"") * 50_000

    counting = asyncio.create_task(others())
    assert [part async for part in compression.decompressed(body())] == []
    counting.cancel()
    assert turns > 50


async def test_head_is_get_without_its_body(brain: Brain) -> None:
    async with http(brain.app(), await brain.key()) as client:
        (memory_id,) = await remembered(client, "head")
        for path in (f"/v1/brain/memories/{memory_id}", "/v1/brain/list", "/openapi.json", "/v1/brain/memories/none"):
            head, get = await client.head(path), await client.get(path)
            assert head.content == b""
            assert head.status_code == get.status_code
            assert head.headers["content-length"] == get.headers["content-length"]
        async with http(brain.app()) as nobody:
            assert (await nobody.head("/v1/brain/list")).status_code == 401


async def test_options_tells_what_a_path_takes(brain: Brain) -> None:
    async with http(brain.app()) as client:
        memory = await client.options("/v1/brain/memories/x")
        recall = await client.options("/v1/brain/recall")
        nowhere = await client.options("/v1/brain/nowhere")

    assert (memory.status_code, memory.content, recall.status_code) == (204, b"", 204)
    assert {"GET", "HEAD", "OPTIONS", "PATCH"} <= set(memory.headers["allow"].split(", "))
    assert recall.headers["allow"] == "OPTIONS, POST"
    assert nowhere.status_code == 404


async def etag(client: httpx.AsyncClient, memory_id: str) -> str:
    return (await client.get(f"/v1/brain/memories/{memory_id}")).headers["etag"]


async def test_a_memory_that_has_not_changed_is_not_sent_again(brain: Brain) -> None:
    async with http(brain.app(), await brain.key()) as client:
        (memory_id,) = await remembered(client, "seen before")
        path = f"/v1/brain/memories/{memory_id}"
        first = await client.get(path)
        tag = first.headers["etag"]
        same = [
            await client.get(path, headers={"if-none-match": given}) for given in (tag, f"W/{tag}", f'"x", {tag}', "*")
        ]
        longer = await client.get(path, params={"history": 1}, headers={"if-none-match": tag})
        await brain.settle()
        indexed = await client.get(path, headers={"if-none-match": tag})
        head = await client.head(path, headers={"if-none-match": indexed.headers["etag"]})

    assert [(each.status_code, each.content, each.headers["etag"]) for each in same] == [(304, b"", tag)] * 4
    assert "content-type" not in same[0].headers
    assert (longer.status_code, indexed.status_code, indexed.json()["indexed"], head.status_code) == (
        200,
        200,
        True,
        304,
    )
    assert first.headers["cache-control"] == "no-store"


async def test_a_packed_answer_has_a_tag_of_its_own_that_does_as_well(brain: Brain) -> None:
    plain, packs = {"accept-encoding": "identity"}, {"accept-encoding": "gzip"}
    async with http(brain.app(), await brain.key()) as client:
        (memory_id,) = await remembered(client, "word " * 2000)
        path = f"/v1/brain/memories/{memory_id}"
        whole, packed = await client.get(path, headers=plain), await client.get(path, headers=packs)
        tag, other = whole.headers["etag"], packed.headers["etag"]
        as_it_was = [
            await client.get(path, headers={**takes, "if-none-match": given})
            for takes, given in ((plain, tag), (packs, tag), (packs, other), (packs, f'"x", W/{other}'), (plain, "*"))
        ]
        can_t_read = await client.get(path, headers={**plain, "if-none-match": other})
        changed = await client.patch(path, json={"tags": ["a"]}, headers={**packs, "if-match": other})
        late = await client.patch(path, json={"tags": ["b"]}, headers={"if-match": other})
        again = await client.patch(path, json={"tags": ["b"]}, headers={"if-match": changed.headers["etag"]})

    assert packed.headers["content-encoding"] == changed.headers["content-encoding"] == "gzip"
    assert other == f'{tag[:-1]}-gzip"'
    assert changed.headers["etag"].endswith('-gzip"')
    assert [(each.status_code, each.headers["etag"]) for each in as_it_was] == [
        *[(304, tag)] * 2,
        *[(304, other)] * 2,
        (304, tag),
    ]
    assert {each.headers["vary"] for each in (whole, packed, *as_it_was, changed)} == {"accept-encoding"}
    assert (can_t_read.status_code, can_t_read.headers["etag"]) == (200, tag), "it holds bytes that it does not take"
    assert (changed.status_code, late.status_code, again.status_code) == (200, 412, 200)


async def test_a_change_of_what_was_changed_meanwhile_is_refused(brain: Brain) -> None:
    async with http(brain.app(), await brain.key()) as client:
        (memory_id,) = await remembered(client, "first")
        path = f"/v1/brain/memories/{memory_id}"
        seen = await etag(client, memory_id)
        await brain.settle()  # indexing is not a change: the tag remains valid
        changed = await client.patch(path, json={"tags": ["a"]}, headers={"if-match": seen})
        late = await client.patch(path, json={"tags": ["b"]}, headers={"if-match": seen})
        late_end = await client.delete(f"/v1/brain/forget/{memory_id}", headers={"if-match": seen})
        any_of = {"if-match": f"{seen}, {changed.headers['etag']}"}
        ended = await client.delete(f"/v1/brain/forget/{memory_id}", headers=any_of)
        early = await client.post(f"{path}:restore", headers={"if-match": changed.headers["etag"]})
        restored = await client.post(f"{path}:restore", headers={"if-match": ended.headers["etag"]})
        whatever = await client.patch(path, json={"tags": ["c"]}, headers={"if-match": "*"})
        unreadable = await client.patch(path, json={"tags": ["d"]}, headers={"if-match": "3"})
        unknown = await client.patch(path[:-4] + "0000", json={"tags": ["d"]}, headers={"if-match": seen})

    assert (changed.status_code, ended.status_code, restored.status_code) == (200, 200, 200)
    for response in (late, late_end, early):
        assert refused(response, 412)["error"] == "precondition_failed"
    assert whatever.json()["tags"] == ["c"]
    refused(unreadable, 422, "If-Match")
    refused(unknown, 404)


async def test_writes_wait_by_themselves_where_the_setting_says_so(brain: Brain) -> None:
    """BRAIN_ASYNC_EMBED=false: the database commits first, and an answer without the header waits for the indexes."""
    server = brain.settings.server.model_copy(update={"wait_s": 20})
    app = brain.app(settings=brain.settings.model_copy(update={"server": server}))
    async with http(app, await brain.key()) as client:
        at_once = await client.post(REMEMBER, json=offer("a"), headers={"prefer": "respond-async"})
        none = await client.post(REMEMBER, json=offer("b"), headers={"prefer": "wait=0"})
        async with brain.services():
            one = await client.post(REMEMBER, json=offer("c"))
            many = await client.post(BATCH, json={"memories": [offer("d"), offer("e")]})

    assert (at_once.json()["indexed"], none.json()["indexed"]) == (False, False)
    assert one.json()["indexed"]
    assert [each["indexed"] for each in many.json()["results"]] == [True, True]
    assert "preference-applied" not in one.headers.keys() | at_once.headers.keys()
