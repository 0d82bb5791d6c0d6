"""Paged searches and counts over a snapshot."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from tantivy import DocAddress, Occur, Query, Searcher, TextAnalyzer

from openbrain.adapters.indexes.edit_distance import allowed
from openbrain.adapters.tantivy.documents import FIELDS, PASSAGE, keyword, memory_ids
from openbrain.adapters.tantivy.highlights import Phrase, phrase_of, words_of
from openbrain.adapters.tantivy.queries import compiled, filtered, without
from openbrain.domain.access.visibility import AllOf
from openbrain.ports.index import FUZZY_WORDS, Count, Found, Hit, Place, TextQuery

_Scored = tuple[float, DocAddress]


@dataclass(frozen=True, slots=True)
class Reader:
    """A snapshot of a generation."""

    searcher: Searcher
    analyzer: TextAnalyzer

    def find(
        self, query: TextQuery, condition: AllOf, limit: int, after: Place | None, facets: Sequence[str], values: int
    ) -> Found:
        """Find the hits of a query."""
        parsed = question(query, self.analyzer)
        if parsed is None or limit < 1:
            return Found(hits=(), total=0, facets=dict.fromkeys(facets, ()))
        within = filtered(parsed, self._memories_only(condition))
        hits, total = self._page(within, limit, after)
        counted = {name: self._counted((name,), within, values) for name in facets}
        return Found(hits=hits, total=total, facets=counted)

    def counts(self, names: Sequence[str], condition: AllOf, limit: int) -> Sequence[Count]:
        """Count the values of fields."""
        return self._counted(tuple(names), self._memories_only(condition), limit)

    def _memories_only(self, condition: AllOf) -> Query:
        return without(compiled(condition), PASSAGE)

    def _counted(self, names: tuple[str, ...], within: Query, limit: int) -> tuple[Count, ...]:
        prefix = keyword(names[0], "")
        counts = []
        for term, count in self.searcher.terms_with_prefix("keyword", prefix, within, limit):
            parts: tuple[Count, ...] = ()
            if len(names) > 1:
                this = Query.term_query(FIELDS, "keyword", term, "basic")
                both = Query.boolean_query([(Occur.Must, within), (Occur.Must, this)])
                parts = self._counted(names[1:], both, limit)
            counts.append(Count(term.removeprefix(prefix), count, parts))
        return tuple(counts)

    def _page(self, within: Query, limit: int, after: Place | None) -> tuple[list[Hit], int]:
        """Return a page of hits. tantivy can't continue after a hit, and orders equal scores by position on disk. So
        request the best hits, as many as may be needed, and twice as many while hits with the last score may be
        missing."""
        most = max(1, self.searcher.num_docs)
        most_hits = min(most, (after.rank if after else 0) + limit + 1)
        total = 0
        while True:
            # Count matches only once: a counting search can't skip documents with low scores.
            result = self.searcher.search(within, limit=most_hits, count=not total)
            total = total or int(result.count)  # type: ignore[attr-defined]  # not in its stub
            scored: list[_Scored] = result.hits
            whole = len(scored) < most_hits or most_hits >= most
            if not whole:
                scored = [item for item in scored if item[0] > scored[-1][0]]
            hits = self._following(scored, limit, after)
            if whole or len(hits) >= limit:
                return hits, total
            most_hits = min(most, most_hits * 2)

    def _following(self, scored: Sequence[_Scored], limit: int, after: Place | None) -> list[Hit]:
        hits: list[Hit] = []
        found = zip(scored, memory_ids(self.searcher, [place for _, place in scored]), strict=True)
        for score, several in groupby(found, key=lambda item: item[0][0]):
            if len(hits) >= limit or score <= 0:
                break
            if after is None or score <= after.score:
                ids = sorted(memory_id for _, memory_id in several)
                first = after.memory_id if after is not None and score == after.score else ""
                hits += [Hit(element, score) for element in ids if element > first]
        return hits[:limit]


def question(query: TextQuery, analyzer: TextAnalyzer) -> Query | None:
    """Return the query; None if it has no word that the index could contain."""
    words = [(Occur.Should, word) for word in _words(query, analyzer)]
    known = [analyzed for phrase in query.phrases if (analyzed := phrase_of(phrase, analyzer)) is not None]
    phrases = [(Occur.Must, _phrase(item)) for item in known]
    return Query.boolean_query([*phrases, *words]) if phrases or words else None


def _words(query: TextQuery, analyzer: TextAnalyzer) -> Iterator[Query]:
    stems = list(dict.fromkeys(item.stem for item in words_of(query.words, analyzer)))
    for number, stem in enumerate(stems):
        yield Query.term_query(FIELDS, "text", stem, "freq")
        if query.fuzzy and number < FUZZY_WORDS and (most := allowed(stem)):
            # A fuzzy match scores 1, in addition to an exact match's own score, so exact matches rank first.
            yield Query.fuzzy_term_query(FIELDS, "text", stem, most)


def _phrase(phrase: Phrase) -> Query:
    if len(phrase.parts) == 1:
        return Query.term_query(FIELDS, "text", phrase.parts[0][1], "freq")
    return Query.phrase_query(FIELDS, "text", list(phrase.parts))
