"""The index of standing queries finds what a plain comparison finds, after any additions and removals, and nothing
that the query's agent may not see."""

import math
import tracemalloc
from array import array
from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from openbrain.domain.access.visibility import Criteria, matches, visible
from openbrain.domain.limits import CONTENT_CHARS
from openbrain.domain.memory import Memory, MemoryType, Scope
from openbrain.domain.text.words import held, words_of
from openbrain.ports.subscriptions import StandingQuery
from openbrain_matcher.matching.book import ALL_WORDS, Book
from tests.support.forms import examples
from tests.support.store.fixtures import START, memory

MODELS = ("m1", "m2")
WORDS = ("支付服务的端口", "支付服务", "端口", "口", "payment", "payments", "gateway", "id4711", "timeout", "the", "ox")
ORGS = ("", "acme", "beta")
AGENTS = ("ada", "bo")

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
unit = st.sampled_from([array("f", (math.cos(turn), math.sin(turn))) for turn in range(7)])
criteria = st.builds(
    Criteria,
    org=st.sampled_from(ORGS),
    project=st.sampled_from(("", "shop")),
    types=st.sampled_from(((), (MemoryType.FACT,))),
    agents=st.sampled_from(((), ("ada",))),
)
queries = st.builds(
    StandingQuery,
    id=st.sampled_from([f"q{number}" for number in range(8)]),
    workspace_id=st.just("w1"),
    agent_id=st.sampled_from(AGENTS),
    key_id=st.just("k"),
    orgs=st.sampled_from((None, ("acme",), ("acme", "beta"))),
    without_org=st.booleans(),
    query=st.just("") | texts,
    criteria=criteria,
    min_similarity=st.sampled_from((0.0, 0.5, 0.9)),
    include_own=st.booleans(),
    created_at=st.just(START),
    deleted_at=st.sampled_from((None, None, START)),
)
vectors = st.dictionaries(st.sampled_from(MODELS), unit)
memories = st.builds(
    lambda **changes: memory()._replace(**changes),
    content=texts,
    workspace_id=st.sampled_from(("w1", "w1", "w2")),
    org=st.sampled_from(ORGS),
    project=st.sampled_from(("", "shop", "forge")),
    agent_id=st.sampled_from(AGENTS),
    memory_scope=st.sampled_from(Scope),
    session_id=st.just("s1"),
    type=st.sampled_from((MemoryType.FACT, MemoryType.BUG)),
)


def similarity(
    query: StandingQuery, own: "dict[str, array[float]]", row: Memory, passages: Sequence["array[float]"]
) -> float | None:
    """The similarity, computed in the slow and obvious way."""
    near = (
        max((sum(a * b for a, b in zip(own["m1"], each, strict=True)) for each in passages), default=-1.0)
        if ("m1" in own)
        else -1.0
    )
    words = words_of(query.query)
    if words and held(words, row.content) == words and query.min_similarity <= ALL_WORDS:
        near = max(near, ALL_WORDS)
    return near if near >= query.min_similarity - 1e-6 else None


def standing_query(name: str, query: str = "gateway") -> StandingQuery:
    return StandingQuery(
        id=name,
        workspace_id="w1",
        agent_id="bo",
        key_id="k",
        orgs=None,
        without_org=True,
        query=query,
        criteria=Criteria(),
        min_similarity=0.0,
        include_own=True,
        created_at=START,
    )


def test_a_query_is_found_by_any_name_of_a_memory() -> None:
    book, row = Book(), memory()._replace(title="Zanzibar ledger", aliases=("Quetzal",), tags=("walrus",))
    queries = {query: standing_query(query, query) for query in ("zanzibar", "quetzal", "walrus", "sky", "otter")}
    book.apply(list(queries.values()), {})

    assert {each.query.id for each in book.find(row, [], "m1")} == queries.keys() - {"otter"}


def test_one_endless_word_takes_little_memory() -> None:
    book, row = Book(), memory()._replace(content="0af" * (CONTENT_CHARS // 3 - 10) + " gateways")
    book.apply([standing_query("q")], {})

    tracemalloc.start()
    try:
        found = book.find(row, [], "m1")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert [each.query.id for each in found] == ["q"]
    assert peak < 100 * CONTENT_CHARS


def test_a_query_without_a_vector_is_near_nothing() -> None:
    book, right = Book(), array("f", (1, 0))
    first, second, third = map(standing_query, ("first", "second", "third"))

    def found() -> set[str]:
        return {each.query.id for each in book.find(memory("the sky is blue"), [right], "m1")}

    book.apply([first, second], {"first": {"m1": right}})
    assert found() == {"first"}
    book.apply([replace(first, deleted_at=START)], {})
    book.apply([third], {})
    assert found() == set(), "nor one in the place of another that had one"


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.tuples(queries, vectors), max_size=20), memories, st.lists(unit, max_size=2), st.integers(1, 5))
def test_it_finds_what_is_near_or_named_and_what_may_be_seen(
    changes: list[tuple[StandingQuery, "dict[str, array[float]]"]],
    row: Memory,
    passages: list["array[float]"],
    at_once: int,
) -> None:
    book = Book()
    standing: dict[str, tuple[StandingQuery, dict[str, array[float]]]] = {}
    for start in range(0, len(changes), at_once):
        some = changes[start : start + at_once]
        # If a query changed twice, the database gives its last version.
        latest = {query.id: (query, own) for query, own in some}
        book.apply([query for query, _ in latest.values()], {name: own for name, (_, own) in latest.items()})
        standing |= latest

    found = {each.query.id: each.similarity for each in book.find(row, passages, "m1")}

    expected: dict[str, float | None] = {}
    for name, (query, own) in standing.items():
        if query.deleted_at is not None or not matches(visible(query.viewer, query.criteria, START), row):
            continue
        if row.agent_id == query.agent_id and not query.include_own:
            continue
        if not query.query:
            expected[name] = None
        elif (near := similarity(query, own, row, passages)) is not None:
            expected[name] = near
    assert found.keys() == expected.keys()
    for name, near in expected.items():
        told = found[name]
        assert (told is None) == (near is None)
        assert near is None or told is None or abs(told - min(near, 1.0)) < 1e-3
