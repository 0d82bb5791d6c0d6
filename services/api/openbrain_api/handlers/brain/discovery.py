"""Searches and counts."""

import time
from collections.abc import Sequence

import orjson

from openbrain.contract.brain.discovery import ScopeCounts, ScopesQuery, Searched, SearchQuery, TagCounts, TagsQuery
from openbrain.contract.brain.filters import BrowseQuery
from openbrain.domain.access.permissions import Permission
from openbrain.domain.access.visibility import AllOf, Viewer, visible
from openbrain.ports.index import Count
from openbrain_api.discovery import cursors
from openbrain_api.discovery.question import Page, Search, parsed
from openbrain_api.http.response import Response, respond
from openbrain_api.http.route import Call, Nothing, Route
from openbrain_api.memories.rendering import Json, memories_json


@Route("GET", "/v1/brain/search", permission=Permission.BRAIN_READ, response=Searched, cost=2)
async def search(call: Call[Nothing, SearchQuery]) -> Response:
    """Find memories by their words, with phrases, typos, highlights and facets."""
    started = time.perf_counter()
    query, viewer = call.query, await call.viewer(call.query.session_id)
    seal = cursors.query_seal(viewer, query.criteria(), query.q, query.fuzzy, query.phrases)
    request = Search(
        query=parsed(query.q, phrases=query.phrases, fuzzy=query.fuzzy),
        condition=_condition(call, viewer),
        now=call.api.clock.now(),
        limit=query.limit,
        cursor=None if query.cursor is None else cursors.read(query.cursor, seal),
        facets=tuple(dict.fromkeys(query.facets)),
        highlights=query.highlights,
    )
    page = await call.api.discovery.search(request)
    hits = await _hits(call, page, request, viewer)
    fields = {
        "hits": hits,
        "count": len(page.shown),
        "total": page.total,
        "facets": {name: _counts(counts) for name, counts in page.facets.items()},
        "next_cursor": None if page.next is None else cursors.written(page.next, seal),
        "degraded": page.degraded,
        "took_ms": _took(started),
    }
    return respond(fields, {"memories": hits, "count": len(page.shown)})


@Route("GET", "/v1/brain/tags", permission=Permission.BRAIN_READ, response=TagCounts, cost=5)
async def tags(call: Call[Nothing, TagsQuery]) -> Response:
    """List the tags in use, with counts."""
    started = time.perf_counter()
    limit = call.query.limit
    counts, degraded = await call.api.discovery.counts(("tags",), await _visible(call), limit + 1)
    first = counts[:limit]
    fields = {"tags": _counts(first), "count": len(first), "more": len(counts) > limit}
    return respond({**fields, "degraded": degraded, "took_ms": _took(started)}, {tag.value: tag.count for tag in first})


@Route("GET", "/v1/brain/scopes", permission=Permission.BRAIN_READ, response=ScopeCounts, cost=5)
async def scopes(call: Call[Nothing, ScopesQuery]) -> Response:
    """List the orgs and projects in use, with counts."""
    started = time.perf_counter()
    limit = call.query.limit
    counts, degraded = await call.api.discovery.counts(("org", "project"), await _visible(call), limit + 1)
    first = [(org, org.parts[:limit]) for org in counts[:limit]]
    fields = {
        "scopes": [
            {"org": org.value or None, "count": org.count, "projects": _counts(projects)} for org, projects in first
        ],
        "count": len(first),
        "more": len(counts) > limit or any(len(org.parts) > limit for org in counts),
    }
    data = {org.value: {project.value: project.count for project in projects} for org, projects in first}
    return respond({**fields, "degraded": degraded, "took_ms": _took(started)}, data)


async def _visible(call: "Call[Nothing, TagsQuery] | Call[Nothing, ScopesQuery]") -> AllOf:
    return _condition(call, await call.viewer(call.query.session_id))


def _condition(
    call: "Call[Nothing, SearchQuery] | Call[Nothing, TagsQuery] | Call[Nothing, ScopesQuery]", viewer: Viewer
) -> AllOf:
    query: BrowseQuery = call.query
    call.actor.may_ask_for(query.org or "")
    return visible(viewer, query.criteria(), call.api.clock.now())


async def _hits(call: Call[Nothing, SearchQuery], page: Page, request: Search, viewer: Viewer) -> orjson.Fragment:
    """The hits as JSON, encoded once: the answer holds them twice."""
    rows = await memories_json([hit.memory for hit in page.shown], request.now, call.api.chains, viewer)
    shown = [
        {
            **rows[hit.memory.id],
            "score": round(hit.score, 4),
            "highlights": hit.fragments if request.highlights else None,
        }
        for hit in page.shown
    ]
    return orjson.Fragment(orjson.dumps(shown))


def _counts(counts: Sequence[Count]) -> list[Json]:
    """Counts by value; the name of an empty value is null."""
    return [{"name": value.value or None, "count": value.count} for value in counts]


def _took(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 3)
