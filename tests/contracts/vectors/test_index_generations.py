"""Whole generations of an index, on each adapter: two are independent, and if one is deleted the other is unchanged."""

import uuid

import pytest

from openbrain.adapters.elasticsearch.text import ElasticsearchText
from openbrain.adapters.elasticsearch.vectors import ElasticsearchVectors
from openbrain.domain.errors import TryLater
from openbrain.ports.index import TextIndex, VectorIndex
from tests.servers.processes.process import Server
from tests.support.indexes.adapters import DIMENSIONS
from tests.support.indexes.ended_tests import delete_later
from tests.support.indexes.entries import EVERYTHING, direction, memory, text_entry, vector_entry


async def test_a_text_generation_beside_another_is_dropped(text_index: tuple[TextIndex, str]) -> None:
    index, name = text_index
    other, row = name[:-1] + "2", memory()
    await index.prepare(other)
    assert await index.write(name, [text_entry(row, "the ferry leaves at noon", revision=1)]) == {}
    assert await index.search(other, "ferry", EVERYTHING, 10) == []
    assert await index.write(other, [text_entry(row, "the tram leaves at noon", revision=1)]) == {}

    await index.expose(other)
    await index.drop(name)
    await index.drop(name)

    assert [hit.memory_id for hit in await index.search(other, "tram", EVERYTHING, 10)] == [row.id]
    with pytest.raises(TryLater):
        await index.search(name, "ferry", EVERYTHING, 10)
    await index.prepare(name)
    assert await index.search(name, "ferry", EVERYTHING, 10) == []


async def test_a_vector_generation_beside_another_is_dropped(vector_index: tuple[VectorIndex, str]) -> None:
    index, name = vector_index
    other, row = name[:-1] + "2", memory()
    entry = vector_entry(row, direction(1.0, 2.0, 0.0, 1.0), revision=1)
    await index.prepare(other, DIMENSIONS)
    assert await index.write(name, [entry]) == {}
    assert await index.search(other, entry.vector, EVERYTHING, 10) == []
    assert await index.write(other, [entry]) == {}

    await index.expose(other)
    await index.drop(name)
    await index.drop(name)

    assert [hit.memory_id for hit in await index.search(other, entry.vector, EVERYTHING, 10)] == [row.id]
    with pytest.raises(TryLater):
        await index.search(name, entry.vector, EVERYTHING, 10)
    await index.prepare(name, DIMENSIONS)
    assert await index.search(name, entry.vector, EVERYTHING, 10) == []


async def test_the_alias_for_outsiders_follows(elasticsearch_server: Server) -> None:
    base = f"t{uuid.uuid4().hex[:12]}"
    url = elasticsearch_server.url
    text = ElasticsearchText(url, base, refresh_ms=50, verify_tls=True, timeout_s=60)
    vectors = ElasticsearchVectors(url, base, refresh_ms=50, verify_tls=True, timeout_s=60)
    for number in "12":
        await text.prepare(f"{base}-text-{number}")
        await vectors.prepare(f"{base}-vectors-{number}", DIMENSIONS)
    row = memory()
    await text.write(f"{base}-text-2", [text_entry(row, "the tram leaves at noon", revision=1)])

    for _ in range(2):
        await text.expose(f"{base}-text-2")
        await vectors.expose(f"{base}-vectors-2")

    client = text._client
    for alias in (f"{base}-text", f"{base}-vectors"):
        assert list((await client.indices.get_alias(name=alias)).body) == [f"{alias}-2"]
    assert list((await client.indices.get_alias(name=base)).body) == [f"{base}-text-2"]
    assert (await client.count(index=f"{base}-text"))["count"] == 1
    await text.close()
    await vectors.close()
    delete_later(url, base)
