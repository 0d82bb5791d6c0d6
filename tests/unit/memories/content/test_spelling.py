"""Texts are normalised to one form, and names to one spelling."""

import unicodedata
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from openbrain.domain.text.spelling import composed, name_key, normalised_text, one_spelling
from openbrain.usecases.content.cleaning import Normalising
from tests.support.store.fixtures import memory


def test_a_text_has_one_form() -> None:
    assert (
        normalised_text("\ufeffCafe\u0301\u00a0\u200bau lait  \r\n\n\n\n\n\nnext\u00ad \n\n")
        == "Café au lait\n\n\nnext"
    )
    assert normalised_text("```\nx  \n\n\n\n\n\ny\n```") == "```\nx  \n\n\n\n\n\ny\n```"
    assert normalised_text("👩\u200d🚀") == "👩\u200d🚀"


def test_a_long_gap_is_read_once() -> None:
    # Looking at each space again from each before it would take hours.
    gap = " " * 5_000_000
    assert normalised_text(f"a{gap}b") == f"a{gap}b"


@given(st.text(max_size=80))
def test_the_form_is_one(text: str) -> None:
    assert normalised_text(normalised_text(text)) == normalised_text(text)


def test_a_name_is_spelled_as_most_do() -> None:
    counted = {"K8s": 2, "k8s": 5, "data_base": 1, "Data-Base": 1, "k9s": 1, "C++": 3, "C": 1, "shop": 9}

    assert one_spelling(counted) == {"K8s": "k8s", "Data-Base": "data_base"}
    assert one_spelling({"Shop": 3, "shop": 3}) == {"Shop": "shop"}
    assert name_key("-") == ""
    assert one_spelling({"-": 1, "_": 2}) == {}


@given(st.dictionaries(st.sampled_from(["a-b", "A B", "a_b", "ab", "AB", "Ab", "c"]), st.integers(1, 9)))
def test_chosen_spellings_are_left_alone(counted: dict[str, int]) -> None:
    chosen = one_spelling(counted)

    assert not chosen.keys() & set(chosen.values())
    assert all(name_key(name) == name_key(best) for name, best in chosen.items())


def test_a_turn_of_a_conversation_keeps_its_letters() -> None:
    turn, found = memory("as said  \nthen", identity="t-1", tags=("K8s",)), Counter[str]()

    after = Normalising(tags={"K8s": "k8s"}).memory(turn, found)

    assert (after.content, after.tags, found) == ("as said  \nthen", ("k8s",), {"tags: spelling": 1})
    assert Normalising().memory(memory("as said  \nthen"), found).content == "as said\nthen"


@given(
    st.text(
        st.sampled_from("ae=\u00e9\u1e69\u0301\u0323\u0344\u0345\u0f72\u093c\u05b0\ud55c\u1100\u1161"), max_size=200
    )
)
def test_the_composed_form_is_that_of_unicode(text: str) -> None:
    assert composed(text) == unicodedata.normalize("NFC", text)


def test_many_combining_marks_are_sorted_at_once() -> None:
    # In time that grows with the square of the length this would take 25 minutes.
    pairs = 600_000
    assert composed("a" + "\u0301\u0323" * pairs) == "\u1ea1" + "\u0323" * (pairs - 1) + "\u0301" * pairs
