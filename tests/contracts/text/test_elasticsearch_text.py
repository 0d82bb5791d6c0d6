"""What is specific to Elasticsearch: mappings, aliases, blocks, forgotten deletes, and a server that goes away."""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, TypeVar

import pytest
import structlog
from elasticsearch import AsyncElasticsearch

from openbrain.adapters.elasticsearch.connection import COMMON_MAPPING
from openbrain.adapters.elasticsearch.text import BUILDER, ElasticsearchText, plain_names
from openbrain.adapters.tantivy.documents import english, spaced
from openbrain.domain.errors import NeverRetry, SetupError, TryLater
from tests.servers.processes.process import Server, ServerProcess
from tests.support.indexes.ended_tests import delete_later
from tests.support.indexes.entries import EVERYTHING, memory, new_id, text_entry, tombstone
from tests.support.waiting import PATIENCE_S

NAME = "first"
T = TypeVar("T")
NOBODY_LISTENS = "http://127.0.0.1:1"


@dataclass
class Place:
    """A server, and the names that only this test uses."""

    url: str
    prefix: str
    raw: AsyncElasticsearch

    @property
    def index(self) -> str:
        return f"{self.prefix}-text-{NAME}"

    def open(self, refresh_ms: int = 20) -> ElasticsearchText:
        return ElasticsearchText(self.url, self.prefix, refresh_ms, verify_tls=True, timeout_s=60)


@pytest.fixture
async def place(elasticsearch_server: Server) -> AsyncIterator[Place]:
    url, prefix = elasticsearch_server.url, f"test{uuid.uuid4().hex[:12]}"
    async with AsyncElasticsearch(url, request_timeout=PATIENCE_S) as raw:
        yield Place(url, prefix, raw)
    delete_later(url, prefix)


@pytest.fixture
async def text(place: Place) -> AsyncIterator[ElasticsearchText]:
    text = place.open()
    await text.prepare(NAME)
    yield text
    await text.close()


@pytest.mark.parametrize(
    "words",
    [
        "Run `openbrain reindex --text`; config.yaml and redis.asyncio.Redis are read from ~/.openbrain (v1.12.3).",
        "They don't agree: it's Alice's, isn't it? We've 3.5 million of O'Neill's e-mails to me@example.org!",
        "naïve café, Zürich, straße, Ωmega, привет_мир, ½ of 20½, Ⅷ, \uff11\uff12, a\u0301 b\u200dc",
        "日本語テキスト and 漢字kana mixed, ไทยภาษา, 한국어 문장, 😀great😀",
        "running flies generously, dying skies, news, agreement, hopping, skis",
        f"{'x' * 254} {'y' * 255} end",
    ],
)
async def test_texts_have_the_words_of_the_embedded_index(place: Place, text: ElasticsearchText, words: str) -> None:
    with structlog.testing.capture_logs() as logs:
        await text.prepare(NAME)
    assert not logs
    answer = await place.raw.indices.analyze(index=place.index, analyzer="english", text=words)

    assert [token["token"] for token in answer["tokens"]] == english().analyze(spaced(words))


async def found(text: ElasticsearchText, query: str) -> list[str]:
    return [hit.memory_id for hit in await text.search(NAME, query, EVERYTHING, 10)]


async def test_every_field_is_mapped_and_no_other_is_taken(place: Place, text: ElasticsearchText) -> None:
    mapping = (await place.raw.indices.get_mapping(index=place.index)).body[place.index]["mappings"]

    kinds = {name: each["type"] for name, each in mapping["properties"].items()}
    assert mapping["dynamic"] == "strict"
    assert kinds.pop("text") == "text"
    assert kinds.pop("passages") == "nested"
    assert mapping["properties"]["text"]["analyzer"] == "english"
    assert kinds.pop("metadata") == "flattened"
    assert kinds.pop("confidence") == "double"
    assert kinds.pop("tombstone") == "boolean"
    assert {kinds.pop(name) for name in ("occurred_at", "expires_at", "removed_at", "revision", "digest")} == {"long"}
    assert kinds.pop("bucket") == "integer"
    assert kinds.pop("created_at") == "date"
    assert {"source", "session_id", "workspace_id", "tags", "audience"} < kinds.keys()
    assert set(kinds.values()) == {"keyword"}


async def test_metadata_can_be_asked_for_by_who_reads_the_index(place: Place, text: ElasticsearchText) -> None:
    row = memory()
    await text.write(NAME, [text_entry(row, "ferry", metadata={"ticket": {"number": 7, "paid": True}})])

    answer = await place.raw.search(index=place.index, query={"term": {"metadata.ticket.number": "7"}})

    assert [hit["_id"] for hit in answer["hits"]["hits"]] == [row.id]


