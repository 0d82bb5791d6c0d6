"""Properties of fusion."""

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openbrain.ports.index import Hit
from openbrain_api.recall.fuse import fuse, normalise

ids = st.sampled_from("abcdefgh")
scores = st.floats(min_value=-1000, max_value=1000)
hits = st.dictionaries(ids, scores, max_size=8).map(lambda found: [Hit(*each) for each in found.items()])
weights = st.floats(min_value=0, max_value=1)


def test_the_best_is_one_the_worst_is_nothing() -> None:
    assert normalise([Hit("a", 12), Hit("b", 8), Hit("c", 4)]) == {"a": 1, "b": 0.5, "c": 0}


@pytest.mark.parametrize("found", [[Hit("a", -3)], [Hit("a", 2), Hit("b", 2)]])
def test_where_nothing_can_be_told_apart_all_are_best(found: Sequence[Hit]) -> None:
    assert set(normalise(found).values()) == {1.0}


def test_found_by_one_counts_nothing_in_the_other() -> None:
    fused = fuse([Hit("a", 9), Hit("b", 1)], [Hit("c", 0.9), Hit("b", 0.1), Hit("a", 0.5)], 0.25)

    assert fused == {"a": pytest.approx(0.25 + 0.75 * 0.5), "b": 0, "c": 0.75}


@given(hits)
def test_an_index_that_did_not_answer_leaves_the_other_whole(found: Sequence[Hit]) -> None:
    assert fuse(None, found, 0.5) == fuse(found, None, 0.5) == normalise(found)
    assert fuse(None, None, 0.5) == {}


@given(hits, hits, weights)
def test_every_candidate_is_there_once_between_nothing_and_one(
    text: Sequence[Hit], vectors: Sequence[Hit], weight: float
) -> None:
    fused = fuse(text, vectors, weight)

    assert fused.keys() == {hit.memory_id for hit in [*text, *vectors]}
    assert all(0 <= score <= 1 + 1e-9 for score in fused.values())


@given(hits, hits, weights)
def test_better_in_both_is_never_worse_together(text: Sequence[Hit], vectors: Sequence[Hit], weight: float) -> None:
    fused, words, meaning = fuse(text, vectors, weight), normalise(text), normalise(vectors)

    for one in fused:
        for other in fused:
            if words.get(one, 0) >= words.get(other, 0) and meaning.get(one, 0) >= meaning.get(other, 0):
                assert fused[one] >= fused[other]


@given(hits, hits, weights, st.randoms(use_true_random=False))
def test_the_order_of_hits_makes_no_difference(
    text: Sequence[Hit], vectors: Sequence[Hit], weight: float, shuffled: random.Random
) -> None:
    other_text, other_vectors = list(text), list(vectors)
    shuffled.shuffle(other_text)
    shuffled.shuffle(other_vectors)

    assert fuse(text, vectors, weight) == fuse(other_text, other_vectors, weight)


@given(st.dictionaries(ids, st.integers(-100, 100), max_size=8), st.integers(1, 50), st.integers(-100, 100))
def test_the_scale_of_an_index_makes_no_difference(found: dict[str, int], factor: int, shift: int) -> None:
    plain = normalise([Hit(name, score) for name, score in found.items()])
    scaled = normalise([Hit(name, score * factor + shift) for name, score in found.items()])

    assert plain == pytest.approx(scaled)
