"""Each adapter of both indexes with a generation of its own, for tests of what lies above the contract suites."""

import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import pytest
from qdrant_client import AsyncQdrantClient

from openbrain.adapters.elasticsearch.text import ElasticsearchText
from openbrain.adapters.elasticsearch.vectors import ElasticsearchVectors
from openbrain.adapters.qdrant.vectors import QdrantVectors
from openbrain.adapters.qdrant_edge.vectors import QdrantEdgeVectors
from openbrain.adapters.tantivy import TantivyText
from openbrain.ports.index import TextIndex, VectorIndex
from tests.support.indexes.emptied import emptied

DIMENSIONS = 4


@pytest.fixture(params=["tantivy", "elasticsearch"])
async def text_index(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[tuple[TextIndex, str]]:
    """An index and the name of its generation."""
    async with AsyncExitStack() as stack:
        index: TextIndex
        if request.param == "tantivy":
            index, name = TantivyText(tmp_path / "text", commit_ms=20), "text-1"
        else:
            url = request.getfixturevalue("elasticsearch_server").url
            open_text = partial(ElasticsearchText, url, refresh_ms=50, verify_tls=True, timeout_s=60)
            first_part = await stack.enter_async_context(emptied(url, open_text, "1"))
            index, name = open_text(first_part), f"{first_part}-text-1"
        await index.prepare(name)
        yield index, name
        await index.close()


@pytest.fixture(params=["qdrant-edge", "qdrant-local", "elasticsearch-knn"])
async def vector_index(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[tuple[VectorIndex, str]]:
    """An index of four dimensions and the name of its generation."""
    async with AsyncExitStack() as stack:
        first_part = f"t{uuid.uuid4().hex[:12]}"
        index: VectorIndex
        if request.param == "qdrant-edge":
            index = QdrantEdgeVectors(tmp_path / "vectors")
        elif request.param == "qdrant-local":
            index = QdrantVectors(lambda: AsyncQdrantClient(":memory:"), first_part)
        else:
            url = request.getfixturevalue("elasticsearch_server").url
            open_vectors = partial(ElasticsearchVectors, url, refresh_ms=50, verify_tls=True, timeout_s=60)
            first_part = await stack.enter_async_context(emptied(url, open_vectors, "1", DIMENSIONS))
            index = open_vectors(first_part)
        await index.prepare(f"{first_part}-vectors-1", DIMENSIONS)
        yield index, f"{first_part}-vectors-1"
        await index.close()
