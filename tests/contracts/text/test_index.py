"""The contract of the full-text index, on each adapter: what is found, what is reported, what is kept separate."""

import asyncio
import math

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from openbrain.domain.access.visibility import NEVER, AllOf, AnyOf, AtLeast, Condition, Equals, LessThan, OneOf, matches
from openbrain.domain.errors import NeverRetry, TryLater
from openbrain.domain.limits import CONTENT_CHARS, QUERY_CHARS
from openbrain.domain.memory import Memory
from openbrain.ports.index import Standing, TextEntry, TextIndex, TextSearch, Tombstone
from tests.support.forms import examples
from tests.support.indexes.conditions import conditions, rows
from tests.support.indexes.entries import EVERYTHING, WORKSPACE, memory, new_id, text_entry, tombstone

Prepared = tuple[TextIndex, str]
LAWS = settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
NO_NUMBER_HOLDS_IT = 10**30


async def write(prepared: Prepared, *entries: TextEntry | Tombstone) -> None:
    index, name = prepared
    assert await index.write(name, entries) == {}


async def found(prepared: Prepared, query: str, condition: AllOf = EVERYTHING, limit: int = 100) -> list[str]:
    index, name = prepared
    return [hit.memory_id for hit in await index.search(name, query, condition, limit)]


async def test_what_was_written_is_found_and_read(text_index: Prepared) -> None:
    row = memory(tags=("x", "y"), confidence=0.5, expires_at=NEVER - 1)
    entry = text_entry(row, "The ferry leaves at noon", revision=7, metadata={"ticket": {"seats": [4, None, "b"]}})

    await write(text_index, entry)

    index, name = text_index
    assert await found(text_index, "when does the ferry leave") == [row.id]
    assert await index.read(name, [row.id, new_id(), row.id]) == {
        row.id: Standing(
            id=row.id, memory_id=row.id, revision=7, bucket=entry.bucket, digest=entry.digest, tombstone=False
        )
    }
    assert await index.read(name, []) == {}


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Running dogs", "run dog"),
        ("the deployment was rolled back", "DEPLOYMENTS"),
        ("Alice's dog", "alice"),
        ("Alice\u2019s dog", "Alice"),
        ("they don't agree", "agree?"),
        ("naïve café in Zürich", "café"),
        ("the 日本語 text", "日本"),
        ("port 8788 is taken", "8788"),
        ("ham, eggs and spam", 'spam AND NOT "ham" -eggs'),
        ("one of many words", "zebra words"),
        ("emoji 😀 here", "emoji"),
        ("the address is in config.yaml", "what does the config say"),
        ("it returns user_display_name", "the user's name"),
        ("gateway at 192.168.0.17:8443", "192.168.0.17"),
        ("v2.14.1 breaks the export", "which version is 2.14"),
        ("report by O\u2019Neill", "neill"),
        ("½ cup of oats", "½"),
        ("the news of today", "News"),
    ],
)
async def test_words_are_compared_as_english_has_them(text_index: Prepared, text: str, query: str) -> None:
    row = memory()
    await write(text_index, text_entry(row, text), text_entry(memory(), "something else entirely"))

    assert await found(text_index, query) == [row.id]


@pytest.mark.parametrize("query", ["", " \n", "the and of", "?!", '"', "\x00", "*", "zebra"])
async def test_a_question_without_words_that_occur_finds_nothing(text_index: Prepared, query: str) -> None:
    await write(text_index, text_entry(memory(), "the cat and a dog, of course *"))

    assert await found(text_index, query) == []


