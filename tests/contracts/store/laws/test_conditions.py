"""The property that isolates tenants: a condition selects the same rows in SQL as in Python."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, delete, select

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.memories.conditions import compiled
from openbrain.adapters.sql.schema.inserts import insert_rows
from openbrain.adapters.sql.schema.memory_rows import row_from_memory
from openbrain.adapters.sql.schema.tables import memories
from openbrain.domain.access.metadata_pairs import FIELD as METADATA_PAIRS
from openbrain.domain.access.visibility import (
    KEYWORD_FIELDS,
    NEVER,
    NUMBER_FIELDS,
    AllOf,
    AnyOf,
    AtLeast,
    Condition,
    Criteria,
    Equals,
    LessThan,
    OneOf,
    Viewer,
    matches,
    visible,
)
from openbrain.domain.memory import Memory, MemoryType, Scope
from tests.support.forms import examples
from tests.support.store.fixtures import START, memory

ODD = (
    *("", " ", "a", "A", "a ", " a", "aa", "ß", "ss", "ä", "a\u0308", "Ä", "\u0131", "i", "I", "İ"),
    *("'", '"', "a'b", 'a"b', "\\", "\\\\", "a\\", '\\"', "%", "_", "a%", "%s", ":a", "?", "*", "agent:a"),
    *(
        ",",
        '","',
        '["a"]',
        "[",
        "]",
        "null",
        "1",
        "1.0",
        "true",
        "{}",
        "--",
        "/*",
        "\u200b",
        "a\u00a0",
        "\U0001d4b3",
        "😀",
        "�",
    ),
)
"""Strings that databases tend to equate with others, or to read as something other than a string."""

PLAIN = (True, False, 0, 1, -7, 2**62, 1.0, 0.5, None, ["a"], {"k": "a"})
"""Metadata values that are not strings."""
PAIRS = (
    "k=",
    "k=a",
    "k=A",
    "k=a ",
    "k=0",
    "k=1",
    "k=-7",
    "k=true",
    "k=null",
    "k=1.0",
    f"k={2**62}",
    "a.b=a",
    "k.k=a",
    "k",
    "sessionId=a",
    "sessionId=A",
    "sessionId=1",
    "sessionId=true",
)

words = st.sampled_from(ODD) | st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=6)
types = st.sampled_from(MemoryType)
scopes = st.sampled_from(Scope)
moments = st.sampled_from((0, START - 1, START, START + 1, NEVER - 1, NEVER))
shares = st.sampled_from((0.0, 0.1, 0.3, 0.1 + 0.2, 0.5, 1.0)) | st.floats(0, 1)
near = st.integers(START - 2, START + 2)
bounds = st.one_of(moments, shares, near, near.map(lambda at: at + 0.5), st.floats(), st.integers())

rows = st.builds(
    memory,
    workspace_id=words,
    org=words,
    project=words,
    agent_id=words,
    session_id=words,
    memory_scope=scopes,
    type=types,
    tags=st.lists(words, max_size=3, unique=True).map(tuple),
    source=words,
    metadata=st.dictionaries(
        st.sampled_from(("k", "a.b", "a b", 'a"b', "$", "sessionId")),
        st.none() | words | st.sampled_from(PLAIN),
        max_size=3,
    ),
    confidence=shares,
    occurred_at=moments,
    expires_at=st.none() | moments,
)

pairs = st.sampled_from(PAIRS) | st.builds("{}={}".format, st.sampled_from(("k", "a.b", 'a"b', "sessionId")), words)
values = st.one_of(words, types.map(str), scopes.map(str), st.builds("agent:{}".format, words))
leaves = st.one_of(
    st.builds(Equals, st.sampled_from(KEYWORD_FIELDS), values),
    st.builds(OneOf, st.sampled_from(KEYWORD_FIELDS), st.lists(values, max_size=4).map(tuple)),
    st.builds(Equals, st.just(METADATA_PAIRS), pairs),
    st.builds(OneOf, st.just(METADATA_PAIRS), st.lists(pairs, max_size=3).map(tuple)),
    st.builds(AtLeast, st.sampled_from(NUMBER_FIELDS), bounds),
    st.builds(LessThan, st.sampled_from(NUMBER_FIELDS), bounds),
)
trees: st.SearchStrategy[Condition] = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(AllOf, st.lists(inner, max_size=3).map(tuple)),
        st.builds(AnyOf, st.lists(inner, max_size=3).map(tuple)),
    ),
    max_leaves=6,
)


def several(strategy: st.SearchStrategy[str]) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(strategy, max_size=2).map(tuple)


viewers = st.builds(
    Viewer,
    workspace_id=words,
    agent_id=words,
    orgs=st.none() | several(words),
    without_org=st.booleans(),
    session_id=words,
)
criteria = st.builds(
    Criteria,
    org=words,
    project=words,
    only_project=st.booleans(),
    types=st.lists(types, max_size=2).map(tuple),
    scopes=st.lists(scopes, max_size=2).map(tuple),
    tags=several(words),
    agents=several(words),
    sources=several(words),
    metadata=st.lists(pairs, max_size=1).map(tuple),
    min_confidence=st.none() | shares,
    since=st.none() | moments,
    until=st.none() | moments,
)
predicates = st.builds(visible, viewers, criteria, moments)
SLOW = settings(
    max_examples=examples(150),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


async def selected(database: Database, stored: Sequence[Memory], asked: Sequence[Condition]) -> list[set[str]]:
    """Which of these rows each condition selects in the database."""

    def fill(connection: Connection) -> None:
        connection.execute(delete(memories))
        insert_rows(connection, memories, [row_from_memory(each, None) for each in stored])

    def ask(connection: Connection) -> list[set[str]]:
        return [set(connection.execute(select(memories.c.id).where(compiled(each))).scalars()) for each in asked]

    await database.write(fill)
    return await database.read(ask)


def expected(stored: Sequence[Memory], asked: Sequence[Condition]) -> list[set[str]]:
    return [{row.id for row in stored if matches(each, row)} for each in asked]


@SLOW
@given(stored=st.lists(rows, max_size=8), asked=st.lists(trees, min_size=1, max_size=8))
async def test_any_condition_selects_the_rows_it_matches(
    database: Database, stored: list[Memory], asked: list[Condition]
) -> None:
    assert await selected(database, stored, asked) == expected(stored, asked)


@SLOW
@given(stored=st.lists(rows, max_size=8), asked=st.lists(predicates, min_size=1, max_size=8))
async def test_any_viewer_sees_the_rows_that_are_visible(
    database: Database, stored: list[Memory], asked: list[Condition]
) -> None:
    # Most random viewers see nothing, so some look from the place of a memory.
    beside = [
        visible(Viewer(row.workspace_id, row.agent_id, session_id=row.session_id), Criteria(), START) for row in stored
    ]
    assert await selected(database, stored, [*asked, *beside]) == expected(stored, [*asked, *beside])


async def test_no_odd_string_is_taken_for_another(database: Database) -> None:
    """Compare each string with each other, in every keyword column."""
    for field in KEYWORD_FIELDS:
        if field in {"type", "memory_scope", "audience"}:
            continue
        given: list[dict[str, Any]] = [{field: (value,) if field == "tags" else value} for value in ODD]
        stored = [memory(**each) for each in given]
        asked = [Equals(field, value) for value in ODD] + [OneOf(field, (value, value + " ")) for value in ODD]
        assert await selected(database, stored, asked) == expected(stored, asked), field


async def test_the_audience_column_is_the_audience(database: Database) -> None:
    stored = [
        memory(memory_scope=scope, agent_id=agent, session_id=session)
        for scope in Scope
        for agent in ("", "a", "A", "1:a", "a ")
        for session in ("", "a", "1:a")
    ]
    asked = [Equals("audience", row.audience) for row in stored]
    assert await selected(database, stored, asked) == expected(stored, asked)


def test_only_the_named_fields_can_be_asked_for() -> None:
    for field in ("content", "id", "session_id", "metadata", "nothing"):
        with pytest.raises(KeyError):
            compiled(Equals(field, "a"))
        with pytest.raises(KeyError):
            compiled(AtLeast(field, 1))
