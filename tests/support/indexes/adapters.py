"""Each adapter of both indexes with a new generation, for tests of code above the contract suites."""

import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from qdrant_client import AsyncQdrantClient

from openbrain.adapters.elasticsearch.text import ElasticsearchText
from openbrain.adapters.elasticsearch.vectors import ElasticsearchVectors
from openbrain.adapters.qdrant.vectors import QdrantVectors
from openbrain.adapters.qdrant_edge.vectors import QdrantEdgeVectors
from openbrain.adapters.tantivy import TantivyText
from openbrain.ports.index import TextIndex, VectorIndex
from tests.support.indexes.ended_tests import delete_later

DIMENSIONS = 4


@pytest.fixture(params=["tantivy", "elasticsearch"])
async def text_index(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[tuple[TextIndex, str]]:
    """An index and the name of its generation."""
    name = f"t{uuid.uuid4().hex[:12]}"
    index: TextIndex
    if request.param == "tantivy":
        index = TantivyText(tmp_path / "text", commit_ms=20)
    else:
        url = request.getfixturevalue("elasticsearch_server").url
        index = ElasticsearchText(url, name, refresh_ms=50, verify_tls=True, timeout_s=60)
    await index.prepare(f"{name}-text-1")
    yield index, f"{name}-text-1"
    await index.close()
    if request.param == "elasticsearch":
        delete_later(url, name)


@pytest.fixture(params=["qdrant-edge", "qdrant-local", "elasticsearch-knn"])
async def vector_index(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[tuple[VectorIndex, str]]:
    """An index of four dimensions and the name of its generation."""
    name = f"t{uuid.uuid4().hex[:12]}"
    index: VectorIndex
    if request.param == "qdrant-edge":
        index = QdrantEdgeVectors(tmp_path / "vectors")
    elif request.param == "qdrant-local":
        index = QdrantVectors(lambda: AsyncQdrantClient(":memory:"), name)
    else:
        url = request.getfixturevalue("elasticsearch_server").url
        index = ElasticsearchVectors(url, name, refresh_ms=50, verify_tls=True, timeout_s=60)
    await index.prepare(f"{name}-vectors-1", DIMENSIONS)
    yield index, f"{name}-vectors-1"
    await index.close()
    if request.param == "elasticsearch-knn":
        delete_later(url, name)
