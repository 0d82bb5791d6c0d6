"""Texts merged into one."""

from itertools import combinations, islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openbrain.domain.text.duplicates import merging
from openbrain.domain.text.duplicates.merging import holds_to, merged
from openbrain.domain.text.duplicates.sameness import Tokens, same_sentence

SENTENCES = (
    "The gateway timeout is 30 s.",
    "Note that the gateway timeout is 30 seconds.",
    "The gateway timeout is 60 s.",
    "Ana knows why.",
    "It does not restart.",
)
SOURCES = ("The gateway timeout is 30 s.", "Ask Ana before changing it on March 3, 2026.")
texts = st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=4).map(" ".join)


def test_each_sentence_once_in_the_first_wording() -> None:
    newest, older = "The gateway timeout is 30 s. It's in nginx.conf.", "Gateway timeout is 30 seconds. Ask Ana first."

    assert merged([newest, older]) == f"{newest}\nAsk Ana first."


def test_both_of_two_that_contradict_stay() -> None:
    assert merged(["Ana or Bob approves.", "Ana and Bob approve."]) == "Ana or Bob approves.\nAna and Bob approve."
    assert merged(["Ana or Bob approves.", "Bob or Ana approves."]) == "Ana or Bob approves."


def test_many_empty_lines_are_read_in_one_pass() -> None:
    # If each is looked at again from each before it, this takes longer than any test may.
    text = "Ask Ana." + "\n" * 2_000_000 + "Ask Bob."

    assert merged(["Wait.", text]) == "Wait.\nAsk Ana.\nAsk Bob."


def test_of_many_sentences_only_those_that_may_say_the_same_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    words = [f"{first}{second}tto" for first in "bcdfghklmnprstvw" for second in "aeiou"]
    lines = [f"{one.title()} {two} {three}." for one, two, three in islice(combinations(words, 3), 1400)]
    some, others = "\n".join(lines[:700]), "\n".join(lines[700:])
    compared: list[tuple[Tokens, Tokens]] = []

    def counted(one: Tokens, other: Tokens) -> bool:
        compared.append((one, other))
        return same_sentence(one, other)

    monkeypatch.setattr(merging, "same_sentence", counted)
    assert merged([some, others, others]).splitlines() == lines
    assert len(compared) == 700  # each of the repeated ones with its equal


def test_code_stays_whole() -> None:
    code = "Run this:\n```\nmake a. make b\n```"

    assert merged(["Ask Ana.", code]) == f"Ask Ana.\n{code}"


@given(st.lists(texts, min_size=1, max_size=4))
def test_nothing_is_lost_and_merging_again_adds_nothing(some: list[str]) -> None:
    whole = merged(some)

    assert merged([whole, *some]) == whole
    assert whole.startswith(some[0])


@pytest.mark.parametrize(
    ("text", "stands"),
    [
        ("The gateway timeout is 30 seconds; ask Ana before changing it on 2026-03-03.", True),
        ("The timeout is 60 s.", False),
        ("Ask Bob before changing it.", False),
        ("Ask Ana on March 4, 2026.", False),
        (" ", False),
        ("the timeout " * 40, False),
    ],
)
def test_a_text_of_a_model_holds_to_its_sources(text: str, stands: bool) -> None:
    assert holds_to(text, SOURCES) is stands
