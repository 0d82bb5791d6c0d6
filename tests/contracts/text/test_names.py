"""Names that occur in a question, on each adapter of the text index."""

from collections.abc import Sequence
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openbrain.adapters.tantivy import names as names_module
from openbrain.adapters.tantivy.documents import english
from openbrain.adapters.tantivy.names import hold_names, name_keys, question_keys
from openbrain.domain.access.visibility import AllOf, Equals
from openbrain.domain.memory import Memory, names_of
from openbrain.domain.text.passages import passages
from openbrain.ports.index import TextIndex, TextSearch
from tests.support.indexes.entries import EVERYTHING, memory, text_entry, tombstone

Prepared = tuple[TextIndex, str]


async def write(prepared: Prepared, **names: tuple[str, ...]) -> dict[str, Memory]:
    index, name = prepared
    rows = {key: memory(project=key) for key in names}
    text = "word " * 300
    entries = [
        text_entry(row, text, names=names[key], passages=passages(text) if key == "long" else ())
        for key, row in rows.items()
    ]
    assert await index.write(name, entries) == {}
    return rows


async def named(prepared: Prepared, query: str, condition: AllOf = EVERYTHING, limit: int = 100) -> set[str]:
    index, name = prepared
    return {*await index.named(name, TextSearch(query, condition, limit))}


async def test_what_may_be_named_is_found(text_index: Prepared) -> None:
    rows = await write(text_index, long=("Payment gateway", "PSP"), short=("Kubernetes", "k8s"), unnamed=())
    ids = {key: row.id for key, row in rows.items()}

    assert await named(text_index, "how does the payments gateway retry?") == {ids["long"]}
    assert await named(text_index, "our kuberntes and PSP") == {ids["long"], ids["short"]}
    assert await named(text_index, "k8s", AllOf((Equals("project", "long"),))) == set()
    assert await named(text_index, "word and anything else") == set()
    assert await named(text_index, "the of ?!") == set()
    assert len(await named(text_index, "PSP k8s", limit=1)) == 1

    index, name = text_index
    await index.write(name, [text_entry(rows["short"], "word", revision=2), tombstone(ids["long"], revision=2)])
    assert await named(text_index, "k8s payment gateway") == set()


async def test_names_and_passages_are_found_though_there_were_none_before(text_index: Prepared) -> None:
    index, name = text_index
    await write(text_index, unnamed=())
    assert await named(text_index, "our k8s") == set()
    assert len(await index.search(name, "word", EVERYTHING, 5)) == 1

    rows = await write(text_index, long=("k8s",))
    assert await named(text_index, "our k8s") == {rows["long"].id}
    assert len(await index.search(name, "word", EVERYTHING, 5)) == 2


async def test_of_many_with_the_same_first_word_those_come_first_whose_texts_fit(text_index: Prepared) -> None:
    index, name = text_index
    rows = [memory() for _ in range(8)]
    entries = [text_entry(row, f"Meeting no{at}\nword", names=(f"Meeting no{at}",)) for at, row in enumerate(rows)]
    assert await index.write(name, entries) == {}

    for at in (0, 5, 7):
        assert await named(text_index, f"what was said in meeting no{at}?", limit=1) == {rows[at].id}
    assert await named(text_index, "which meeting?", limit=20) == {row.id for row in rows}


@pytest.mark.parametrize(
    ("question", "names", "held"),
    [
        ("what does the payments gateway do", ["Payment Gateway"], True),
        ("the gateway of payments", ["Payment Gateway"], False),
        ("a paymnet gateway", ["Payment Gateway"], True),
        ("Reedis eviction", ["Redis"], True),
        ("mango pools", ["Mongo"], False),
        ("k9s pods", ["k8s"], False),
        ("one or a list of options", ["linting"], False),
        ("two typoes: kubrntes", ["Kubernetes"], False),
        ("response length", ["response_length"], True),
        ("the point of view", ["point of view"], True),
        ("to be or not", ["to be"], False),
        ("anything", ["", "?!"], False),
        ("日本語 text", ["日本"], True),
    ],
)
async def test_a_name_is_a_phrase_of_stems(
    text_index: Prepared, question: str, names: Sequence[str], held: bool
) -> None:
    assert await text_index[0].hold_names(question, [names, ()]) == [held, False]


def test_a_long_question_is_not_compared_word_by_word_with_each_name(monkeypatch: pytest.MonkeyPatch) -> None:
    question = " ".join(["meeting", *(f"{first}{second}rd" for first in "bcdfghjklmnp" for second in "aeiouy")])
    comparing = Mock(side_effect=names_module._meant)
    monkeypatch.setattr(names_module, "_meant", comparing)

    held = hold_names(question, [(f"Meeting {number}", "other") for number in range(50)])
    assert not any(held)
    assert comparing.call_count <= 100


WORDS = st.text("abcdeé", min_size=1, max_size=8)


@given(st.lists(WORDS, min_size=1, max_size=3), st.lists(WORDS, max_size=3), st.data())
def test_every_name_that_stands_there_is_found_by_its_keys(
    name: list[str], around: list[str], data: st.DataObject
) -> None:
    said = []
    for word in name:
        at = data.draw(st.integers(0, len(word)))
        said.append(data.draw(st.sampled_from((word, word[:at] + "a" + word[at:], word[:at] + word[at + 1 :] or word))))
    question, analyzer = " ".join((*around, *said)), english()
    if hold_names(question, [(" ".join(name),)]) == [True]:
        assert {*name_keys((" ".join(name),), analyzer)} & {*question_keys(question, analyzer)}


@pytest.mark.parametrize(
    ("content", "title", "aliases", "names"),
    [
        ("# The ferry #\nleaves", "", ("boat",), ("The ferry", "boat")),
        ("## Ferry", "", (), ("Ferry",)),
        ("\n# Ferry\r\nx", "Boat", (), ("Boat",)),
        ("text\n# Ferry", "", (), ()),
        ("#ferry is a tag", "", (), ()),
        ("#\nnothing", "", ("b",), ("b",)),
        (f"# {'x' * 201}", "", (), ()),
    ],
)
def test_a_heading_is_a_title_where_there_is_none(
    content: str, title: str, aliases: tuple[str, ...], names: tuple[str, ...]
) -> None:
    assert names_of(memory(content=content, title=title, aliases=aliases)) == names
