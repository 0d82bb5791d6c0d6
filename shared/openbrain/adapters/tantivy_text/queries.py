"""What is asked, as tantivy queries. No query syntax: a question is plain words, a filter is a tree of ours."""

import math

from tantivy import FieldType, Occur, Query, Schema, TextAnalyzer

from openbrain.adapters.tantivy_text.documents import INTEGERS, keyword, spaced
from openbrain.visibility import AllOf, AnyOf, AtLeast, Condition, Equals, LessThan, OneOf

_LONG = 2**62


def any_word(query: str, analyzer: TextAnalyzer, fields: Schema) -> Query | None:
    """Entries with any of the words, scored by BM25; None where there is no word."""
    words = dict.fromkeys(analyzer.analyze(spaced(query.encode(errors="replace").decode())))
    return _any([Query.term_query(fields, "text", word, "freq") for word in words]) if words else None


def filtered(question: Query, condition: AllOf, fields: Schema) -> Query:
    """The question within the condition, which adds nothing to a score."""
    parts = [(Occur.Must, Query.const_score_query(compiled(each, fields), 0.0)) for each in condition.conditions]
    return Query.boolean_query([(Occur.Must, question), *parts])


def compiled(condition: Condition, fields: Schema) -> Query:
    """One node of a condition and what is below it."""
    match condition:
        case Equals(field, value):
            return _term(fields, field, value)
        case OneOf(field, values):
            return _any([_term(fields, field, value) for value in values])
        case AtLeast(field, bound):
            return _range(fields, field, lower=bound)
        case LessThan(field, bound):
            return _range(fields, field, upper=bound)
        case AllOf(()):
            return Query.all_query()
        case AllOf(conditions):
            return Query.boolean_query([(Occur.Must, compiled(each, fields)) for each in conditions])
        case AnyOf(conditions):
            return _any([compiled(each, fields) for each in conditions])


def _term(fields: Schema, field: str, value: str) -> Query:
    return Query.term_query(fields, "keyword", keyword(field, value), "basic")


def _any(queries: list[Query]) -> Query:
    if not queries:
        return Query.empty_query()
    return queries[0] if len(queries) == 1 else Query.boolean_query([(Occur.Should, query) for query in queries])


def _range(fields: Schema, field: str, lower: float | None = None, upper: float | None = None) -> Query:
    if field in INTEGERS:
        kind, lower, upper = FieldType.Integer, _whole(lower), _whole(upper)
    else:
        kind = FieldType.Float
        lower, upper = (None if bound is None else float(bound) for bound in (lower, upper))
    return Query.range_query(fields, field, kind, lower, upper, include_lower=True, include_upper=False)


def _whole(bound: float | None) -> int | None:
    """The first integer not below the bound: right for `>=` and for `<`, and within what the field holds."""
    return None if bound is None else math.ceil(max(-_LONG, min(_LONG, bound)))
