"""The edit distance between words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openbrain.adapters.indexes.edit_distance import allowed, near

words = st.text(alphabet="abcd\u00fc\u0103", max_size=8)


@pytest.mark.parametrize(
    ("word", "other", "edits"),
    [
        ("boat", "boat", 0),
        ("boat", "bot", 1),
        ("boat", "boats", 1),
        ("boat", "goat", 1),
        ("boat", "baot", 1),
        ("boat", "abot", 2),
        ("", "ab", 2),
        ("ca", "abc", 3),
    ],
)
def test_edits_that_people_make(word: str, other: str, edits: int) -> None:
    for one, two in ((word, other), (other, word)):
        assert near(one, two, edits)
        assert edits == 0 or not near(one, two, edits - 1)


def test_longer_words_may_hold_more() -> None:
    assert [allowed("x" * length) for length in range(8)] == [0, 0, 0, 1, 1, 1, 2, 2]


@given(word=words, edits=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 7), st.sampled_from("abcd")), max_size=2))
def test_what_was_edited_so_often_is_near(word: str, edits: list[tuple[int, int, str]]) -> None:
    other = word
    for kind, place, letter in edits:
        at = min(place, len(other))
        match kind:
            case 0:
                other = other[:at] + letter + other[at:]
            case 1:
                other = other[:at] + other[at + 1 :]
            case _:
                other = other[:at] + letter + other[at + 1 :]

    assert near(word, other, len(edits))
    assert near(other, word, len(edits))


@given(one=words, two=words)
def test_nothing_is_nearer_than_its_length_says(one: str, two: str) -> None:
    assert near(one, two, 0) == (one == two)
    if abs(len(one) - len(two)) > 2:
        assert not near(one, two, 2)
