"""Scores of a search: for a long text, the mean of its own score and its best passage's."""

from dataclasses import dataclass

from tantivy import Occur, Query, Searcher

from openbrain.adapters.tantivy.documents import FIELDS, PASSAGE, memory_ids, passage_of
from openbrain.adapters.tantivy.queries import filtered, without
from openbrain.ports.index import Hit

PASSAGES = 2
"""Passages requested per requested memory: several may belong to one memory."""


@dataclass(frozen=True, slots=True)
class Scoring:
    """Scores several searches over one snapshot."""

    searcher: Searcher
    has_passages: bool

    def best(self, question: Query, within: Query, limit: int) -> list[Hit]:
        """Return the best memories, best first."""
        whole = self._scores(filtered(question, without(within, PASSAGE)), limit)
        if self.has_passages:
            whole = self._with_passages(whole, question, within, limit)
        return [Hit(owner, score) for owner, score in whole.items()]

    def _with_passages(self, whole: dict[str, float], question: Query, within: Query, limit: int) -> dict[str, float]:
        """Merge both rankings: look up the best texts' passages, and the best passages' texts."""
        passages = self._scores(
            filtered(question, self._both(within, self._term("keyword", PASSAGE))), PASSAGES * limit
        )
        unknown = passages.keys() - whole.keys()
        if unknown:
            named = Query.boolean_query([(Occur.Should, self._term("id", element)) for element in sorted(unknown)])
            whole |= self._scores(filtered(question, self._both(within, named)), len(unknown))
        for element in whole.keys() - passages.keys():
            if self.searcher.doc_freq("keyword", passage_of(element)):
                of_it = self._both(within, self._term("keyword", passage_of(element)))
                passages |= self._scores(filtered(question, of_it), 1)
        scores = {item: (score + passages.get(item, score)) / 2 for item, score in whole.items()}
        return dict(sorted(scores.items(), key=lambda item: -item[1])[:limit])

    def _scores(self, query: Query, limit: int) -> dict[str, float]:
        """Return the score of each memory's best entry, best first."""
        scores: dict[str, float] = {}
        hits = [hit for hit in self.searcher.search(query, limit=limit, count=False).hits if hit[0] > 0]
        for owner, (score, _) in zip(memory_ids(self.searcher, [place for _, place in hits]), hits, strict=True):
            scores.setdefault(owner, score)
        return scores

    def _term(self, name: str, value: str) -> Query:
        return Query.term_query(FIELDS, name, value, "basic")

    @staticmethod
    def _both(*queries: Query) -> Query:
        return Query.boolean_query([(Occur.Must, query) for query in queries])
