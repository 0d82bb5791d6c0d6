"""Questions and filters as tantivy queries. No query syntax: a question is plain words, a filter is a `Condition`."""

import math

from tantivy import FieldType, Occur, Query, TextAnalyzer

from openbrain.adapters.tantivy.documents import FIELDS, INTEGERS, keyword, spaced
from openbrain.domain.access.visibility import AllOf, AnyOf, AtLeast, Condition, Equals, LessThan, OneOf, Says

_LONG = 2**62


def any_word(query: str, analyzer: TextAnalyzer) -> Query | None:
    """Match entries with any of the words, scored by BM25; None if there is no word."""
    words = dict.fromkeys(analyzer.analyze(spaced(query.encode(errors="replace").decode())))
    return _any([Query.term_query(FIELDS, "text", word, "freq") for word in words]) if words else None


def filtered(question: Query, within: Query) -> Query:
    """Return the question within a compiled condition, which adds nothing to the score."""
    return Query.boolean_query([(Occur.Must, question), (Occur.Must, Query.const_score_query(within, 0.0))])


def without(within: Query, mark: str) -> Query:
    """Exclude entries with this keyword."""
    marked = Query.term_query(FIELDS, "keyword", mark, "basic")
    return Query.boolean_query([(Occur.Must, within), (Occur.MustNot, marked)])


def compiled(condition: Condition) -> Query:
    """Return a condition, with its nested conditions, as a query."""
    match condition:
        case Equals(field, value):
            return _term(field, value)
        case OneOf(field, values):
            return _any([_term(field, value) for value in values])
        case Says():
            raise KeyError("an index can't evaluate `Says`: only the database can")
        case AtLeast(field, bound):
            kind, edge = _edge(field, bound)
            return Query.range_query(FIELDS, field, kind, lower_bound=edge)
        case LessThan(field, bound):
            kind, edge = _edge(field, bound)
            return Query.range_query(FIELDS, field, kind, upper_bound=edge, include_upper=False)
        case AllOf(()):
            return Query.all_query()
        case AllOf(conditions):
            return Query.boolean_query([(Occur.Must, compiled(item)) for item in conditions])
        case AnyOf(conditions):
            return _any([compiled(item) for item in conditions])


def _term(field: str, value: str) -> Query:
    return Query.term_query(FIELDS, "keyword", keyword(field, value), "basic")


def _any(queries: list[Query]) -> Query:
    if not queries:
        return Query.empty_query()
    return queries[0] if len(queries) == 1 else Query.boolean_query([(Occur.Should, query) for query in queries])


def _edge(field: str, bound: float) -> tuple[FieldType, float]:
    """Return the field's type and the bound in that type. For integers the bound is rounded up, which is right for `>=`
    and for `<`, and limited to what the field can store."""
    if field in INTEGERS:
        return FieldType.Integer, math.ceil(max(-_LONG, min(_LONG, bound)))
    return FieldType.Float, float(bound)
