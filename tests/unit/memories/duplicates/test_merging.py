"""Texts merged into one."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openbrain.domain.text.duplicates.merging import holds_to, merged

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


def test_many_empty_lines_take_no_long_time() -> None:
    text = "Ask Ana." + "\n" * 40_000 + "Ask Bob."
    began = time.process_time()
    assert merged(["Wait.", text]) == "Wait.\nAsk Ana.\nAsk Bob."
    assert time.process_time() - began < 2  # it was 25 s, where each line was looked at from each before it


def test_many_sentences_take_no_long_time() -> None:
    letters = "bcdfghklmnprstvw"
    words = [f"{one}a{two}e{three}o" for one in letters for two in letters for three in letters]
    some, others = (
        "\n".join(f"{first.title()} {second} {third}." for first, second, third in zip(*[iter(part)] * 3, strict=False))
        for part in (words[:2000], words[2000:])
    )
    began = time.process_time()
    assert merged([some, others]).count("\n") == some.count("\n") + others.count("\n") + 1
    assert time.process_time() - began < 1  # it was 25 s, where each was compared with each


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
