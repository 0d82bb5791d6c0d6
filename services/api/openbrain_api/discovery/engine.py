"""Discovery: query the text index and verify its hits against the database; query the database if it fails."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Literal, TypeVar

import structlog

from openbrain.domain.access.visibility import AllOf, matches
from openbrain.domain.errors import SetupError, TryLater
from openbrain.domain.memory import Memory
from openbrain.ports.index import Count, Found, Hit, Place, TextIndex
from openbrain.ports.store.generations import IndexKind
from openbrain.ports.store.memories import Memories
from openbrain_api.discovery import by_words
from openbrain_api.discovery.cursors import Cursor
from openbrain_api.discovery.fragments import fragments, shares
from openbrain_api.discovery.question import FACET_VALUES, Page, Search, Shown
from openbrain_api.recall.indexes.serving import Serving

MARKED_CHARS = 100_000
"""Characters of all contents on a page, together, that are searched for words to highlight."""
T = TypeVar("T")
Degraded = tuple[Literal["text"], ...]
_REFILL = 4
_MOST_AT_ONCE = 500
_LOOKED_AT = 10_000
"""Most hits read for one request, when the index holds many that the database no longer shows."""
_Kept = list[tuple[int, Hit, Memory]]
_log = structlog.get_logger(__name__)


class Discovery:
    """Searches and counts for the API."""

    def __init__(self, *, text: TextIndex, memories: Memories, serving: Serving, timeout_s: float) -> None:
        self._text = text
        self._memories = memories
        self._serving = serving
        self._timeout = timeout_s

    async def search(self, request: Search) -> Page:
        """Return one page. Raise `TryLater` if the database is down, or the text index fails after its first page."""
        source = request.cursor.source if request.cursor else None
        page = None if source == "truth" else await self._by_index(request)
        if page is None and source == "text":
            raise TryLater("the text index that made this cursor does not answer: ask without the cursor, or later")
        if page is None:
            page = await by_words.search(request, self._memories)
        return await self._highlighted(page, request) if request.highlights else page

    async def counts(self, fields: Sequence[str], condition: AllOf, limit: int) -> tuple[Sequence[Count], Degraded]:
        """Count like `TextIndex.counts`, and name the indexes that did not answer."""

        async def ask(name: str) -> Sequence[Count]:
            return await self._text.counts(name, fields, condition, limit)

        counted = await self._answered(ask)
        if counted is None:
            return await self._memories.counts(fields, condition, limit), ("text",)
        return counted, ()

    async def _by_index(self, request: Search) -> Page | None:
        """None if the index did not answer."""
        after = request.cursor.place if request.cursor else None
        first = await self._page(request, request.limit, after, facets=request.facets)
        if first is None:
            return None
        kept = await self._verified(request, first.hits, request.rank)
        last_page, rank, step = first, request.rank + len(first.hits), request.limit
        # If the index lags, its hits may be gone from the database: read more until the page is full.
        while len(kept) < request.limit and len(last_page.hits) == step and rank - request.rank < _LOOKED_AT:
            step = min(step * _REFILL, _MOST_AT_ONCE)
            last = last_page.hits[-1]
            following = await self._page(request, step, Place(last.score, last.memory_id, rank))
            if following is None:
                return None
            last_page = following
            kept += await self._verified(request, last_page.hits, rank)
            rank += len(last_page.hits)
        return _page(request, kept, first)

    async def _page(self, request: Search, limit: int, after: Place | None, facets: Sequence[str] = ()) -> Found | None:
        async def ask(name: str) -> Found:
            return await self._text.find(name, request.query, request.condition, limit, after, facets, FACET_VALUES)

        return await self._answered(ask)

    async def _verified(self, request: Search, hits: Sequence[Hit], rank: int) -> _Kept:
        """The hits that the database still shows, each with its rank."""
        rows = await self._memories.rows([hit.memory_id for hit in hits])
        return [
            (number, hit, row)
            for number, hit in enumerate(hits, rank + 1)
            if (row := rows.get(hit.memory_id)) is not None
            and row.alive(request.now)
            and matches(request.condition, row)
        ]

    async def _answered(self, ask: Callable[[str], Awaitable[T]]) -> T | None:
        try:
            async with asyncio.timeout(self._timeout):
                return await ask(await self._name())
        except Exception as error:  # noqa: BLE001 - whatever the index does, the database answers
            reason = str(error) if isinstance(error, TryLater | SetupError) else ""
            _log.warning("api.index_did_not_answer", index="text", error=type(error).__name__, reason=reason)
            return None

    async def _name(self) -> str:
        generation = await self._serving.needed(IndexKind.TEXT)
        if generation.lost_at:
            raise TryLater("the text index was lost and is being filled again")
        return generation.name

    async def _highlighted(self, page: Page, request: Search) -> Page:
        """Add highlights, made from the rows, so that a lagging index shows no deleted text."""
        looked_at = shares([len(hit.memory.content) for hit in page.shown], MARKED_CHARS)
        contents = [hit.memory.content[:chars] for hit, chars in zip(page.shown, looked_at, strict=True)]
        marked = await self._text.marks(request.query, contents)
        shown = [
            replace(hit, fragments=fragments(hit.memory.content, spans))
            for hit, spans in zip(page.shown, marked, strict=True)
        ]
        return replace(page, shown=shown)


def _page(request: Search, kept: _Kept, first: Found) -> Page:
    """Make a page. Its cursor is the last memory shown, so that it reveals nothing that the reader did not see."""
    shown = kept[: request.limit]
    best = request.cursor.best if request.cursor else shown[0][1].score if shown else 1.0
    following = None
    if len(shown) == request.limit and shown[-1][0] < first.total:
        rank, hit, _ = shown[-1]
        following = Cursor("text", Place(hit.score, hit.memory_id, rank), best)
    return Page(
        shown=[Shown(row, min(1.0, hit.score / best)) for _, hit, row in shown],
        total=first.total,
        facets=first.facets,
        next=following,
    )
