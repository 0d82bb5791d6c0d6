"""Filterable fields in the embedded vector index: one text of words instead of ten strings.

The engine takes some 4 us for a number in a payload, 10 for a text, 45 for a list of eleven numbers, and more for each
field index. So every keyword (field and value) becomes a word, made of a hash, and all words form the one text `terms`.
The pair of workspace and audience, which every request combines, is a word too.
"""

import math
from base64 import urlsafe_b64encode
from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b
from operator import attrgetter

from qdrant_edge import (
    FieldCondition,
    Filter,
    MatchText,
    MatchTextAny,
    RangeFloat,
    TextIndexParams,
    TokenizerType,
)

from openbrain.adapters.indexes.entries import plain_bound
from openbrain.domain.access.metadata_pairs import FIELD as METADATA_PAIRS
from openbrain.domain.access.visibility import NEVER, AllOf, AnyOf, AtLeast, Condition, Equals, LessThan, OneOf, Says
from openbrain.ports.index import Fields

TERMS = "terms"
ABSENT = {"expires_at": NEVER, "confidence": 1.0}
"""Values of most entries, which are therefore not written. Each is the field's maximum, so a lower bound becomes "not
below", which a missing value satisfies."""
_KEYWORDS = ("workspace_id", "audience", "org", "project", "agent_id", "memory_scope", "type", "source")
_keywords = attrgetter(*_KEYWORDS)
WORDS = TextIndexParams(tokenizer=TokenizerType.Whitespace, lowercase=False)
"""The index of `terms`: in memory, words unchanged."""


@lru_cache(maxsize=32_768)
def term(field: str, value: str) -> str:
    """Return the word for a value of a field: 64 bits in 11 letters, digits, - and _."""
    text = f"{field}\0{value}".encode(errors="surrogatepass")
    return urlsafe_b64encode(blake2b(text, digest_size=8).digest())[:11].decode()


def terms_of(fields: Fields) -> str:
    """Return the words of an entry."""
    shared = _shared(*_keywords(fields))
    if not fields.tags and not fields.metadata_pairs:
        return shared
    tags = (term("tags", tag) for tag in fields.tags)
    return " ".join([shared, *tags, *(term(METADATA_PAIRS, pair) for pair in fields.metadata_pairs)])


# Most memories share all keywords except tags with others.
@lru_cache(maxsize=4096)
def _shared(workspace_id: str, audience: str, *others: str) -> str:
    sight = term("sight", f"{len(workspace_id)}:{workspace_id}{audience}")
    named = zip(_KEYWORDS, (workspace_id, audience, *others), strict=True)
    return " ".join([sight, *(term(field, value) for field, value in named)])


_Compiled = FieldCondition | Filter
_NOTHING = FieldCondition(key=TERMS, match=MatchText("nothing"))


def compiled(condition: AllOf) -> Filter:
    """Return the condition as a filter over `terms`, `confidence`, `occurred_at` and `expires_at`.

    Conditions on a single word are merged into one: the engine evaluates every node for every point, which takes longer
    than comparing vectors (docs/decisions/one-predicate-one-keyword.md).
    """
    required: list[str] = []
    others: list[_Compiled] = []
    for item in _joined(condition.conditions):
        words = _any_of_words(item)
        if words is not None and len(words) == 1:
            required += words
        else:
            others.append(_node(item))
    return Filter(must=[*([_all_of(tuple(required))] if required else []), *others] or None)


def _joined(conditions: tuple[Condition, ...]) -> Iterable[Condition]:
    """Merge the conditions on workspace and audience into the one on their common term."""
    workspace = next(
        (condition for condition in conditions if isinstance(condition, Equals) and condition.field == "workspace_id"),
        None,
    )
    audience = next(
        (condition for condition in conditions if isinstance(condition, OneOf) and condition.field == "audience"), None
    )
    if workspace is None or audience is None:
        return conditions
    sights = tuple(f"{len(workspace.value)}:{workspace.value}{value}" for value in audience.values)
    return (
        OneOf("sight", sights),
        *(condition for condition in conditions if condition is not workspace and condition is not audience),
    )


def _any_of_words(condition: Condition) -> tuple[str, ...] | None:
    """Return the words of which a point needs one, if the condition requires nothing else; otherwise None."""
    match condition:
        case Equals(field, value):
            return (term(field, value),)
        case OneOf(field, values):
            return tuple(term(field, value) for value in values)
        case AnyOf(conditions):
            parts = [_any_of_words(condition) for condition in conditions]
            return None if None in parts else tuple(word for words in parts for word in words or ())
    return None


# The engine parses the field's name for each new node, which takes longer than many searches.
@lru_cache(maxsize=4096)
def _node(condition: Condition) -> _Compiled:
    match condition:
        case Equals() | OneOf():
            return _one_of(_any_of_words(condition) or ())
        case Says():
            raise KeyError("an index can't evaluate `Says`: only the database can")
        case AtLeast(field, bound):
            return _not(below(field, bound)) if bound <= _absent(field) else _from(field, bound)
        case LessThan(field, bound):
            return _not(_from(field, bound)) if bound > _absent(field) else below(field, bound)
        case AllOf() as every:
            return compiled(every)
        case AnyOf(conditions):
            words = _any_of_words(condition)
            return Filter(should=[_node(condition) for condition in conditions]) if words is None else _one_of(words)


def _one_of(words: tuple[str, ...]) -> FieldCondition:
    return FieldCondition(key=TERMS, match=MatchTextAny(" ".join(words))) if words else _NOTHING


@lru_cache(maxsize=4096)
def _all_of(words: tuple[str, ...]) -> FieldCondition:
    return FieldCondition(key=TERMS, match=MatchText(" ".join(words)))


def _absent(field: str) -> float:
    return ABSENT.get(field, -math.inf)


def below(field: str, bound: float) -> FieldCondition:
    """Return a condition for points with a number below `bound` in `field`."""
    return FieldCondition(key=field, range=RangeFloat(lt=plain_bound(field, bound)))


def _from(field: str, bound: float) -> FieldCondition:
    return FieldCondition(key=field, range=RangeFloat(gte=plain_bound(field, bound)))


def _not(condition: FieldCondition) -> Filter:
    return Filter(must_not=[condition])
