"""Properties of the order of hits."""

import itertools
import math
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openbrain.domain.access.visibility import Criteria
from openbrain.domain.memory import DAY, HALF_LIFE_DAYS, MemoryType, Scope
from openbrain_api.recall.boost import boosted
from openbrain_api.recall.order import FINE_STEPS, RankedMemory, bucket, confidence_step, ordered, rounded_to_buckets
from openbrain_api.recall.question import Question
from tests.support.store.fixtures import START, memory, viewer

NOW = START + 400 * DAY
WIDTH = 0.02


def found(score: float, name: str = "", **changes: Any) -> RankedMemory:
    return RankedMemory(memory(name, id=name or "x", **changes), score)


def names(*candidates: RankedMemory) -> list[str]:
    return [each.memory.id for each in ordered(candidates, now=NOW, width=WIDTH, half_life_days=HALF_LIFE_DAYS)]


candidates = st.lists(
    st.builds(
        lambda number, score, scope, kind, confidence, age: RankedMemory(
            memory(
                id=f"{number:03}",
                memory_scope=scope,
                type=kind,
                confidence=confidence,
                confirmed_at=NOW - age,
                created_at=NOW - age,
            ),
            score,
        ),
        number=st.integers(0, 999),
        score=st.floats(0, 1.5),
        scope=st.sampled_from(Scope),
        kind=st.sampled_from(MemoryType),
        confidence=st.floats(0, 1),
        age=st.integers(0, 1000 * DAY),
    ),
    max_size=20,
    unique_by=lambda each: each.memory.id,
)


def test_relevance_counts_first() -> None:
    assert names(found(0.5, "low", memory_scope=Scope.AGENT), found(0.9, "high", memory_scope=Scope.SESSION)) == [
        "high",
        "low",
    ]


def test_within_a_bucket_the_scope_decides() -> None:
    tied = [found(0.9 - place / 1000, scope.value, memory_scope=scope) for place, scope in enumerate(reversed(Scope))]

    assert names(*tied) == ["agent", "project", "shared", "session"]


def test_then_what_is_still_sure_then_what_is_new() -> None:
    faded = found(0.9, "faded", type=MemoryType.OBSERVATION)
    lasting = found(0.9, "lasting", type=MemoryType.CONVENTION, confidence=0.5)
    newer = found(0.9, "newer", type=MemoryType.CONVENTION, confidence=0.5, created_at=START + 1)

    assert names(faded, lasting, newer) == ["newer", "lasting", "faded"]


def test_a_little_age_does_not_outweigh_what_is_more_relevant() -> None:
    older = found(0.9, "older", type=MemoryType.OBSERVATION, confirmed_at=NOW - DAY // 8, created_at=NOW - DAY // 8)
    newer = found(0.89, "newer", type=MemoryType.OBSERVATION, confirmed_at=NOW, created_at=NOW)

    assert names(newer, older) == ["older", "newer"]


def test_buckets_are_measured_from_the_top() -> None:
    assert [bucket(0.95, score, WIDTH) for score in (0.95, 0.931, 0.93, 0.911, 0.91)] == [0, 0, 1, 1, 2]


@given(candidates)
def test_no_better_bucket_comes_later_and_ties_follow_the_rules(some: list[RankedMemory]) -> None:
    best = ordered(some, now=NOW, width=WIDTH, half_life_days=HALF_LIFE_DAYS)
    top = max((each.score for each in some), default=0)
    scopes = list(Scope)

    for earlier, later in itertools.pairwise(best):
        one, other = bucket(top, earlier.score, WIDTH), bucket(top, later.score, WIDTH)
        assert one <= other
        if one == other:
            first, second = scopes.index(earlier.memory.memory_scope), scopes.index(later.memory.memory_scope)
            assert first <= second
            if first == second:
                sure = [confidence_step(each.memory, NOW, HALF_LIFE_DAYS) for each in (earlier, later)]
                assert sure[0] >= sure[1]
                if sure[0] == sure[1]:
                    finer = [bucket(top, each.score, WIDTH / FINE_STEPS) for each in (earlier, later)]
                    assert finer[0] <= finer[1]
                    if finer[0] == finer[1]:
                        assert earlier.memory.created_at >= later.memory.created_at


@given(candidates, st.randoms(use_true_random=False))
def test_the_order_of_candidates_makes_no_difference(some: list[RankedMemory], shuffled: random.Random) -> None:
    other = list(some)
    shuffled.shuffle(other)

    assert names(*other) == names(*some)
    assert sorted(names(*some)) == sorted(each.memory.id for each in some)


def question(**changes: Any) -> Question:
    return Question(query="q", top_k=5, viewer=viewer(), criteria=Criteria(), **changes)


def test_a_number_lifts_by_the_share_of_keywords_present() -> None:
    about = memory("Deploy with Podman", tags=("ops",), project="web")

    assert boosted(0.5, about, question(keywords=("podman", "docker"), boost=0.4)) == pytest.approx(0.7)
    assert boosted(0.5, about, question(keywords=("PODMAN", "ops", "web"), boost=0.3)) == pytest.approx(0.8)
    assert boosted(0.5, about, question(keywords=("docker",))) == 0.5


def test_a_list_lifts_by_half_once_one_word_is_there() -> None:
    about = memory("Deploy with Podman", org="acme", source="import")

    for word in ("podman", "ACME", "import", "fact"):
        assert boosted(0.5, about, question(boost_words=("docker", word))) == 0.75
    assert boosted(0.5, about, question(boost_words=("docker",))) == 0.5


@pytest.mark.parametrize("word", ["zanzibar", "QUETZAL", "Ludmila"])
def test_a_keyword_is_found_in_every_name(word: str) -> None:
    named = memory(title="Zanzibar ledger", aliases=("Quetzal",), speaker="Ludmila")

    assert boosted(0.5, named, question(keywords=(word,), boost=0.3)) == pytest.approx(0.8)
    assert boosted(0.5, named, question(boost_words=(word,))) == 0.75


@given(st.floats(0, 1), st.lists(st.text(min_size=1, max_size=3), max_size=4), st.floats(0, 10))
def test_a_keyword_never_lowers(score: float, words: list[str], boost: float) -> None:
    asked = question(keywords=tuple(words), boost=boost, boost_words=tuple(words))

    assert boosted(score, memory("abc def"), asked) >= score


@given(st.lists(st.floats(min_value=0, max_value=1), min_size=1, max_size=8))
def test_a_rounded_score_is_within_a_bucket_of_its_own_and_never_below_zero(scores: list[float]) -> None:
    rounded = rounded_to_buckets([found(score) for score in scores], max(scores), WIDTH)

    for score, hit in zip(scores, rounded, strict=True):
        assert score - 1e-6 <= hit.score < score + WIDTH + 1e-6
        assert math.copysign(1, hit.score) == 1
