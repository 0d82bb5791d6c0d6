"""Which memories repeat one that is shown before them, and which only resemble it."""

import json
from pathlib import Path
from unittest.mock import AsyncMock, Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openbrain.domain.access.visibility import Criteria, Viewer
from openbrain.domain.memory import DAY, Memory, Scope
from openbrain.domain.text.duplicates import wording
from openbrain.domain.text.duplicates.outline import Outline, about
from openbrain.domain.text.duplicates.wording import Wording, says_all
from openbrain.settings import Recall
from openbrain_api.recall.hits.echoes import Folding
from openbrain_api.recall.hits.past import PastRecaller
from openbrain_api.recall.order import RankedMemory
from openbrain_api.recall.question import Question
from tests.support.indexes.entries import WORKSPACE, memory
from tests.support.store.fixtures import FakeClock

PAIRS = json.loads(
    (Path(__file__).parents[3] / "benchmarks/questions/cases/echo_pairs.json").read_text(encoding="utf-8")
)
WORDS = (
    "port",
    "5433",
    "5434",
    "not",
    "staging",
    "stagings",
    "deploys",
    "Ana",
    "the",
    "if",
    "-2",
    "slowly",
    "is",
    "of",
)
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map(" ".join)


def same(one: str, other: str) -> bool:
    return either(memory(content=one), memory(content=other))


def either(one: Memory, other: Memory) -> bool:
    wordings = Wording.of(one), Wording.of(other)
    return says_all(*wordings) or says_all(*reversed(wordings))


def test_pairs_that_say_the_same() -> None:
    missed = [pair for pair in PAIRS["same"] if not same(*pair)]

    assert len(missed) <= 0.1 * len(PAIRS["same"]), missed


@pytest.mark.parametrize("pair", PAIRS["different"], ids=" | ".join)
def test_pairs_that_differ(pair: list[str]) -> None:
    assert not same(*pair)


@pytest.mark.parametrize(
    "other",
    [
        {"speaker": "Melanie"},
        {"org": "acme"},
        {"project": "web"},
        {"title": "Another thing"},
        {"session_id": "s2", "turn": 4},
        {"content": "we met today", "occurred_at": 30 * DAY},
    ],
    ids=repr,
)
def test_what_they_are_about_must_agree(other: dict[str, object]) -> None:
    alike: dict[str, object] = {
        "content": "we met today" if "content" in other else "ok",
        "project": "shop",
        "session_id": "s1",
        "turn": 4 if "turn" in other else None,
        "occurred_at": DAY,
    }

    one = memory()._replace(**alike)  # type: ignore[arg-type]  # the values are named above
    assert either(one, one)
    assert not either(one, one._replace(**other))  # type: ignore[arg-type]  # by the cases


def test_what_is_of_every_project_says_the_same_as_what_is_of_one() -> None:
    of_one = memory(content="ok", project="shop")

    assert either(of_one, memory(content="ok"))
    assert either(of_one, memory(content="ok", project="web", memory_scope=Scope.SHARED))


def test_one_that_says_more_is_shown() -> None:
    short = memory(content="The staging database listens on port 5433")
    long = memory(content="The staging database here listens on port 5433")

    assert says_all(Wording.of(long), Wording.of(short))
    assert not says_all(Wording.of(short), Wording.of(long))
    assert len(Folding().fold([RankedMemory(short, 1), RankedMemory(long, 1)])) == 2
    assert len(Folding().fold([RankedMemory(long, 1), RankedMemory(short, 1)])) == 1


@given(st.lists(texts, max_size=12))
def test_nothing_is_lost_and_nothing_is_told_twice(some: list[str]) -> None:
    hits = [RankedMemory(memory(content=each), 1.0) for each in some]
    folded = Folding().fold(hits)
    told = [each for hit in folded for each in (hit.memory.id, *hit.folded)]

    assert sorted(told) == sorted(hit.memory.id for hit in hits)
    behind = {each for hit in folded for each in hit.folded}
    assert [hit.memory.id for hit in folded] == [each.memory.id for each in hits if each.memory.id not in behind]
    assert [hit.memory.id for hit in Folding().fold(folded)] == [hit.memory.id for hit in folded]


@given(st.lists(texts, max_size=12), st.integers(0, 5))
def test_the_first_ones_are_the_same_however_many_are_wanted(some: list[str], most: int) -> None:
    hits = [RankedMemory(memory(content=each), 1.0) for each in some]

    assert Folding().fold(hits, most) == Folding().fold(hits)[:most]


async def test_of_the_past_each_is_compared_with_those_shown_only(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = FakeClock()
    rows = [memory(content=f"port {first}{second}") for first in "abcdefgh" for second in "abcdefgh"]
    past = PastRecaller(AsyncMock(past=AsyncMock(return_value=rows)), clock, Recall())
    comparing = Mock(return_value=False)
    monkeypatch.setattr(Folding, "_says_all", comparing)

    viewer = Viewer(WORKSPACE, "ada")
    found = await past.recall(Question(query="port", top_k=2, viewer=viewer, criteria=Criteria()), clock.now())

    assert len(found.ranked) == 2
    assert comparing.call_count < 2 * len(rows)


@given(one=texts, other=texts)
def test_what_is_folded_holds_no_other_number_or_negation(one: str, other: str) -> None:
    shown, wording = Wording.of(memory(content=one)), Wording.of(memory(content=other))

    assert says_all(shown, shown)
    if says_all(shown, wording):
        for word in ("5433", "5434", "not", "-2", "Ana"):
            assert other.split().count(word) <= one.split().count(word)
        assert {"5433", "5434", "not", "-2"} & {*one.split()} == {"5433", "5434", "not", "-2"} & {*other.split()}


FORMS = ("don't", "do not", "they've", "they have", "cannot", "can't", "Caroline's", "Carolines", "won't", "will not")


def overlooked(one: str, other: str) -> bool:
    memories = memory(content=one), memory(content=other)
    first, second = map(Outline.of, memories)
    seen = about(memories[0]) == about(memories[1]) and first.may_say_all(second)
    return says_all(*map(Wording.of, memories)) and not seen


@given(one=st.lists(st.sampled_from(WORDS + FORMS), min_size=1, max_size=6).map(" ".join), other=texts)
def test_a_glance_overlooks_nothing(one: str, other: str) -> None:
    for pair in ((one, other), (one, one.lower()), (f"please {one}", one)):
        assert not overlooked(*pair)
        assert not overlooked(*pair[::-1])


def test_a_glance_overlooks_none_of_the_pairs() -> None:
    assert not [pair for pair in PAIRS["same"] if overlooked(*pair) or overlooked(*pair[::-1])]


def test_a_glance_is_enough_for_most() -> None:
    sayings = [memory(content=each) for pair in PAIRS["different"] for each in pair]
    outlines = [(about(each), Outline.of(each)) for each in sayings]

    looks = sum(one[0] == other[0] and one[1].may_say_all(other[1]) for one in outlines for other in outlines)
    assert looks < 3 * len(sayings), "each is compared with itself, the other of its pair, and hardly any other"


def test_the_same_words_in_another_order_are_told_apart_early(monkeypatch: pytest.MonkeyPatch) -> None:
    words = [f"{first}{second}rd" for first in "abcdefghijkl" for second in "aeiouy"]
    one = Wording.of(memory(content=" ".join(words)))
    other = Wording.of(memory(content=" ".join((words[1], words[0], *words[3:], words[2]))))
    comparing = Mock(side_effect=wording.same_word)
    monkeypatch.setattr(wording, "same_word", comparing)

    assert not says_all(one, other)
    assert comparing.call_count < 5
