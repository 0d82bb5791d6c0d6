"""Paged searches and counts on Elasticsearch: the requests, and the parsed responses."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from elasticsearch import AsyncElasticsearch

from openbrain.adapters.elasticsearch.connection import ask, compiled
from openbrain.domain.access.visibility import AllOf
from openbrain.ports.index import FUZZY_WORDS, Count, Found, Hit, Place, TextQuery

Json = dict[str, Any]
_WORD = re.compile(r"[^\W_]+")
_EXPANSIONS = 20
"""Maximum number of indexed words that a word with typos expands to."""


async def find(
    client: AsyncElasticsearch,
    index: str,
    query: TextQuery,
    condition: AllOf,
    limit: int,
    after: Place | None,
    facets: Sequence[str],
    values: int,
) -> Found:
    """Find the hits of a query."""
    request: Json = {
        "query": question(query, condition),
        "size": limit,
        "sort": [{"_score": "desc"}, {"memory_id": "asc"}],
        "docvalue_fields": [{"field": "memory_id"}],
        "stored_fields": "_none_",
        "track_total_hits": True,
    }
    if after is not None:
        request["search_after"] = [after.score, after.memory_id]
    if facets:
        request["aggs"] = {name: _values((name,), values) for name in facets}
    answer = await ask(client, index, **request)
    hits = [Hit(hit["fields"]["memory_id"][0], hit["_score"]) for hit in answer["hits"]["hits"] if hit["_score"] > 0]
    counted = {name: _counts(answer["aggregations"][name], (name,)) for name in facets}
    return Found(hits=hits, total=answer["hits"]["total"]["value"], facets=counted)


async def counts(
    client: AsyncElasticsearch, index: str, names: Sequence[str], condition: AllOf, limit: int
) -> Sequence[Count]:
    """Count the values of fields."""
    aggregations = {names[0]: _values(tuple(names), limit)}
    answer = await ask(client, index, query=compiled(condition), size=0, aggs=aggregations)
    return _counts(answer["aggregations"][names[0]], tuple(names))


def question(query: TextQuery, condition: AllOf) -> Json:
    """Return the query within the condition. Each phrase must contain an indexed word: others match nothing."""
    within = compiled(condition)
    if not query.phrases:
        return {"bool": {"should": _words(query), "minimum_should_match": 1, "filter": within}}
    phrases = [{"match_phrase": {"text": {"query": _sendable(phrase)}}} for phrase in query.phrases]
    return {"bool": {"must": phrases, "should": _words(query), "filter": within}}


def _words(query: TextQuery) -> list[Json]:
    text = _sendable(query.words)
    if not query.fuzzy:
        return [{"match": {"text": {"query": text}}}]
    words = _WORD.findall(text)
    typed: Json = {"query": " ".join(words[:FUZZY_WORDS]), "fuzziness": "AUTO", "max_expansions": _EXPANSIONS}
    # Add the exact words, so that exact matches rank first.
    return [{"match": {"text": typed}}, {"match": {"text": {"query": text}}}]


def _sendable(text: str) -> str:
    return text.encode(errors="replace").decode()


def _values(names: tuple[str, ...], limit: int) -> Json:
    own: Json = {"terms": {"field": names[0], "size": max(1, limit), "order": [{"_count": "desc"}, {"_key": "asc"}]}}
    if len(names) > 1:
        own["aggs"] = {names[1]: _values(names[1:], limit)}
    return own


def _counts(aggregations: Mapping[str, Any], names: tuple[str, ...]) -> tuple[Count, ...]:
    return tuple(
        Count(
            aggregation["key"],
            aggregation["doc_count"],
            _counts(aggregation[names[1]], names[1:]) if len(names) > 1 else (),
        )
        for aggregation in aggregations["buckets"]
    )
