"""Properties of the context added to a turn when it is compared with a question."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openbrain.ports.store.memories import Turn
from openbrain_api.recall.comparing.context import CANDIDATES, FULL_CHARS, WEIGHTS, considered, context

ids = st.sampled_from("abcdefgh")
turns = st.dictionaries(ids, st.builds(Turn, st.sampled_from("st"), st.integers(0, 5), st.integers(1, 5000)))


def test_turns_beside_count_by_their_distance() -> None:
    session = {str(number): Turn("s", number, 50) for number in range(4)} | {"other": Turn("t", 1, 50)}

    assert context(list(session), session)["2"] == {"0": WEIGHTS[-2], "1": WEIGHTS[-1], "3": WEIGHTS[1]}


def test_a_long_text_gains_and_lends_less() -> None:
    long = 4 * FULL_CHARS
    found = context(["a", "b", "c"], {"a": Turn("s", 1, 50), "b": Turn("s", 2, long), "c": Turn("s", 3, long)})

    assert found["b"]["a"] == pytest.approx(WEIGHTS[-1] / 4)
    assert found["a"]["b"] == pytest.approx(WEIGHTS[1] / 4)
    assert found["b"]["c"] == pytest.approx(WEIGHTS[1] / 16)


@given(st.sets(ids), turns)
def test_only_what_was_asked_for_gains_or_lends(asked: set[str], known: dict[str, Turn]) -> None:
    found = context(sorted(asked), known)
    alone = context(sorted(asked), {memory_id: turn for memory_id, turn in known.items() if memory_id in asked})

    assert found == alone
    for memory_id, others in found.items():
        assert {memory_id, *others} <= asked & known.keys()
        assert memory_id not in others
        assert all(0 < share < 1 for share in others.values())


def test_the_best_candidates_are_looked_at() -> None:
    scores = {str(number): number / 1000 for number in range(500)}

    assert set(considered(scores, 5)) == {str(number) for number in range(500 - CANDIDATES, 500)}
    assert len(considered(scores, 100)) == 200
    assert considered({}, 5) == []
