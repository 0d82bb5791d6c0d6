"""How the embedded vector index holds what filters ask for: one list of numbers instead of ten strings.

A string costs the engine four times what a number costs, and each index of a field as much again. So every keyword
(field and value) is a number of 63 bits of a hash, all of them stand in the one indexed list `terms`, and a
workspace with an audience, which every request asks for together, is a term too.
"""

import math
from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b

from qdrant_edge import FieldCondition, Filter, MatchAny, MatchValue, RangeFloat

from openbrain.adapters.vector_entries import plain_bound
from openbrain.ports.index import Fields
from openbrain.visibility import NEVER, AllOf, AnyOf, AtLeast, Condition, Equals, LessThan, OneOf

TERMS = "terms"
ABSENT = {"expires_at": NEVER, "confidence": 1.0}
"""What most entries hold, and what therefore stands in none: the highest value there is, so that a lower bound is the
contrary of what a point has."""
_KEYWORDS = ("workspace_id", "org", "project", "agent_id", "memory_scope", "audience", "type", "source")


@lru_cache(maxsize=32_768)
def term(field: str, value: str) -> int:
    """The number that stands for a value of a field: 0 .. 2**63-1."""
    text = f"{field}\0{value}".encode(errors="surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big") >> 1


def _sight(workspace_id: str, audience: str) -> int:
    return term("sight", f"{len(workspace_id)}:{workspace_id}{audience}")


def terms_of(fields: Fields) -> list[int]:
    """The numbers of an entry."""
    return [
        _sight(fields.workspace_id, fields.audience),
        *(term(field, getattr(fields, field)) for field in _KEYWORDS),
        *(term("tags", tag) for tag in fields.tags),
    ]


_Compiled = FieldCondition | Filter
_NOTHING = FieldCondition(key=TERMS, match=MatchValue(-1))


def compiled(condition: AllOf) -> Filter:
    """The condition as a filter over `terms`, `confidence`, `occurred_at` and `expires_at`."""
    return Filter(must=[_node(each) for each in _joined(condition.conditions)] or None)


def _joined(conditions: tuple[Condition, ...]) -> Iterable[Condition]:
    """The workspace and the audience as the one term that joins them."""
    workspace = next((each for each in conditions if isinstance(each, Equals) and each.field == "workspace_id"), None)
    audience = next((each for each in conditions if isinstance(each, OneOf) and each.field == "audience"), None)
    if workspace is None or audience is None:
        return conditions
    sights = tuple(f"{len(workspace.value)}:{workspace.value}{value}" for value in audience.values)
    return (OneOf("sight", sights), *(each for each in conditions if each is not workspace and each is not audience))


# The engine parses a field's name anew for each node, which takes longer than many a search.
@lru_cache(maxsize=4096)
def _node(condition: Condition) -> _Compiled:
    match condition:
        case Equals(field, value):
            return FieldCondition(key=TERMS, match=MatchValue(term(field, value)))
        case OneOf(_, ()) | AnyOf(()):
            return _NOTHING
        case OneOf(field, values):
            return FieldCondition(key=TERMS, match=MatchAny([term(field, value) for value in values]))
        case AtLeast(field, bound):
            return _not(below(field, bound)) if bound <= _absent(field) else _from(field, bound)
        case LessThan(field, bound):
            return _not(_from(field, bound)) if bound > _absent(field) else below(field, bound)
        case AllOf() as every:
            return compiled(every)
        case AnyOf(conditions):
            return Filter(should=[_node(each) for each in conditions])


def _absent(field: str) -> float:
    return ABSENT.get(field, -math.inf)


def below(field: str, bound: float) -> FieldCondition:
    """The points with a number below `bound` in `field`."""
    return FieldCondition(key=field, range=RangeFloat(lt=plain_bound(field, bound)))


def _from(field: str, bound: float) -> FieldCondition:
    return FieldCondition(key=field, range=RangeFloat(gte=plain_bound(field, bound)))


def _not(condition: FieldCondition) -> Filter:
    return Filter(must_not=[condition])
