"""Properties of what neighbours in a session add."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openbrain.ports.store.memories import Turn
from openbrain_api.recall.neighbours import FULL_CHARS, WEIGHTS, added, summed

ids = st.sampled_from("abcdefgh")
scores = st.dictionaries(ids, st.floats(0, 1), min_size=1)
turns = st.dictionaries(ids, st.builds(Turn, st.sampled_from("st"), st.integers(0, 9), st.integers(1, 5000)))


def test_what_was_said_before_and_behind_counts_by_its_distance() -> None:
    session = {str(number): Turn("s", number, 50) for number in range(5)}

    gains = added({"2": 1.0}, session)

    assert gains == {"0": WEIGHTS[2], "1": WEIGHTS[1], "3": WEIGHTS[-1], "4": WEIGHTS[-2]}


def test_another_session_is_no_neighbour() -> None:
    assert added({"a": 1.0}, {"a": Turn("s", 1, 50), "b": Turn("t", 2, 50)}) == {}


def test_a_long_text_gains_less() -> None:
    gains = added({"a": 1.0}, {"a": Turn("s", 1, 50), "b": Turn("s", 2, 4 * FULL_CHARS)})

    assert gains == {"b": pytest.approx(WEIGHTS[-1] / 4)}


def test_several_at_one_place_count_as_the_best_of_them() -> None:
    session = {"a": Turn("s", 1, 50), "b": Turn("s", 1, 50), "c": Turn("s", 2, 50)}

    assert added({"a": 0.2, "b": 0.9}, session)["c"] == pytest.approx(0.9 * WEIGHTS[-1])


@given(scores, turns)
def test_nothing_is_taken_from_anyone_but_by_scale(found: dict[str, float], places: dict[str, Turn]) -> None:
    gains = added(found, places)
    both = summed(found, gains)

    assert all(gain > 0 for gain in gains.values())
    assert both.keys() == found.keys() | gains.keys()
    assert max(both.values()) == pytest.approx(max(found.values()))
    assert summed(found, {}) == found


@given(scores, turns, st.randoms(use_true_random=False))
def test_no_order_matters(found: dict[str, float], places: dict[str, Turn], chance: random.Random) -> None:
    shuffled = list(places.items())
    chance.shuffle(shuffled)

    assert added(found, dict(shuffled)) == pytest.approx(added(found, places))
