"""Batches as large as the time allows."""

from hypothesis import given
from hypothesis import strategies as st

from openbrain.streams.pace import Pace


def test_quick_full_batches_double_up_to_the_most_and_slow_ones_halve() -> None:
    pace = Pace(256, 0.5)
    sizes = [pace.size]
    for seconds in (0.1, 0.2, 0.2, 0.3, 0.6, 0.3, 0.1):
        pace.handled(pace.size, seconds)
        sizes.append(pace.size)
    assert sizes == [64, 128, 256, 256, 256, 128, 128, 256]


def test_what_comes_in_small_batches_says_nothing_about_large_ones() -> None:
    pace = Pace(256, 0.5)
    pace.handled(63, 0.001)
    assert pace.size == 64


@given(st.integers(1, 1000), st.lists(st.tuples(st.integers(1, 1000), st.floats(0, 100))))
def test_it_stays_within_its_bounds(most: int, batches: list[tuple[int, float]]) -> None:
    pace = Pace(most, 0.5)
    for entries, seconds in batches:
        pace.handled(min(entries, pace.size), seconds)
        assert min(most, 16) <= pace.size <= most
