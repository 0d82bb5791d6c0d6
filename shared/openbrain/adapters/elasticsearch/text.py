"""Full text on Elasticsearch: English analysis, the filter inside the query, scores of the text alone."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from openbrain.adapters.elasticsearch import search
from openbrain.adapters.elasticsearch.connection import common_document, compiled
from openbrain.adapters.elasticsearch.generations import Generations
from openbrain.adapters.tantivy.documents import english
from openbrain.adapters.tantivy.highlights import Marker
from openbrain.adapters.tantivy.names import hold_names, name_keys, question_keys
from openbrain.domain.access.visibility import AllOf
from openbrain.ports.index import Count, Found, Hit, Place, Span, TextEntry, TextQuery, TextSearch

BUILDER = "elasticsearch-english-5"
_PASSAGE = {"type": "text", "analyzer": "english", "index_options": "freqs"}
_PROPERTIES = {
    "text": {"type": "text", "analyzer": "english"},
    # Of a short text the one that it is: so that all are scored by the same statistics.
    "passages": {"type": "nested", "properties": {"text": _PASSAGE}},
    "name_keys": {"type": "keyword"},
    # Longer values are kept but not indexed: one can't be a search term of Lucene.
    "metadata": {"type": "flattened", "ignore_above": 1024},
}


def plain_names(index: str) -> tuple[str, ...]:
    """Aliases without a suffix, for readers outside of OpenBrain."""
    return (index, "brain_memories") if index == "openbrain" else (index,)


class ElasticsearchText(Generations[TextEntry]):
    """The text index behind the alias `<index>-text` and its plain names."""

    builder = BUILDER

    def __init__(self, url: str, index: str, refresh_ms: int, verify_tls: bool, timeout_s: float) -> None:
        super().__init__(url, f"{index}-text", refresh_ms, verify_tls, timeout_s, plain_names(index))
        self._marker = Marker()
        self._english = english()

    async def prepare(self, name: str) -> None:
        """Make the index of this generation; `SetupError` where another builder made it."""
        await self._prepare(name, _PROPERTIES)

    async def search(self, name: str, query: str, condition: AllOf, limit: int) -> Sequence[Hit]:
        """Entries that hold any of the words, by text and best passage. A tombstone has none, and is never found."""
        return (await self.search_many(name, (TextSearch(query, condition, limit),)))[0]

    async def search_many(self, name: str, searches: Sequence[TextSearch]) -> Sequence[Sequence[Hit]]:
        """One request for all."""
        filters = {condition: compiled(condition) for condition in {item.condition for item in searches}}
        queries = [_words(item, filters[item.condition]) for item in searches]
        return [
            [Hit(hit["fields"]["memory_id"][0], hit["_score"]) for hit in hits if hit["_score"] > 0]
            for hits in await self._hits(name, queries)
        ]

    async def find(
        self,
        name: str,
        query: TextQuery,
        condition: AllOf,
        limit: int,
        after: Place | None = None,
        facets: Sequence[str] = (),
        values: int = 1,
    ) -> Found:
        """A page, its total and its facets, in one request."""
        query = replace(query, phrases=tuple(filter(self._marker.indexed, query.phrases)))
        return await search.find(self._client, self.index(name), query, condition, limit, after, facets, values)

    async def counts(self, name: str, fields: Sequence[str], condition: AllOf, limit: int) -> Sequence[Count]:
        """One aggregation within the other."""
        return await search.counts(self._client, self.index(name), fields, condition, limit)

    async def named(self, name: str, search: TextSearch) -> Sequence[str]:
        """Filters alone."""
        keys = question_keys(search.query, self._english)
        if not keys or search.limit < 1:
            return []
        within = [compiled(search.condition), {"terms": {"name_keys": keys}}]
        (hits,) = await self._hits(name, [{"query": {"bool": {"filter": within}}, "size": search.limit}])
        return [hit["fields"]["memory_id"][0] for hit in hits]

    async def hold_names(self, query: str, names: Sequence[Sequence[str]]) -> Sequence[bool]:
        """By tantivy's English analysis."""
        return await asyncio.to_thread(hold_names, query, names)

    async def marks(self, query: TextQuery, texts: Sequence[str]) -> Sequence[Sequence[Span]]:
        """By tantivy's English analysis, which is Lucene's but for rare endings: texts stay in this process."""
        return await asyncio.to_thread(self._marker.marks, query, texts)

    def _document(self, entry: TextEntry) -> dict[str, Any]:
        return {
            **common_document(entry),
            "text": entry.text,
            "passages": [{"text": passage} for passage in entry.passages or (entry.text,)],
            "name_keys": name_keys(entry.names, self._english) if entry.names else (),
            "metadata": _flat_metadata(entry.metadata),
        }


def _words(question: TextSearch, within: Mapping[str, Any]) -> dict[str, Any]:
    words = question.query.encode(errors="replace").decode()
    whole = {"match": {"text": {"query": words, "boost": 0.5}}}
    part = {"match": {"passages.text": {"query": words}}}
    best = {"nested": {"path": "passages", "score_mode": "max", "query": part, "boost": 0.5}}
    query = {"bool": {"should": [whole, best], "minimum_should_match": 1, "filter": within}}
    return {"query": query, "size": question.limit}


def _flat_metadata(metadata: Mapping[str, object]) -> dict[str, list[str]]:
    """`{"a": {"b": [1, "x"]}}` as `{"a.b": ["1", "x"]}`. Nulls are left out; true and false are written as in JSON."""
    flat: dict[str, list[str]] = {}
    for path, value in _leaves("", metadata):
        flat.setdefault(path.replace("\0", " "), []).append(value)
    return flat


def _leaves(path: str, value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _leaves(f"{path}.{key}" if path else str(key), part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _leaves(path, part)
    elif isinstance(value, bool):
        yield path, "true" if value else "false"
    elif value is not None:
        yield path, str(value)
