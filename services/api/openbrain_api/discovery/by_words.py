"""Search without the text index: the database looks for the exact words in its newest memories."""

from collections import Counter
from collections.abc import Mapping, Sequence

from openbrain.domain.access.visibility import matches
from openbrain.domain.memory import Memory
from openbrain.domain.text.words import spoken_text, words_in
from openbrain.ports.index import Count, Hit, Place, TextQuery
from openbrain.ports.store.memories import Memories
from openbrain_api.discovery.cursors import Cursor
from openbrain_api.discovery.question import FACET_VALUES, Page, Search, Shown

MOST = 500
"""Most memories found; more are neither counted nor reachable by paging."""
_WORDS = 32


async def search(request: Search, memories: Memories) -> Page:
    """Search like the index, but without typo tolerance; phrases match as substrings."""
    ranked = await _found(request, memories)
    hits = [hit for hit, _ in ranked]
    start = _start(hits, request.cursor.place) if request.cursor else 0
    best = request.cursor.best if request.cursor else hits[0].score if hits else 1.0
    page = ranked[start : start + request.limit]
    end = start + len(page)
    last = page[-1][0] if page and end < len(ranked) else None
    return Page(
        shown=[Shown(row, min(1.0, hit.score / best)) for hit, row in page],
        total=len(ranked),
        facets=_facets([row for _, row in ranked], request.facets),
        next=None if last is None else Cursor("truth", Place(last.score, last.memory_id, end), best),
        degraded=("text",),
    )


async def _found(request: Search, memories: Memories) -> list[tuple[Hit, Memory]]:
    words = _words(request.query)
    hits = await memories.keyword_hits(words, request.condition, MOST) if words else ()
    rows = await memories.rows([hit.memory_id for hit in hits])
    phrases = [_plain(phrase) for phrase in request.query.phrases]
    return [
        (hit, row)
        for hit in hits
        if (row := rows.get(hit.memory_id)) is not None
        and row.alive(request.now)
        and matches(request.condition, row)
        and all(phrase in _plain(spoken_text(row)) for phrase in phrases)
    ]


def _words(query: TextQuery) -> Sequence[str]:
    """The words of the phrases, or of the query if it has none. Split, so that spacing makes no difference."""
    text = " ".join(query.phrases) or query.words
    return list(dict.fromkeys(words_in(text.lower().replace("_", " "))))[:_WORDS]


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _start(hits: Sequence[Hit], place: Place) -> int:
    """The index after the last page's last memory; by its rank if the memory is gone."""
    ids = [hit.memory_id for hit in hits]
    return ids.index(place.memory_id) + 1 if place.memory_id in ids else min(place.rank, len(ids))


def _facets(rows: Sequence[Memory], names: Sequence[str]) -> Mapping[str, Sequence[Count]]:
    return {name: _counted(Counter(value for row in rows for value in _values(row, name))) for name in names}


def _values(row: Memory, name: str) -> Sequence[str]:
    return row.tags if name == "tags" else (str(getattr(row, name)),)


def _counted(values: Counter[str]) -> Sequence[Count]:
    first = sorted(values.items(), key=lambda counted: (-counted[1], counted[0]))
    return [Count(value, count) for value, count in first[:FACET_VALUES]]
