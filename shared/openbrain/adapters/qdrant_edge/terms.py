"""Filterable fields in the embedded vector index: one text of words instead of ten strings.

The engine takes some 4 us for a number in a payload, 10 for a text, 45 for a list of eleven numbers, and more for each
field index. So every keyword (field and value) becomes a word, made of a hash, and all words form the one text `terms`.
What most requests combine is one word too: workspace and audience; these and the project; these, the org and the
project.
"""

import math
from base64 import urlsafe_b64encode
from collections.abc import Sequence
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
from openbrain.domain.memory import Scope
from openbrain.ports.index import Fields

TERMS = "terms"
ABSENT = {"expires_at": NEVER, "confidence": 1.0}
"""Values of most entries, which are therefore not written. Each is the field's maximum, so a lower bound becomes "not
below", which a missing value satisfies."""
_KEYWORDS = ("workspace_id", "audience", "org", "project", "agent_id", "memory_scope", "type", "source")
_keywords = attrgetter(*_KEYWORDS)
_SCOPE = "memory_scope"
WORDS = TextIndexParams(tokenizer=TokenizerType.Whitespace, lowercase=False)
"""The index of `terms`: in memory, words unchanged."""


@lru_cache(maxsize=32_768)
def term(field: str, value: str) -> str:
    """Return the word for a value of a field: 64 bits in 11 letters, digits, - and _."""
    text = f"{field}\0{value}".encode(errors="surrogatepass")
    return urlsafe_b64encode(blake2b(text, digest_size=8).digest())[:11].decode()


def terms_of(fields: Fields) -> str:
    """Return the words of an entry."""
    shared = _keyword_terms(*_keywords(fields))
    if not fields.tags and not fields.metadata_pairs:
        return shared
    tags = (term("tags", tag) for tag in fields.tags)
    return " ".join([shared, *tags, *(term(METADATA_PAIRS, pair) for pair in fields.metadata_pairs)])


# Most memories share all keywords except tags with others.
@lru_cache(maxsize=4096)
def _keyword_terms(workspace_id: str, audience: str, org: str, project: str, *others: str) -> str:
    values = (workspace_id, audience, org, project, *others)
    named = dict(zip(_KEYWORDS, values, strict=True))
    sight = workspace_id, audience
    joint = [
        _joint((), *sight),
        _joint(("project",), *sight, project),
        _joint(("org", "project"), *sight, org, project),
    ]
    if named[_SCOPE] == Scope.SHARED:
        shared = named[_SCOPE]
        joint += [_joint((_SCOPE,), *sight, shared), _joint(("org", _SCOPE), *sight, org, shared)]
    return " ".join([*joint, *(term(field, value) for field, value in named.items())])


def _joint(fields: tuple[str, ...], *values: str) -> str:
    """Return the word for these values of workspace, audience and `fields` together."""
    return term(" ".join(("sight", *fields)), "".join(f"{len(value)}:{value}" for value in values))


_Compiled = FieldCondition | Filter
_NOTHING = FieldCondition(key=TERMS, match=MatchText("nothing"))


@lru_cache(maxsize=256)
def compiled(condition: AllOf) -> Filter:
    """Return the condition as a filter over `terms`, `confidence`, `occurred_at` and `expires_at`.

    Conditions on a single word are merged into one: the engine evaluates every node for every point, which takes longer
    than comparing vectors (docs/decisions/one-predicate-one-keyword.md).
    """
    joint, rest = _joined(condition.conditions)
    words = [joint] if joint is not None else []
    others: list[_Compiled] = []
    for item in rest:
        if (alternatives := _any_of_words(item)) is None:
            others.append(_node(item))
        else:
            words.append(alternatives)
    required = tuple(item for alternatives in words if len(alternatives) == 1 for item in alternatives)
    choices = [_one_of(alternatives) for alternatives in words if len(alternatives) != 1]
    return Filter(must=[*([_all_of(required)] if required else []), *choices, *others] or None)


def _joined(conditions: tuple[Condition, ...]) -> tuple[tuple[str, ...] | None, Sequence[Condition]]:
    """Return the words, of which a point needs one, for the conditions on workspace, audience, project and, with a
    project, org; and the other conditions."""
    equal = {item.field: item for item in reversed(conditions) if isinstance(item, Equals)}
    workspace = equal.get("workspace_id")
    audience = next((item for item in conditions if isinstance(item, OneOf) and item.field == "audience"), None)
    if workspace is None or audience is None:
        return None, conditions
    sights = [(workspace.value, value) for value in audience.values]
    project = next((item for item in conditions if _parts_of_project(item)), None)
    if project is None:
        words = [_joint((), *sight) for sight in sights]
        org = None
    else:
        org = equal.get("org")
        fields, values = ((), ()) if org is None else (("org",), (org.value,))
        parts = _parts_of_project(project)
        words = [_joint((*fields, part.field), *sight, *values, part.value) for sight in sights for part in parts]
    merged = workspace, audience, project, org
    return tuple(words), [item for item in conditions if item not in merged]


def _parts_of_project(condition: Condition) -> Sequence[Equals]:
    """Return the values of which one is enough if the condition is on the project, perhaps or on the shared scope."""
    parts = condition.conditions if isinstance(condition, AnyOf) else (condition,)
    known = [item for item in parts if isinstance(item, Equals) and _joins(item)]
    return known if len(known) == len(parts) else ()


def _joins(item: Equals) -> bool:
    return item.field == "project" or (item.field == _SCOPE and item.value == Scope.SHARED)


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


# The engine parses the field's name for each new node, which takes longer than many searches.
@lru_cache(maxsize=4096)
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
