"""The contract of discovery on the full-text index, on each adapter: phrases, typos, pages, counts."""

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openbrain.domain.access.visibility import AllOf, Equals, OneOf, matches
from openbrain.domain.errors import TryLater
from openbrain.domain.limits import QUERY_CHARS
from openbrain.domain.memory import Memory
from openbrain.ports.index import Count, Found, Place, TextEntry, TextIndex, TextQuery, Tombstone
from tests.support.forms import examples
from tests.support.indexes.conditions import conditions, rows
from tests.support.indexes.entries import EVERYTHING, memory, new_id, text_entry, tombstone

Prepared = tuple[TextIndex, str]
LAWS = settings(
    max_examples=examples(40),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
FACETS = ("type", "tags", "org", "project", "agent_id", "source")


async def write(prepared: Prepared, *entries: TextEntry | Tombstone) -> None:
    index, name = prepared
    assert await index.write(name, entries) == {}


async def found(prepared: Prepared, query: TextQuery, condition: AllOf = EVERYTHING) -> set[str]:
    index, name = prepared
    answer = await index.find(name, query, condition, 100)
    assert answer.total == len(answer.hits)
    return {hit.memory_id for hit in answer.hits}


async def pages(
    prepared: Prepared, query: TextQuery, size: int, condition: AllOf = EVERYTHING
) -> tuple[list[str], list[Found]]:
    """Read all pages as a caller does; return the ids in order and the answers."""
    index, name = prepared
    ids: list[str] = []
    answers: list[Found] = []
    place: Place | None = None
    while True:
        answer = await index.find(name, query, condition, size, place)
        answers.append(answer)
        if not answer.hits:
            return ids, answers
        ids += [hit.memory_id for hit in answer.hits]
        place = Place(answer.hits[-1].score, answer.hits[-1].memory_id, len(ids))


@pytest.mark.parametrize(
    ("text", "phrase", "there"),
    [
        ("the blue boat sank", "blue boat", True),
        ("the blue boat sank", "boat blue", False),
        ("a blue old boat", "blue boat", False),
        ("state of the art", "state of the art", True),
        ("state art", "state of the art", False),
        ("Running Dogs bark", "run dog", True),
        ("blue", "blue", True),
        ("一日本語", "日本", True),
        ("日一本", "日本", False),
        ("naïve Zürich cafés", "zürich café", True),
        ("blue\nboat", "blue boat", True),
    ],
)
async def test_a_phrase_is_words_that_follow_each_other(
    text_index: Prepared, text: str, phrase: str, there: bool
) -> None:
    row = memory()
    await write(text_index, text_entry(row, text))

    assert await found(text_index, TextQuery(phrases=(phrase,))) == ({row.id} if there else set())


async def test_every_phrase_must_occur_and_words_only_lift(text_index: Prepared) -> None:
    both, one, word = memory(), memory(), memory()
    await write(
        text_index,
        text_entry(both, "a blue boat on green water with a ferry"),
        text_entry(one, "a blue boat on green water"),
        text_entry(word, "a ferry and a blue boat"),
    )
    index, name = text_index

    answer = await index.find(name, TextQuery(words="ferry", phrases=("blue boat", "green water")), EVERYTHING, 10)

    assert [hit.memory_id for hit in answer.hits] == [both.id, one.id]


async def test_a_phrase_of_stop_words_is_passed_over(text_index: Prepared) -> None:
    row, other = memory(), memory()
    await write(text_index, text_entry(row, "the ferry is to be late"), text_entry(other, "to be or not to be"))

    assert await found(text_index, TextQuery(phrases=("to be",))) == set()
    assert await found(text_index, TextQuery(phrases=("to be", "?!"), words="ferry")) == {row.id}
    assert await found(text_index, TextQuery(phrases=("to be", "ferry"))) == {row.id}
    assert await found(text_index, TextQuery()) == set()


@pytest.mark.parametrize(
    ("text", "typed", "fuzzy", "exact"),
    [
        ("kubernetes", "kubarnetes", True, False),
        ("kubernetes", "kbuernetes", True, False),
        ("kubernetes", "kuXerXetes", True, False),
        ("kubernetes", "kuXeXXetes", False, False),
        ("boat", "baot", True, False),
        ("boat", "bot", True, False),
        ("boat", "bXXt", False, False),
        ("go", "gi", False, False),
        ("go", "go", True, True),
        ("zürich", "zurich", True, False),
    ],
)
async def test_typos_are_forgiven_where_asked(
    text_index: Prepared, text: str, typed: str, fuzzy: bool, exact: bool
) -> None:
    row = memory()
    await write(text_index, text_entry(row, text), text_entry(memory(), "something else"))

    assert await found(text_index, TextQuery(words=typed, fuzzy=True)) == ({row.id} if fuzzy else set())
    assert await found(text_index, TextQuery(words=typed)) == ({row.id} if exact else set())


async def test_the_exact_word_comes_before_a_near_one(text_index: Prepared) -> None:
    near, exact = memory(), memory()
    await write(text_index, text_entry(near, "the boats"), text_entry(exact, "the boast"))
    index, name = text_index

    for word, first in (("boast", exact), ("boat", near)):
        answer = await index.find(name, TextQuery(words=word, fuzzy=True), EVERYTHING, 10)
        assert answer.hits[0].memory_id == first.id
        assert answer.total == 2


async def test_typos_are_forgiven_in_the_first_words_only(text_index: Prepared) -> None:
    row = memory()
    await write(text_index, text_entry(row, "kubernetes"))
    others = " ".join(f"xx{number}" for number in range(16))

    assert await found(text_index, TextQuery(words=f"kubarnetes {others}", fuzzy=True)) == {row.id}
    assert await found(text_index, TextQuery(words=f"{others} kubarnetes", fuzzy=True)) == set()


@settings(LAWS, max_examples=examples(80))
@given(
    words=st.text(max_size=QUERY_CHARS),
    phrases=st.lists(st.text(max_size=60), max_size=16).map(tuple),
    fuzzy=st.booleans(),
)
async def test_any_text_is_a_query(text_index: Prepared, words: str, phrases: tuple[str, ...], fuzzy: bool) -> None:
    await found(text_index, TextQuery(words=words, phrases=phrases, fuzzy=fuzzy))


@pytest.mark.parametrize(
    "words",
    [
        "\ud800 cat \udfff",
        'text:cat^2 (dog" ~1 [a TO \\ AND OR NOT +-&&||!{}/.*/ {"a":1}',
        " ".join(f"w{number}" for number in range(500)),
        "w" * QUERY_CHARS,
        "日" * QUERY_CHARS,
        "".join(chr(0x4E00 + number) for number in range(QUERY_CHARS)),
    ],
)
async def test_long_and_odd_queries(text_index: Prepared, words: str) -> None:
    await write(text_index, text_entry(memory(), "cat"))
    for fuzzy in (False, True):
        half = len(words) // 2
        await found(text_index, TextQuery(words=words[:half], phrases=(words[half:],), fuzzy=fuzzy))
        await found(text_index, TextQuery(words=words, fuzzy=fuzzy))


async def test_pages_hold_every_hit_once_and_in_order(text_index: Prepared) -> None:
    """Many hits with one score, which no page may lose or repeat, and some better ones."""
    tied = [memory() for _ in range(30)]
    better = [memory() for _ in range(7)]
    await write(text_index, *(text_entry(row, "ferry in a harbour") for row in tied[:15]))
    await write(text_index, *(text_entry(row, f"ferry ferry n{number}") for number, row in enumerate(better)))
    await write(text_index, *(text_entry(row, "ferry in a harbour") for row in tied[15:]))
    query = TextQuery(words="ferry")
    whole, _ = await pages(text_index, query, 100)

    assert set(whole[:7]) == {row.id for row in better}
    assert whole[7:] == sorted(row.id for row in tied)
    for size in (1, 2, 5, 7, 36, 37):
        ids, answers = await pages(text_index, query, size)
        assert ids == whole
        assert {answer.total for answer in answers} == {37}
        assert all(len(answer.hits) == size for answer in answers[: 37 // size])


@pytest.mark.parametrize("memory_id", ["", "zzzz", "00000000-0000-7000-8000-000000000000"])
async def test_a_place_that_never_was_is_a_place_too(text_index: Prepared, memory_id: str) -> None:
    row = memory()
    await write(text_index, text_entry(row, "ferry"))
    index, name = text_index
    query = TextQuery(words="ferry")

    for score, rank, there in ((1e9, 5, True), (0.0, 5, False), (-1.0, 0, False), (1e9, 10**9, True)):
        answer = await index.find(name, query, EVERYTHING, 10, Place(score, memory_id, rank))
        assert [hit.memory_id for hit in answer.hits] == ([row.id] if there else [])
        assert answer.total == 1


async def test_facets_count_all_that_match_and_not_the_page(text_index: Prepared) -> None:
    several = [
        memory(tags=("a", "b"), org="x", project="p", source="s", agent_id="ada"),
        memory(tags=("a",), org="x", project="q", agent_id="ada"),
        memory(tags=(), org="", agent_id=""),
    ]
    await write(text_index, *(text_entry(row, "ferry") for row in several), text_entry(memory(tags=("c",)), "boat"))
    index, name = text_index

    answer = await index.find(name, TextQuery(words="ferry"), EVERYTHING, 1, facets=FACETS, values=10)

    assert (len(answer.hits), answer.total) == (1, 3)
    assert answer.facets == {
        "type": (Count("fact", 3),),
        "tags": (Count("a", 2), Count("b", 1)),
        "org": (Count("x", 2), Count("", 1)),
        "project": (Count("", 1), Count("p", 1), Count("q", 1)),
        "agent_id": (Count("ada", 2), Count("", 1)),
        "source": (Count("manual", 2), Count("s", 1)),
    }
    nothing = await index.find(name, TextQuery(words="zebra"), EVERYTHING, 1, facets=FACETS, values=10)
    assert nothing == Found(hits=nothing.hits, total=0, facets=dict.fromkeys(FACETS, ()))


def expected(several: Sequence[Memory], fields: Sequence[str], limit: int) -> tuple[Count, ...]:
    """The same counts, computed in plain Python."""
    if not fields:
        return ()
    name, *rest = fields
    values = Counter(value for row in several for value in values_of(row, name))
    ordered = sorted(values.items(), key=lambda each: (-each[1], each[0].encode()))[:limit]
    return tuple(
        Count(value, count, expected([row for row in several if value in values_of(row, name)], rest, limit))
        for value, count in ordered
    )


def values_of(row: Memory, name: str) -> tuple[str, ...]:
    return row.tags if name == "tags" else (str(getattr(row, name)),)


@LAWS
@given(
    several=st.lists(rows, min_size=1, max_size=12),
    condition=conditions,
    fields=st.sampled_from((("tags",), ("org",), ("org", "project"), ("project", "tags"), ("source",), ("type",))),
    limit=st.integers(1, 4),
)
async def test_counts_are_of_what_the_predicate_shows(
    text_index: Prepared, several: list[Memory], condition: AllOf, fields: tuple[str, ...], limit: int
) -> None:
    index, name = text_index
    word = f"w{new_id().replace('-', '')}"
    tenant = f"tenant-{word}"
    mine = [row._replace(id=new_id(), speaker=word) for row in several]
    own = [row._replace(source=tenant) if number % 2 else row for number, row in enumerate(mine)]
    await write(text_index, *(text_entry(row, word) for row in own))
    narrow = AllOf((OneOf("source", (tenant, *{row.source for row in own})), condition))
    standing = [row for row in own if matches(narrow, row)]

    answer = await index.find(name, TextQuery(words=word), narrow, 1, facets=fields[:1], values=limit)

    assert answer.total == len(standing)
    assert answer.facets[fields[0]] == expected(standing, fields[:1], limit)
    everything = AllOf((Equals("source", tenant), condition))
    theirs = [row for row in own if matches(everything, row)]
    assert tuple(await index.counts(name, fields, everything, limit)) == expected(theirs, fields, limit)


async def test_a_tombstone_is_not_counted(text_index: Prepared) -> None:
    row, stays = memory(tags=("t",), org="x"), memory(tags=("t",), org="x")
    await write(text_index, text_entry(row, "ferry"), text_entry(stays, "ferry"))
    await write(text_index, tombstone(row.id, revision=2), tombstone(new_id(), revision=1))
    index, name = text_index

    assert list(await index.counts(name, ("tags",), EVERYTHING, 10)) == [Count("t", 1)]
    assert list(await index.counts(name, ("org", "type"), AllOf(()), 10)) == [Count("x", 1, (Count("fact", 1),))]
    assert await found(text_index, TextQuery(words="ferry")) == {stays.id}


async def test_what_was_never_prepared_is_told(text_index: Prepared) -> None:
    index, name = text_index

    with pytest.raises(TryLater, match="is missing: a running housekeeper recreates"):
        await index.find(f"{name}-never", TextQuery(words="ferry"), EVERYTHING, 1)
    with pytest.raises(TryLater, match="is missing: a running housekeeper recreates"):
        await index.counts(f"{name}-never", ("tags",), EVERYTHING, 1)
