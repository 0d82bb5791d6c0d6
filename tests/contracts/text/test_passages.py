"""Long texts in the full-text index, on each adapter: the best passage counts, and each text has one entry."""

import re

from hypothesis import given
from hypothesis import strategies as st

from openbrain.domain.text.passages import OVERLAP, WORDS, passages
from openbrain.ports.index import TextEntry, TextIndex, TextQuery, Tombstone
from tests.support.indexes.entries import EVERYTHING, memory, text_entry, tombstone

Prepared = tuple[TextIndex, str]
FILLER = "A plain sentence about nothing in particular stands here. "


def long_text(*said: str, between: int = 60) -> str:
    return (FILLER * between).join(("", *(f"{each} " for each in said), ""))


async def write(prepared: Prepared, *entries: TextEntry | Tombstone) -> None:
    index, name = prepared
    assert await index.write(name, entries) == {}


async def found(prepared: Prepared, query: str, limit: int = 100) -> list[str]:
    index, name = prepared
    return [hit.memory_id for hit in await index.search(name, query, EVERYTHING, limit)]


async def test_the_best_passage_counts(text_index: Prepared) -> None:
    together, apart = memory(), memory()
    near, far = long_text("The ferry to the harbour has a timetable.", ""), long_text("ferry", "harbour", "timetable")
    await write(
        text_index,
        text_entry(apart, far, passages=passages(far)),
        text_entry(together, near, passages=passages(near)),
        *(text_entry(memory(), "Something else.") for _ in range(5)),
    )

    assert await found(text_index, "timetable of the harbour's ferry") == [together.id, apart.id]


async def test_one_that_has_many_passages_leaves_room_for_others(text_index: Prepared) -> None:
    many, few = memory(), memory()
    text = long_text(*["ferry " * 30] * 40, between=20)
    await write(
        text_index, text_entry(many, text, passages=passages(text)), text_entry(few, f"One ferry. {FILLER * 10}")
    )

    assert len(passages(text)) > 20
    for limit in (1, 2, 3):
        assert await found(text_index, "ferry", limit) == [many.id, few.id][:limit]


async def test_whoever_counts_counts_it_once(text_index: Prepared) -> None:
    index, name = text_index
    rows = [memory(type=kind) for kind in ("fact", "plan")]
    text = long_text(*["ferry"] * 6)
    entries = [text_entry(rows[0], text, passages=passages(text)), text_entry(rows[1], "ferry")]
    await write(text_index, *entries)

    page = await index.find(name, TextQuery(words="ferry"), EVERYTHING, 10, facets=("type",), values=5)
    assert (page.total, len(page.hits)) == (2, 2)
    assert {each.value: each.count for each in page.facets["type"]} == {"fact": 1, "plan": 1}
    assert {each.value: each.count for each in await index.counts(name, ("type",), EVERYTHING, 5)} == {
        "fact": 1,
        "plan": 1,
    }
    phrase = TextQuery(phrases=("particular stands here A plain",))
    assert (await index.find(name, phrase, EVERYTHING, 10)).total == 1, "the whole text is in order"
    sums = (await index.sums(name)).values()
    assert (sum(each.entries for each in sums), sum(each.digests or 0 for each in sums)) == (
        2,
        sum(each.digest for each in entries),
    )
    told = [standing async for some in index.in_buckets(name, range(1024)) for standing in some]
    assert {each.id for each in told} == {row.id for row in rows}
    marks = [mark async for some in index.entry_marks(name) for mark in some.living]
    assert len(marks) == len(told) == 2


async def test_passages_go_with_what_they_are_of(text_index: Prepared) -> None:
    row = memory()
    text = long_text("ferry", "harbour", "timetable")
    await write(text_index, text_entry(row, text, passages=passages(text)))
    shorter = long_text("ferry", "pier")
    await write(text_index, text_entry(row, shorter, revision=2, passages=passages(shorter)))
    assert await found(text_index, "harbour timetable") == []
    assert await found(text_index, "pier") == [row.id]

    late = text_entry(row, text, revision=1, passages=passages(text))
    await write(text_index, late)
    assert await found(text_index, "harbour timetable") == [], "a late write leaves no passage either"

    await write(text_index, text_entry(row, "ferry", revision=3))
    assert await found(text_index, "pier sentence") == []
    await write(text_index, text_entry(row, text, revision=4, passages=passages(text)), tombstone(row.id, revision=5))
    await write(text_index, tombstone(row.id, revision=6))
    assert await found(text_index, "ferry harbour timetable sentence") == []


@given(st.integers(0, 900), st.sampled_from([" ", "\n\n", ", ", "日"]))
def test_every_word_stands_in_a_passage_and_neighbours_overlap(count: int, between: str) -> None:
    found = [re.findall(r"[0-9]+|日", each) for each in passages(between.join(map(str, range(count))))]
    words = re.findall(r"[0-9]+|日", between.join(map(str, range(count))))
    assert bool(found) is (len(words) > WORDS)
    starts = [0]
    for each in found:
        at = next(at for at in range(starts[-1], len(words)) if words[at : at + WORDS] == each)
        assert at <= starts[-1] + WORDS - OVERLAP, "neighbours overlap"
        starts.append(at)
    assert not found or starts[-1] + WORDS == len(words), "nothing is left out"


def test_a_short_text_is_one_passage_by_itself() -> None:
    assert passages("") == ()
    assert passages("word " * WORDS) == ()
    assert len(passages("word " * (WORDS + 1))) == 2
    assert len(passages("日" * (WORDS + 1))) == 2
