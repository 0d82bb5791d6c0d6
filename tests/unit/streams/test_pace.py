"""Batches are as large as the time limit allows."""

from hypothesis import given
from hypothesis import strategies as st

from openbrain.streams.handling.adaptive_batch import AdaptiveBatch


def test_quick_full_batches_double_up_to_the_most_and_slow_ones_halve() -> None:
    pace = AdaptiveBatch(256, 0.5)
    sizes = [pace.size]
    for seconds in (0.1, 0.2, 0.2, 0.3, 0.6, 0.3, 0.1):
        pace.handled(pace.size, seconds)
        sizes.append(pace.size)
    assert sizes == [64, 128, 256, 256, 256, 128, 128, 256]


def test_what_comes_in_small_batches_says_nothing_about_large_ones() -> None:
    pace = AdaptiveBatch(256, 0.5)
    pace.handled(63, 0.001)
    assert pace.size == 64


def _sizes(pace: AdaptiveBatch, batches: int, fixed: float, each: float) -> list[int]:
    found = []
    for _ in range(batches):
        pace.handled(pace.size, fixed + each * pace.size)
        found.append(pace.size)
    return found


def test_where_each_batch_costs_the_same_small_ones_would_only_be_slower() -> None:
    assert set(_sizes(AdaptiveBatch(256, 2), 40, fixed=4, each=0.001)[-10:]) == {256}, "a refresh, a busy server"


def test_it_grows_no_further_than_it_pays() -> None:
    last = _sizes(AdaptiveBatch(1024, 2), 40, fixed=4, each=0.05)[-10:]
    assert min(last) >= 64
    assert max(last) <= 256


def test_where_each_entry_costs_the_same_batches_are_as_short_as_may_be() -> None:
    assert set(_sizes(AdaptiveBatch(256, 0.5), 40, fixed=0.01, each=0.1)[-10:]) == {16}, "a slow model"


def test_what_was_quick_once_makes_no_batch_larger_now() -> None:
    pace = AdaptiveBatch(256, 0.5)
    _sizes(pace, 5, fixed=0.01, each=0.0005)
    pace.handled(100, 0.6)
    assert pace.size == 128
    assert max(_sizes(pace, 20, fixed=0.01, each=0.1)) == 64
    assert pace.size == 16


def test_what_was_slow_and_is_quick_again_is_given_much_again() -> None:
    pace = AdaptiveBatch(256, 0.5)
    _sizes(pace, 20, fixed=0, each=0.1)
    assert pace.size == 16
    assert _sizes(pace, 20, fixed=0.01, each=0.0005)[-1] == 256


@given(st.integers(1, 1000), st.lists(st.tuples(st.integers(1, 1000), st.floats(0, 100))))
def test_it_stays_within_its_bounds(most: int, batches: list[tuple[int, float]]) -> None:
    pace = AdaptiveBatch(most, 0.5)
    for entries, seconds in batches:
        pace.handled(min(entries, pace.size), seconds)
        assert min(most, 16) <= pace.size <= most