@settings(LAWS, max_examples=examples(100))
@given(query=st.text(max_size=QUERY_CHARS))
@example(query="\ud800 cat \udfff")
@example(query='text:cat^2 (dog" ~1 [a TO \\ AND OR NOT +-&&||!{}/.*/ {"a":1}')
@example(query="word " * (QUERY_CHARS // 5))
@example(query="x y " * (QUERY_CHARS // 4))
@example(query="w" * QUERY_CHARS)
@example(query="日" * QUERY_CHARS)
async def test_any_text_is_a_question(text_index: Prepared, query: str) -> None:
    await found(text_index, query)


async def test_the_best_come_first_and_no_more_than_asked_for(text_index: Prepared) -> None:
    both, once, long = memory(), memory(), memory()
    await write(
        text_index,
        text_entry(once, "a ferry in some harbour"),
        text_entry(both, "ferry ticket"),
        text_entry(long, f"a ferry {'and much else that nobody asks about ' * 20}"),
    )
    index, name = text_index

    hits = await index.search(name, "ferry ticket", EVERYTHING, 10)

    assert [hit.memory_id for hit in hits] == [both.id, once.id, long.id]
    assert hits[0].score > hits[1].score > hits[2].score > 0
    assert await index.search(name, "ferry ticket", EVERYTHING, 2) == hits[:2]


async def test_a_filter_adds_nothing_to_a_score(text_index: Prepared) -> None:
    await write(text_index, text_entry(memory(tags=("t",), confidence=0.7), "ferry"))
    index, name = text_index

    plain = await index.search(name, "ferry", AllOf(()), 10)

    narrow = AllOf((Equals("tags", "t"), OneOf("type", ("fact", "bug")), AtLeast("confidence", 0.5), EVERYTHING))
    assert await index.search(name, "ferry", narrow, 10) == plain


@LAWS
@given(several=st.lists(rows, min_size=1, max_size=6), condition=conditions)
async def test_a_filter_says_what_the_predicate_says(
    text_index: Prepared, several: list[Memory], condition: AllOf
) -> None:
    word = f"w{new_id().replace('-', '')}"
    by_id = {row.id: row for row in (memory_with_new_id(row) for row in several)}
    await write(text_index, *(text_entry(row, word) for row in by_id.values()))

    assert set(await found(text_index, word, condition)) == {
        row.id for row in by_id.values() if matches(condition, row)
    }


def memory_with_new_id(row: Memory) -> Memory:
    return row._replace(id=memory().id)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (AtLeast("occurred_at", 1000.5), False),
        (AtLeast("occurred_at", 999.5), True),
        (LessThan("occurred_at", 1000.5), True),
        (LessThan("occurred_at", 1000.0), False),
        (AtLeast("occurred_at", -math.inf), True),
        (LessThan("occurred_at", math.inf), True),
        (AtLeast("expires_at", NEVER), True),
        (LessThan("expires_at", NEVER), False),
        (OneOf("tags", ()), False),
        (AnyOf(()), False),
        (AllOf(()), True),
        (Equals("project", ""), True),
        (Equals("source", "ma"), False),
        (Equals("source", "Manual"), False),
    ],
)
async def test_edges_of_the_condition_language(text_index: Prepared, condition: Condition, expected: bool) -> None:
    await write(text_index, text_entry(memory(occurred_at=1000), "ferry"))

    assert bool(await found(text_index, "ferry", AllOf((condition,)))) is expected


async def test_many_searches_answer_as_each_alone(text_index: Prepared) -> None:
    words = "ferry harbour ticket noon"
    several = [memory(project=f"p{number % 2}", confidence=number / 20) for number in range(20)]
    texts = (" ".join(words.split()[number % 4 :]) for number in range(20))
    await write(text_index, *(text_entry(row, text) for row, text in zip(several, texts, strict=True)))
    index, name = text_index
    narrow = AllOf((EVERYTHING, OneOf("project", ("p1",)), AtLeast("confidence", 0.3)))
    searches = [
        TextSearch(query, condition, limit)
        for query in ("ferry", "ticket at noon", "", "?!", "zebra", words, "ferry")
        for condition in (EVERYTHING, narrow, AllOf((AnyOf(()),)))
        for limit in (1, 7, 100)
    ]

    together = await index.search_many(name, searches)

    alone = [await index.search(name, each.query, each.condition, each.limit) for each in searches]
    assert [list(each) for each in together] == [list(each) for each in alone]
    assert max(len(each) for each in together) == 20
    assert list(await index.search_many(name, [])) == []


async def test_no_filter_finds_a_tombstone(text_index: Prepared) -> None:
    row = memory()
    await write(text_index, text_entry(row, "ferry"))
    await write(text_index, tombstone(row.id, revision=2), tombstone(new_id(), revision=1))

    for condition in (AllOf(()), EVERYTHING, AllOf((Equals("workspace_id", ""),)), AllOf((LessThan("confidence", 9),))):
        assert await found(text_index, "ferry", condition) == []


async def test_every_writer_finds_its_own_on_return(text_index: Prepared) -> None:
    async def writer(number: int) -> None:
        for turn in range(4):
            row, word = memory(), f"word{number}x{turn}"
            await write(text_index, text_entry(row, word))
            assert await found(text_index, word) == [row.id]
            await write(text_index, tombstone(row.id, revision=2))
            assert await found(text_index, word) == []

    await asyncio.gather(*(writer(number) for number in range(8)))


async def test_an_entry_that_can_t_be_taken_fails_alone(text_index: Prepared) -> None:
    good = [memory() for _ in range(9)]
    bad = [memory() for _ in range(3)]
    batch = [text_entry(row, "ferry") for row in good]
    batch[2:2] = [text_entry(bad[0], "secret", bucket=NO_NUMBER_HOLDS_IT)]
    batch[6:6] = [
        text_entry(bad[1], "")._replace(text="secret \ud800"),
        text_entry(bad[2], "secret", digest=NO_NUMBER_HOLDS_IT),
    ]
    index, name = text_index

    failures = await index.write(name, batch)

    assert failures.keys() == {row.id for row in bad}
    assert all(isinstance(each, NeverRetry) and "secret" not in str(each) for each in failures.values())
    assert set(await found(text_index, "ferry secret")) == {row.id for row in good}
    await write(text_index, *(text_entry(row, "mended") for row in bad))
    assert set(await found(text_index, "mended")) == {row.id for row in bad}


async def test_a_batch_of_the_largest_memories(text_index: Prepared) -> None:
    several = [memory() for _ in range(200)]
    words = "lorem ipsum dolor " * (CONTENT_CHARS // 18)

    await write(text_index, *(text_entry(row, f"{words} n{number}") for number, row in enumerate(several)))

    assert await found(text_index, "n0 n199") in ([several[0].id, several[199].id], [several[199].id, several[0].id])


async def test_metadata_of_any_shape_is_taken(text_index: Prepared) -> None:
    deep: dict[str, object] = {"leaf": "x" * 5000}
    for _ in range(200):
        deep = {"in.": deep, "": [deep.get("leaf"), {"\0": "\0"}], "null": None, "=": 1.5, "yes": True}
    row = memory()

    await write(text_index, text_entry(row, "ferry", metadata=deep))

    assert await found(text_index, "ferry") == [row.id]


async def test_generations_are_apart(text_index: Prepared) -> None:
    index, name = text_index
    other = f"{name}-next"
    await index.prepare(other)
    await index.prepare(name)
    row = memory()
    await write(text_index, text_entry(row, "ferry", revision=5))

    assert await found((index, other), "ferry") == []
    await write((index, other), text_entry(row, "boat", revision=2))
    assert await found((index, other), "boat ferry") == [row.id]
    assert (await index.read(name, [row.id]))[row.id].revision == 5
    assert (await index.read(other, [row.id]))[row.id].revision == 2


async def test_what_was_never_prepared_is_told(text_index: Prepared) -> None:
    index, name = text_index
    missing = f"{name}-never"

    with pytest.raises(TryLater, match="is missing: a running housekeeper recreates"):
        await index.search(missing, "ferry", EVERYTHING, 1)
    with pytest.raises(TryLater, match="is missing: a running housekeeper recreates"):
        await index.search_many(missing, [TextSearch("ferry", EVERYTHING, 1)] * 2)
    with pytest.raises(TryLater, match="is missing: a running housekeeper recreates"):
        await index.read(missing, [new_id()])
    with pytest.raises(TryLater, match="is missing: a running housekeeper recreates"):
        await index.write(missing, [text_entry(memory(), "ferry")])


async def test_it_says_what_it_is(text_index: Prepared) -> None:
    index, _ = text_index

    checked = await index.check()

    assert checked.product in {"tantivy", "Elasticsearch"}
    assert checked.version[0].isdigit()
    assert checked.problems == ()
    assert index.builder
    assert WORKSPACE not in index.builder
