"""Filterable fields in the embedded vector index: one text of words instead of ten strings.

The engine takes a number of a payload in some 4 us, a text in 10, a list of eleven numbers in 45, and each index of a
field costs more. So every keyword (field and value) is a word made of a hash, all of them stand in the one text
`terms`, and a workspace with an audience, which every request asks for together, is a word too.
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
"""The value of most entries, which is therefore not written: the highest value there is, so that a lower bound is the
contrary of what a point has."""
_KEYWORDS = ("workspace_id", "audience", "org", "project", "agent_id", "memory_scope", "type", "source")
_keywords = attrgetter(*_KEYWORDS)
WORDS = TextIndexParams(tokenizer=TokenizerType.Whitespace, lowercase=False)
"""The index of `terms`: in memory, word by word as they are."""


@lru_cache(maxsize=32_768)
def term(field: str, value: str) -> str:
    """The word that stands for a value of a field: 64 bits in 11 letters, digits, - and _."""
    text = f"{field}\0{value}".encode(errors="surrogatepass")
    return urlsafe_b64encode(blake2b(text, digest_size=8).digest())[:11].decode()


def terms_of(fields: Fields) -> str:
    """The words of an entry."""
    shared = _shared(*_keywords(fields))
    if not fields.tags and not fields.metadata_pairs:
        return shared
    tags = (term("tags", tag) for tag in fields.tags)
    return " ".join([shared, *tags, *(term(METADATA_PAIRS, pair) for pair in fields.metadata_pairs)])


# Few memories differ from all others in what is no tag.
@lru_cache(maxsize=4096)
def _shared(workspace_id: str, audience: str, *others: str) -> str:
    sight = term("sight", f"{len(workspace_id)}:{workspace_id}{audience}")
    named = zip(_KEYWORDS, (workspace_id, audience, *others), strict=True)
    return " ".join([sight, *(term(field, value) for field, value in named)])


_Compiled = FieldCondition | Filter
_NOTHING = FieldCondition(key=TERMS, match=MatchText("nothing"))


def compiled(condition: AllOf) -> Filter:
    """The condition as a filter over `terms`, `confidence`, `occurred_at` and `expires_at`.

    What asks for one word each is asked for together: the engine looks at every node for every point, which takes
    longer than to compare vectors (docs/decisions/one-predicate-one-keyword.md).
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
    """The workspace and the audience as the one term that joins them."""
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
    """The words of which a point has one, where the condition asks for nothing else."""
    match condition:
        case Equals(field, value):
            return (term(field, value),)
        case OneOf(field, values):
            return tuple(term(field, value) for value in values)
        case AnyOf(conditions):
            parts = [_any_of_words(condition) for condition in conditions]
            return None if None in parts else tuple(word for words in parts for word in words or ())
    return None


# The engine parses a field's name anew for each node, which takes longer than many a search.
@lru_cache(maxsize=4096)
def _node(condition: Condition) -> _Compiled:
    match condition:
        case Equals() | OneOf():
            return _one_of(_any_of_words(condition) or ())
        case Says():
            raise KeyError("an index is not asked what a memory says letter by letter")
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
    """The points with a number below `bound` in `field`."""
    return FieldCondition(key=field, range=RangeFloat(lt=plain_bound(field, bound)))


def _from(field: str, bound: float) -> FieldCondition:
    return FieldCondition(key=field, range=RangeFloat(gte=plain_bound(field, bound)))


def _not(condition: FieldCondition) -> Filter:
    return Filter(must_not=[condition])
