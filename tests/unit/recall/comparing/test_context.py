"""Properties of the context added to a turn when it is compared with a question."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openbrain.ports.store.memories import Turn
from openbrain_api.recall.comparing.context import FULL_CHARS, WEIGHTS, context

ids = st.sampled_from("abcdefgh")
turns = st.dictionaries(ids, st.builds(Turn, st.sampled_from("st"), st.integers(0, 5), st.integers(1, 5000)))


def test_turns_beside_count_by_their_distance() -> None:
    session = {str(number): Turn("s", number, 50) for number in range(4)} | {"other": Turn("t", 1, 50)}

    assert context(session)["2"] == {"0": WEIGHTS[-2], "1": WEIGHTS[-1], "3": WEIGHTS[1]}


def test_a_long_text_gains_and_lends_less() -> None:
    long = 4 * FULL_CHARS
    found = context({"a": Turn("s", 1, 50), "b": Turn("s", 2, long), "c": Turn("s", 3, long)})

    assert found["b"]["a"] == pytest.approx(WEIGHTS[-1] / 4)
    assert found["a"]["b"] == pytest.approx(WEIGHTS[1] / 4)
    assert found["b"]["c"] == pytest.approx(WEIGHTS[1] / 16)


@given(turns)
def test_only_turns_of_the_same_session_gain_and_lend(known: dict[str, Turn]) -> None:
    for memory_id, others in context(known).items():
        assert {known[other].session_id for other in others} == {known[memory_id].session_id}
        assert memory_id not in others
        assert all(0 < share < 1 for share in others.values())