async def test_the_alias_stands_from_the_first_day_and_stays(place: Place, text: ElasticsearchText) -> None:
    await text.prepare("next")

    alias = await place.raw.indices.get_alias(name=f"{place.prefix}-text")

    assert list(alias.body) == [place.index]


async def test_a_plain_name_stands_for_it_too_unless_another_has_it(place: Place) -> None:
    taken = f"{place.prefix}x"
    await place.raw.indices.create(index=taken)
    for prefix in (place.prefix, taken):
        text = ElasticsearchText(place.url, prefix, 20, verify_tls=True, timeout_s=60)
        await text.prepare(NAME)
        await text.expose(NAME)
        await text.close()

    assert list((await place.raw.indices.get_alias(name=place.prefix)).body) == [place.index]
    assert list((await place.raw.indices.get(index=taken)).body) == [taken]


def test_the_names_that_others_read() -> None:
    assert plain_names("openbrain") == ("openbrain", "brain_memories")
    assert plain_names("ours") == ("ours",)


async def test_an_index_made_with_other_words_is_used_as_it_is(place: Place) -> None:
    properties = {**COMMON_MAPPING, **ElasticsearchText.fields}
    mappings = {"dynamic": "strict", "_meta": {"builder": BUILDER}, "properties": properties}
    await place.raw.indices.create(index=place.index, mappings=mappings)
    text, row = place.open(), memory()
    with structlog.testing.capture_logs() as logs:
        await text.prepare(NAME)
    assert await text.write(NAME, [text_entry(row, "it is in config.yaml")]) == {}

    assert [log["event"] for log in logs] == ["elasticsearch.other_words"]
    assert await found(text, "config.yaml") == [row.id]
    assert await found(text, "config") == []
    await text.close()


async def test_an_index_of_the_version_before_learns_when_a_memory_was_made(place: Place) -> None:
    older = {**COMMON_MAPPING, "text": {"type": "text", "analyzer": "english"}, "metadata": {"type": "flattened"}}
    del older["created_at"]
    mappings = {"dynamic": "strict", "_meta": {"builder": BUILDER}, "properties": older}
    await place.raw.indices.create(index=place.index, mappings=mappings)
    text = place.open()
    await text.prepare(NAME)
    row = memory(created_at=1_700_000_000_123_456)
    assert await text.write(NAME, [text_entry(row, "ferry")]) == {}
    await text.close()

    document = (await place.raw.get(index=place.index, id=row.id)).body["_source"]
    assert document["created_at"] == "2023-11-14T22:13:20.123456Z"


async def test_an_index_that_an_earlier_version_made_again_gets_the_new_fields_with_the_next_write(
    place: Place, text: ElasticsearchText
) -> None:
    """A rolling upgrade, in which only the indexers run the new version yet."""
    older = {**COMMON_MAPPING, "text": {"type": "text", "analyzer": "english"}, "metadata": {"type": "flattened"}}
    await place.raw.indices.delete(index=place.index)
    mappings = {"dynamic": "strict", "_meta": {"builder": BUILDER}, "properties": older}
    await place.raw.indices.create(index=place.index, mappings=mappings)
    rows = [memory() for _ in range(3)]
    large = ["ferry " * 60_000 for _ in rows]  # a request each, at once

    batch = [text_entry(row, each) for row, each in zip(rows, large, strict=True)]
    assert await text.write(NAME, [*batch, tombstone(new_id(), revision=1)]) == {}

    assert sorted(await found(text, "ferry")) == sorted(row.id for row in rows)


async def test_several_may_prepare_at_once(place: Place) -> None:
    several = [place.open() for _ in range(4)]

    await asyncio.gather(*(each.prepare(NAME) for each in several))

    row = memory()
    assert await several[0].write(NAME, [text_entry(row, "ferry")]) == {}
    assert await found(several[1], "ferry") == [row.id]
    await asyncio.gather(*(each.close() for each in several))


async def test_what_another_builder_made_is_refused(place: Place) -> None:
    await place.raw.indices.create(index=place.index, mappings={"_meta": {"builder": "elasticsearch-english-0"}})
    text = place.open()

    with pytest.raises(SetupError, match=r"elasticsearch-english-0.*rebuild"):
        await text.prepare(NAME)
    await text.close()


async def test_the_refresh_setting_reaches_an_index_that_exists(place: Place, text: ElasticsearchText) -> None:
    slower = place.open(refresh_ms=777)

    await slower.prepare(NAME)

    settings = (await place.raw.indices.get_settings(index=place.index)).body[place.index]["settings"]
    assert settings["index"]["refresh_interval"] == "777ms"
    await slower.close()


async def test_a_deleted_index_is_not_made_again_by_a_write(place: Place, text: ElasticsearchText) -> None:
    await place.raw.indices.delete(index=place.index)
    row = memory()

    with pytest.raises(TryLater, match="is missing: a running housekeeper recreates"):
        await text.write(NAME, [text_entry(row, "ferry")])

    assert not await place.raw.indices.exists(index=place.index)
    await text.prepare(NAME)
    assert await text.write(NAME, [text_entry(row, "ferry")]) == {}


