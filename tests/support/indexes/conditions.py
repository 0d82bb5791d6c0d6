"""Random rows and conditions for the law that every index must obey: it finds the rows for which the predicate is
true."""

from hypothesis import strategies as st

from openbrain.domain.access.metadata_pairs import FIELD as METADATA_PAIRS
from openbrain.domain.access.visibility import (
    KEYWORD_FIELDS,
    NEVER,
    AllOf,
    AnyOf,
    AtLeast,
    Condition,
    Criteria,
    Equals,
    LessThan,
    OneOf,
    Viewer,
    visible,
)
from openbrain.domain.memory import MemoryType, Scope
from tests.support.indexes.entries import memory

NOW = 1_750_000_000_000_000
WORDS = (
    "",
    " ",
    "a",
    "A",
    "a ",
    "ä",
    "a\u0308",
    "*",
    "agent:a",
    "a\\",
    '"',
    "1",
    "true",
    "null",
    "😀",
    "a,b",
    "x" * 100,
)
PLAIN = (True, False, 1, -7, 2**62, 1.0, 0.5, ["x"], {"b": "a"})
"""Metadata values that are not strings; a filter never asks for the last four."""
PAIRS = (
    "k=",
    "k=a",
    "k=A",
    "k=1",
    "k=true",
    "k=null",
    "k=1.0",
    "a.b=a",
    "a b=a",
    "k=-7",
    "k=a ",
    f"k={2**62}",
    "é=a",
    "k",
    "=a",
)
words = st.sampled_from(WORDS)
names = st.sampled_from(("", "a", "A", "b", "*"))
confidences = st.sampled_from((0.0, 0.3, 0.1 + 0.2, 0.5, 1.0))
times = st.sampled_from((-1, 0, NOW - 1, NOW, NOW + 1, NEVER - 1))

rows = st.builds(
    memory,
    workspace_id=st.sampled_from(("acme", "ACME", "b")),
    org=names,
    project=names,
    agent_id=names,
    session_id=names,
    memory_scope=st.sampled_from(Scope),
    type=st.sampled_from(MemoryType),
    tags=st.lists(words, max_size=3, unique=True).map(tuple),
    source=words,
    metadata=st.dictionaries(
        st.sampled_from(("k", "a.b", "a b", "é")), st.none() | words | st.sampled_from(PLAIN), max_size=2
    ),
    confidence=confidences,
    occurred_at=times,
    expires_at=st.none() | times,
)

_audiences = rows.map(lambda row: row.audience)
_values = words | names | _audiences | st.sampled_from(("acme", *map(str, MemoryType), *map(str, Scope)))
_bounds = times | confidences | st.integers(NOW - 2, NOW + 2).map(lambda at: at + 0.5) | st.just(NEVER)
_numbers = st.sampled_from(("confidence", "occurred_at", "expires_at"))
_leaves: st.SearchStrategy[Condition] = st.one_of(
    st.builds(Equals, st.sampled_from(KEYWORD_FIELDS), _values),
    st.builds(OneOf, st.sampled_from(KEYWORD_FIELDS), st.lists(_values, max_size=4, unique=True).map(tuple)),
    st.builds(Equals, st.just(METADATA_PAIRS), st.sampled_from(PAIRS)),
    st.builds(OneOf, st.just(METADATA_PAIRS), st.lists(st.sampled_from(PAIRS), max_size=3, unique=True).map(tuple)),
    st.builds(AtLeast, _numbers, _bounds | st.sampled_from((NEVER + 1, 2**70, -(2**70)))),
    st.builds(LessThan, _numbers, _bounds | st.sampled_from((NEVER + 1, 2**70, -(2**70)))),
)
_trees: st.SearchStrategy[Condition] = st.recursive(
    _leaves,
    lambda inner: st.lists(inner, max_size=3).map(tuple).flatmap(lambda x: st.sampled_from((AllOf(x), AnyOf(x)))),
    max_leaves=6,
)
_viewers = st.builds(
    Viewer,
    workspace_id=st.sampled_from(("acme", "b")),
    agent_id=names,
    orgs=st.none() | st.lists(names, max_size=2, unique=True).map(tuple),
    without_org=st.booleans(),
    session_id=names,
)
_criteria = st.builds(
    Criteria,
    project=names,
    only_project=st.booleans(),
    types=st.lists(st.sampled_from(MemoryType), max_size=3).map(tuple),
    tags=st.lists(words, max_size=2).map(tuple),
    metadata=st.lists(st.sampled_from(PAIRS), max_size=1).map(tuple),
    min_confidence=st.none() | confidences,
    max_confidence=st.none() | confidences,
    since=st.none() | times,
    until=st.none() | times,
)
requests = st.builds(visible, _viewers, _criteria, st.sampled_from((NOW - 2, NOW, NOW + 2)))
conditions: st.SearchStrategy[AllOf] = requests | st.lists(_trees, max_size=3).map(
    lambda several: AllOf(tuple(several))
)
"""Conditions of requests, and others that the condition language can express."""
