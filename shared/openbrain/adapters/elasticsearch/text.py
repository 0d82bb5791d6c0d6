"""Full text on Elasticsearch: English analysis, filters inside the query, scores from the text only."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from openbrain.adapters.elasticsearch import search
from openbrain.adapters.elasticsearch.analysis import ENGLISH
from openbrain.adapters.elasticsearch.connection import COMMON_MAPPING, common_document, compiled
from openbrain.adapters.elasticsearch.generations import Generations
from openbrain.adapters.tantivy.documents import english
from openbrain.adapters.tantivy.highlights import Marker
from openbrain.adapters.tantivy.names import hold_names, name_keys, question_keys
from openbrain.domain.access.visibility import AllOf
from openbrain.ports.index import Count, Found, Hit, Place, Span, TextEntry, TextQuery, TextSearch

BUILDER = "elasticsearch-english-5"
_PASSAGE = {"type": "text", "analyzer": "english", "index_options": "freqs"}
_FIELDS: Mapping[str, Any] = {
    **COMMON_MAPPING,
    "text": {"type": "text", "analyzer": "english"},
    # A short text is its own only passage, so that all texts are scored with the same statistics.
    "passages": {"type": "nested", "properties": {"text": _PASSAGE}},
    "name_keys": {"type": "keyword"},
    # Longer values are stored but not indexed: they may exceed the length of a Lucene term.
    "metadata": {"type": "flattened", "ignore_above": 1024},
}


def plain_names(index: str) -> tuple[str, ...]:
    """Return the aliases without suffix, for readers outside of OpenBrain."""
    return (index, "brain_memories") if index == "openbrain" else (index,)


class ElasticsearchText(Generations[TextEntry]):
    """The text index behind the alias `<index>-text` and its plain names."""

    builder = BUILDER
    fields = _FIELDS
    analysis = ENGLISH

    def __init__(self, url: str, index: str, refresh_ms: int, verify_tls: bool, timeout_s: float) -> None:
        super().__init__(url, f"{index}-text", refresh_ms, verify_tls, timeout_s, plain_names(index))
        self._marker = Marker()
        self._english = english()

    async def prepare(self, name: str) -> None:
        """Create the index of this generation; `SetupError` if another builder made it."""
        await self._prepare(name)

    async def search(self, name: str, query: str, condition: AllOf, limit: int) -> Sequence[Hit]:
        """Return entries with any of the words, scored by text and best passage. A tombstone has no text and is never
        found."""
        return (await self.search_many(name, (TextSearch(query, condition, limit),)))[0]

    async def search_many(self, name: str, searches: Sequence[TextSearch]) -> Sequence[Sequence[Hit]]:
        """Run all searches in one request."""
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
        """Return a page, its total and its facets, in one request."""
        query = replace(query, phrases=tuple(filter(self._marker.indexed, query.phrases)))
        return await search.find(self._client, self.index(name), query, condition, limit, after, facets, values)

    async def counts(self, name: str, fields: Sequence[str], condition: AllOf, limit: int) -> Sequence[Count]:
        """Count with nested aggregations."""
        return await search.counts(self._client, self.index(name), fields, condition, limit)

    async def named(self, name: str, search: TextSearch) -> Sequence[str]:
        """Find memories by name keys, with filters; the words only order them."""
        keys = question_keys(search.query, self._english)
        if not keys or search.limit < 1:
            return []
        within = [compiled(search.condition), {"terms": {"name_keys": keys}}]
        words = {"match": {"text": {"query": search.query.encode(errors="replace").decode()}}}
        query = {"bool": {"filter": within, "should": words, "minimum_should_match": 0}}
        (hits,) = await self._hits(name, [{"query": query, "size": search.limit}])
        return [hit["fields"]["memory_id"][0] for hit in hits]

    async def hold_names(self, query: str, names: Sequence[Sequence[str]]) -> Sequence[bool]:
        """Uses tantivy's English analysis."""
        return await asyncio.to_thread(hold_names, query, names)

    async def marks(self, query: TextQuery, texts: Sequence[str]) -> Sequence[Sequence[Span]]:
        """Uses tantivy's English analysis, so that texts stay in this process; it differs from Lucene's for rare
        endings only."""
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
    """Convert `{"a": {"b": [1, "x"]}}` to `{"a.b": ["1", "x"]}`. Nulls are dropped; booleans are written as in JSON."""
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
