"""What is judged a duplicate by its words, and what only resembles one."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openbrain.domain.memory import DAY
from openbrain.domain.text.duplicates.canonical import canonical_sentences
from openbrain.domain.text.duplicates.near import COSINE, Reading, near_duplicates
from openbrain.domain.text.duplicates.sameness import Claim, same_sentence, says_same, sketch
from tests.support.indexes.entries import memory

SAMPLES = Path(__file__).parents[3] / "samples" / "duplicates"
HALVES = ("frozen", "tuning")
WORDS = (
    "port",
    "5433",
    "30 s",
    "30 seconds",
    "not",
    "Ana",
    "Bob",
    "deploys",
    "and",
    "on",
    "Friday,",
    "if",
    "by",
    "keep",
)
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map(" ".join)


def same(one: str, other: str) -> bool:
    return says_same(Claim.of(memory(content=one)), Claim.of(memory(content=other)))


def pairs(half: str, side: str) -> list[list[str]]:
    kinds: dict[str, list[list[str]]] = json.loads((SAMPLES / f"{half}.json").read_text(encoding="utf-8"))[side]
    return [pair for some in kinds.values() for pair in some]


def assert_same_sketch(one: str, other: str) -> None:
    for sentence in canonical_sentences(one):
        for beside in canonical_sentences(other):
            if same_sentence(sentence, beside):
                assert sketch(sentence) == sketch(beside), (one, other)


@pytest.mark.parametrize("half", HALVES)
def test_sentences_that_are_the_same_have_the_same_sketch(half: str) -> None:
    for side in ("same", "different"):
        for one, other in pairs(half, side):
            assert_same_sketch(one, other)


@given(texts, texts)
def test_words_in_any_order_have_the_same_sketch_if_they_say_the_same(one: str, other: str) -> None:
    assert_same_sketch(one, other)


@pytest.mark.parametrize("half", HALVES)
def test_most_pairs_that_say_the_same_are_found(half: str) -> None:
    known = pairs(half, "same")

    assert sum(same(*pair) for pair in known) >= 0.8 * len(known)


@pytest.mark.parametrize("half", HALVES)
def test_no_pair_that_differs_is_taken_for_one(half: str) -> None:
    assert [pair for pair in pairs(half, "different") if same(*pair)] == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The index is rebuilt by the operator", "The operator rebuilds the index"),
        ("Tests run hourly. Ana reads them.", "Ana reads them. Tests run every hour."),
        ("If the disk is full, call Ana", "Call Ana if the disk is full"),
        ("The web app and the cron job use it", "The cron job and the web app use it"),
    ],
)
def test_another_order_of_the_same(one: str, other: str) -> None:
    assert same(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The parser is called by the lexer", "The parser calls the lexer"),
        ("Wait 10 and 60 seconds", "Wait 60 and 10 seconds"),
        ("Fixed the login test", "Fix the login test, and tell Ana"),
        ("The hook is called by http", "The hook is called by https"),
        ("The cache is at redis://cache", "The cache is at rediss://cache"),
        ("The C client is slow", "The C# client is slow"),
        ("Approval of Ana and Bob is needed", "Approval of Ana or Bob is needed"),
        ("Approval of Ana and Bob is needed", "Approval of Bob or Ana is needed"),
        ("The web app, the job and the console use it", "The job, the web app or the console use it"),
        ("", ""),
    ],
)
def test_what_is_no_duplicate(one: str, other: str) -> None:
    assert not same(one, other)


@pytest.mark.parametrize(
    "other", [{"speaker": "Ana"}, {"title": "Another"}, {"session_id": "s2"}, {"occurred_at": 30 * DAY}], ids=repr
)
def test_what_they_are_about_must_agree(other: dict[str, object]) -> None:
    one = memory(content="we met today")._replace(session_id="s1", turn=4, occurred_at=DAY)

    assert says_same(Claim.of(one), Claim.of(one))
    assert not says_same(Claim.of(one), Claim.of(one._replace(**other)))  # type: ignore[arg-type]  # by the cases


def test_vectors_and_shingles_confirm() -> None:
    one, other = (
        Reading.of(memory(content=text))
        for text in ("The worker holds its lease for 2 minutes", "A worker holds its lease for 120 s")
    )
    far = Reading.of(memory(content="In 60 s: 4 pm"))

    assert near_duplicates(one, other, COSINE)
    assert not near_duplicates(one, other, COSINE - 0.01)
    assert says_same(far.claim, Reading.of(memory(content="within 1 minute: 16:00")).claim)
    assert not near_duplicates(far, Reading.of(memory(content="within 1 minute: 16:00")), 1.0)


@pytest.mark.parametrize("text", ["1", "1.", "x y "], ids=["digits", "dots", "one sentence"])
def test_a_long_text_is_read_once(text: str) -> None:
    # In time that grows with the square of the length this would take more than ten minutes.
    assert Claim.of(memory(content=text * (200_000 // len(text)))).sentences


def test_an_exact_one_needs_no_vector() -> None:
    one, other = (Reading.of(memory(content=text)) for text in ("Deploys are on  Tuesdays.", "deploys are on tuesdays"))

    assert near_duplicates(one, other, 0.0)


@given(one=texts, other=texts)
def test_the_judgement_is_symmetric_and_keeps_numbers_names_and_negations(one: str, other: str) -> None:
    assert same(one, one)
    assert same(one, other) == same(other, one)
    if same(one, other):
        for word in ("5433", "not", "Ana", "Bob"):
            assert (word in one.split()) == (word in other.split())
