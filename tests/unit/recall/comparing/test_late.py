"""Properties of the mix of late interaction with the fused scores."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openbrain.ports.models import TokenSimilarity
from openbrain_api.recall.comparing.late import EXPONENT, FULL_TOKENS, KEPT, NEAR, late_scores, mixed

ids = st.sampled_from("abcdefgh")
scores = st.dictionaries(ids, st.floats(min_value=0, max_value=1), max_size=8)


def compared(scores: Mapping[str, float], tokens: int = 1) -> dict[str, TokenSimilarity]:
    return {memory_id: TokenSimilarity(score, score, tokens) for memory_id, score in scores.items()}


def test_what_has_no_states_keeps_its_score() -> None:
    similar = compared({"b": 0.9, "c": 0.3})

    assert mixed({"a": 0.8, "b": 0.4, "c": 0.2}, similar, 0.5) == {"a": 0.8, "b": 0.7, "c": 0.1}


def test_the_comparison_counts_less_for_a_long_text() -> None:
    fused, similar = {"a": 0.2, "b": 0.2}, {"a": 0.9, "b": 0.3}
    short, medium, long = (
        mixed(fused, compared(similar, tokens), 0.5)["a"] for tokens in (1, FULL_TOKENS, 4 * FULL_TOKENS)
    )

    assert short == medium == pytest.approx(0.6)
    assert long == pytest.approx(0.2 + 0.8 * 0.125)


def test_the_comparison_counts_less_if_nothing_is_near() -> None:
    fused = {"a": 0.2, "b": 0.2}

    assert mixed(fused, compared({"a": NEAR, "b": 0.1}), 0.5)["a"] == pytest.approx(0.6)
    assert mixed(fused, compared({"a": NEAR / 2, "b": 0.1}), 0.5)["a"] == pytest.approx(0.2 + 0.8 * 0.25)
    assert mixed(fused, compared({"a": -0.1, "b": -0.2}), 0.5) == fused


def test_only_the_best_have_a_score() -> None:
    found = late_scores({str(number): number / 100 for number in range(KEPT + 5)})

    assert len(found) == KEPT
    assert found[str(KEPT + 4)] == 1
    assert found["5"] == 0


def test_small_differences_stay_small() -> None:
    assert late_scores({"a": 0.5, "b": 0.45}) == pytest.approx({"a": 1, "b": 0.8**EXPONENT})
    assert late_scores({}) == {}


@given(scores, scores, st.floats(min_value=0, max_value=1), st.integers(1, 1000))
def test_scores_stay_in_0_to_1_and_nothing_is_found_or_lost(
    fused: dict[str, float], similar: dict[str, float], weight: float, tokens: int
) -> None:
    found = mixed(fused, compared(similar, tokens), weight)

    assert found.keys() == fused.keys()
    assert all(0 <= score <= 1 + 1e-9 for score in found.values())
    assert mixed(fused, compared(similar, tokens), 0) == fused