@pytest.mark.parametrize("block", ["read_only_allow_delete", "write"])
async def test_a_blocked_index_is_tried_later_entry_by_entry(place: Place, text: ElasticsearchText, block: str) -> None:
    """As when the disk is nearly full."""
    row = memory()
    await place.raw.indices.put_settings(index=place.index, settings={f"index.blocks.{block}": True})

    failures = await text.write(NAME, [text_entry(row, "ferry"), tombstone(new_id(), revision=1)])

    assert len(failures) == 2
    assert all(isinstance(each, TryLater) for each in failures.values())
    await place.raw.indices.put_settings(index=place.index, settings={f"index.blocks.{block}": None})
    assert await text.write(NAME, [text_entry(row, "ferry")]) == {}
    assert await found(text, "ferry") == [row.id]


async def test_an_entry_that_spoils_the_whole_request_fails_alone(text: ElasticsearchText) -> None:
    """An out-of-range version is refused before anything is written."""
    good = [memory() for _ in range(5)]
    bad = memory()
    batch = [text_entry(row, "ferry") for row in good]
    batch.insert(3, text_entry(bad, "ferry", revision=2**63))

    failures = await text.write(NAME, batch)

    assert list(failures) == [bad.id]
    assert isinstance(failures[bad.id], NeverRetry)
    assert sorted(await found(text, "ferry")) == sorted(row.id for row in good)


async def test_a_tombstone_outlives_the_server_s_memory_of_deletes(place: Place, text: ElasticsearchText) -> None:
    """The control shows that the server has forgotten its own delete, which lets the late write in."""
    await place.raw.indices.put_settings(index=place.index, settings={"index.gc_deletes": "1ms"})
    control, removed = new_id(), new_id()
    external: dict[str, Any] = {"index": place.index, "id": control, "version_type": "external_gte"}
    await place.raw.index(**external, version=1, document={"revision": 1})
    await place.raw.delete(**external, version=2)
    await text.write(NAME, [tombstone(removed, revision=2)])

    async def late_write_of_the_control() -> bool:
        answer = await place.raw.options(ignore_status=409).index(**external, version=1, document={"revision": 1})
        return bool(answer.meta.status != 409)

    deadline = time.monotonic() + PATIENCE_S
    while not await late_write_of_the_control():
        assert time.monotonic() < deadline, "the server remembers its deletes for longer than this test waits"
        await place.raw.indices.refresh(index=place.index)

    assert await text.write(NAME, [text_entry(memory(removed), "ferry", revision=1)]) == {}
    assert await found(text, "ferry") == []
    assert (await text.read(NAME, [removed]))[removed].tombstone


async def test_nobody_listens() -> None:
    text = ElasticsearchText(NOBODY_LISTENS, "nowhere", 20, verify_tls=True, timeout_s=2)

    for call in (
        text.prepare(NAME),
        text.write(NAME, [tombstone(new_id(), revision=1)]),
        text.search(NAME, "ferry", EVERYTHING, 1),
        text.read(NAME, [new_id()]),
        text.check(),
    ):
        with pytest.raises(TryLater, match="can't be reached"):
            await call
    await text.close()


@pytest.mark.slow("an Elasticsearch of its own starts twice")
@pytest.mark.servers("elasticsearch")
async def test_a_server_that_hangs_dies_and_returns(private_server: Callable[[str], ServerProcess]) -> None:
    server = private_server("elasticsearch")
    row, later = memory(), memory()
    async with AsyncExitStack() as stack:
        text = ElasticsearchText(server.url, "test", 20, verify_tls=True, timeout_s=2)
        stack.push_async_callback(text.close)
        await once_it_can(lambda: text.prepare(NAME))
        assert await once_it_can(lambda: text.write(NAME, [text_entry(row, "ferry")])) == {}

        server.pause()
        with pytest.raises(TryLater):
            await text.write(NAME, [text_entry(later, "boat")])
        server.resume()
        assert await once_it_can(lambda: text.write(NAME, [text_entry(later, "boat")])) == {}
        server.kill()
        with pytest.raises(TryLater):
            await text.search(NAME, "ferry", EVERYTHING, 1)
        server.start()

        await once_it_can(lambda: text.prepare(NAME))
        assert await once_it_can(lambda: found(text, "ferry")) == [row.id]
        assert await once_it_can(lambda: found(text, "boat")) == [later.id]


async def once_it_can(call: Callable[[], Awaitable[T]]) -> T:
    """Retry after `TryLater`, as the stream layer does."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return await call()
        except TryLater:
            if time.monotonic() > deadline:
                raise
