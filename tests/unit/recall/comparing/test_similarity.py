"""The absolute similarity of a memory, and when no memory is near."""

from dataclasses import replace

import pytest

from openbrain.domain.text.words import words_of
from openbrain_api.recall.comparing.similarity import ALL_WORDS, CLOSE, FEW, LONG_CHARS, Precision, close, similarity
from openbrain_api.recall.order import RankedMemory
from tests.support.store.fixtures import memory


@pytest.mark.parametrize(
    ("query", "content", "expected"),
    [
        ("Which port does ERR-4711 block?", "ERR-4711 blocks the port 80", ALL_WORDS),
        ("the heron", "Herons fish here", ALL_WORDS),
        ("heron and otter", "a heron", ALL_WORDS / 2),
        ("ERR-4711", "ERR-4712", ALL_WORDS / 2),
        ("who is it?", "anything", 0),
    ],
)
def test_a_memory_without_token_states_is_as_near_as_the_words_it_holds(
    query: str, content: str, expected: float
) -> None:
    assert similarity(words_of(query), memory()._replace(content=content), None) == pytest.approx(expected)


def test_what_holds_every_word_is_near_whatever_its_token_states_say() -> None:
    row = memory()._replace(content="svc-blue.example", tags=("podman",))

    assert similarity(words_of("podman"), row, 0.1) == ALL_WORDS
    assert similarity(words_of("podman rootless"), row, 0.1) == 0.1
    assert similarity(words_of("podman"), row, 0.93) == 0.93


@pytest.mark.parametrize(
    ("query", "content", "expected"),
    [
        ("支付服务", "我们的支付服务在八号端口", ALL_WORDS),
        ("端口", "支付服务的端口", ALL_WORDS),
        ("口", "支付服务的端口", ALL_WORDS),
        ("付支", "支付服务", 0),
        ("支付端口", "支付服务的端口", ALL_WORDS * 2 / 3),
        ("データベース", "毎晩のデータベースのバックアップ", ALL_WORDS),
        ("ERR支付", "支付 err", ALL_WORDS),
    ],
)
def test_words_are_found_where_no_spaces_are_written(query: str, content: str, expected: float) -> None:
    row = memory()._replace(content=content)

    assert similarity(words_of(query), row, None) == pytest.approx(expected)


@pytest.mark.parametrize("query", ["the Zanzibar", "quetzal", "ludmila's ledger", "walrus of Zanzibar"])
def test_the_words_of_its_names_are_its_words_too(query: str) -> None:
    row = memory()._replace(title="Zanzibar ledger", aliases=("Quetzal",), speaker="Ludmila", tags=("walrus",))

    assert similarity(words_of(query), row, 0.1) == ALL_WORDS


@pytest.mark.parametrize(
    ("precision", "least", "certain", "shown"),
    [
        (Precision.BALANCED, None, True, 3),
        (Precision.EXACT, None, True, 1),
        (Precision.RECALL, None, True, 3),
        (Precision.EXACT, None, False, 3),
        (Precision.RECALL, 0.55, False, 2),
        (Precision.BALANCED, 0.9, True, 0),
    ],
)
def test_what_is_shown_by_precision(precision: Precision, least: float | None, certain: bool, shown: int) -> None:
    hits = [RankedMemory(memory(), 1.0, near) for near in (0.75, 0.6, 0.2)]

    assert close(hits, precision, least, compared=200, certain=certain) == hits[:shown]


@pytest.mark.parametrize(("precision", "shown"), [("balanced", 0), ("exact", 0), ("recall", 1)])
def test_nothing_is_shown_where_the_best_is_far(precision: str, shown: int) -> None:
    hits = [RankedMemory(memory(), 1.0, CLOSE - 0.01)]

    assert len(close(hits, Precision(precision), None, compared=200, certain=True)) == shown


def test_of_many_hits_those_far_behind_the_best_are_left_out_but_for_turns_and_names() -> None:
    near, far = RankedMemory(memory(), 1.0, 0.75), RankedMemory(memory(), 1.0, 0.2)
    turn = replace(far, memory=far.memory._replace(session_id="s", turn=1))
    few, many = [near, *[far] * (FEW - 1)], [near, *[far] * FEW, turn]
    wanted = frozenset({far.memory.id})

    def shown(hits: list[RankedMemory], precision: Precision, wanted: frozenset[str] = frozenset()) -> object:
        return close(hits, precision, None, compared=200, certain=True, wanted=wanted)

    assert shown(few, Precision.BALANCED) == few
    assert shown(many, Precision.BALANCED) == [near, turn]
    assert shown(many[:-1], Precision.BALANCED, wanted) == many[:-1]
    assert shown([near, far], Precision.EXACT, wanted) == [near, far]
    assert shown([far], Precision.BALANCED, wanted) == [far]


def test_a_long_text_may_be_further_behind_the_best_than_a_short_one() -> None:
    near, short = RankedMemory(memory(), 1.0, 1.0), RankedMemory(memory("x" * LONG_CHARS), 1.0, 0.7)
    long = replace(short, memory=memory("x" * (LONG_CHARS + 1)))
    at_once = [near] * FEW

    assert close([*at_once, short, long], Precision.BALANCED, None, compared=200, certain=True) == [*at_once, long]
