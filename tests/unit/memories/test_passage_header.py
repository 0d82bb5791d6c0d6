"""The header before a text is the same on every machine, language and time zone; and when a text is cut."""

import re

from hypothesis import given
from hypothesis import strategies as st

from openbrain.domain.memory import DAY
from openbrain.domain.text.passages import WORDS, header, passages
from openbrain.domain.times import from_iso, to_datetime
from tests.support.store.fixtures import memory

LAST = from_iso("9998-12-31T23:59:59Z")


def test_it_says_when_and_who() -> None:
    at = from_iso("2023-05-08T23:59:59Z")
    assert at is not None
    assert header(memory(occurred_at=at, speaker="Caroline")) == "8 May 2023 Monday Caroline:"
    assert header(memory()._replace(occurred_at=at + 1_000_000, speaker="")) == "9 May 2023 Tuesday"


@given(st.integers(from_iso("0001-01-01T00:00:00Z"), LAST))
def test_every_time_has_a_day_of_its_own(at: int) -> None:
    day, month, year, weekday = header(memory()._replace(occurred_at=at, speaker="")).split()
    told = to_datetime(at)
    assert (int(day), int(year)) == (told.day, told.year)
    assert (month, weekday) == (told.strftime("%B"), told.strftime("%A")), "tests run in the locale C"
    later = header(memory()._replace(occurred_at=at + DAY, speaker=""))
    assert later != f"{day} {month} {year} {weekday}"


@given(
    st.lists(st.sampled_from(["a", "x_1", "Tahoe", "né"]), min_size=WORDS - 3, max_size=WORDS + 3),
    st.lists(st.sampled_from([" ", ".", "\n", "\x1f", "-", "  ", "\x00", "é", "_"]), min_size=4, max_size=4),
)
def test_a_text_of_no_more_words_than_a_passage_is_not_cut(words: list[str], gaps: list[str]) -> None:
    text = "".join(f"{word}{gaps[number % len(gaps)]}" for number, word in enumerate(words))
    assert (passages(text) == ()) is (len(re.findall(r"\w+", text)) <= WORDS)
