"""Indexes in Elasticsearch that tests have one after the other, emptied in between.

To make one and to delete it costs the server several states of the cluster; to empty it costs none.
"""

import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from elasticsearch import AsyncElasticsearch

from openbrain.adapters.elasticsearch.text import ElasticsearchText
from openbrain.adapters.elasticsearch.vectors import ElasticsearchVectors
from tests.support.waiting import PATIENCE_S

_Kind = tuple[str, type, str]
_EMPTY: dict[_Kind, tuple[str, Mapping[str, Any]]] = {}
"""By server, adapter and generation: the first part of the names, and what the server said when they were made."""


@asynccontextmanager
async def emptied(
    url: str,
    open_index: Callable[[str], ElasticsearchText | ElasticsearchVectors],
    generation: str,
    *dimensions: int,
) -> AsyncIterator[str]:
    """The first part of the names of an empty index of this generation, made for this test or for one before.

    One that a test leaves with other settings, mappings or aliases is deleted.
    """
    new = f"t{uuid.uuid4().hex[:12]}"
    index: Any = open_index(new)
    kind = url, type(index), generation
    async with AsyncElasticsearch(url, request_timeout=PATIENCE_S) as server:

        async def described(first_part: str) -> Mapping[str, Any]:
            return dict(await server.indices.get(index=f"{first_part}-*", expand_wildcards="all"))

        if kind in _EMPTY:
            first_part, made = _EMPTY.pop(kind)
        else:
            await index.prepare(generation, *dimensions)
            first_part, made = new, await described(new)
        await index.close()
        yield first_part
        left = await described(first_part)
        if left == made:
            await _empty(server, f"{first_part}-*")
            _EMPTY[kind] = first_part, made
        else:
            if left:
                await server.indices.delete(index=",".join(left))
            await server.indices.delete_index_template(name=f"{first_part}-*")


async def _empty(server: AsyncElasticsearch, indexes: str) -> None:
    await server.indices.refresh(index=indexes)
    # One page at a time: the node of the tests has no deletion by query.
    while hits := (await server.search(index=indexes, size=10_000, source=False))["hits"]["hits"]:
        deletions = [{"delete": {"_index": hit["_index"], "_id": hit["_id"]}} for hit in hits]
        await server.bulk(operations=deletions, refresh=True)
