"""The words before a text: the same on every machine, whatever its language and time zone."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from openbrain.domain.memory import DAY
from openbrain.domain.text.passages import header
from openbrain.domain.times import from_iso, to_datetime
from tests.support.store.fixtures import memory

LAST = from_iso("9998-12-31T23:59:59Z")


def test_it_says_when_and_who() -> None:
    at = from_iso("2023-05-08T23:59:59Z")
    assert at is not None
    assert header(memory(occurred_at=at, speaker="Caroline")) == "8 May 2023 Monday Caroline:"
    assert header(replace(memory(), occurred_at=at + 1_000_000, speaker="")) == "9 May 2023 Tuesday"


@given(st.integers(from_iso("0001-01-01T00:00:00Z"), LAST))
def test_every_time_has_a_day_of_its_own(at: int) -> None:
    day, month, year, weekday = header(replace(memory(), occurred_at=at, speaker="")).split()
    told = to_datetime(at)
    assert (int(day), int(year)) == (told.day, told.year)
    assert (month, weekday) == (told.strftime("%B"), told.strftime("%A")), "tests run in the locale C"
    later = header(replace(memory(), occurred_at=at + DAY, speaker=""))
    assert later != f"{day} {month} {year} {weekday}"
