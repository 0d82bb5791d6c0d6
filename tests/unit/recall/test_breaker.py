"""How many recalls may ask a hanging index, and when it is asked again."""

import pytest

from openbrain.domain.tasks import Backoff
from openbrain_api.recall.indexes.breaker import LONGEST_S, TIMEOUTS_TO_OPEN, Breaker


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> Breaker:
    """Pauses of 1, 2, 4, 8, 10, 10 … seconds."""
    return Breaker("vectors", Backoff(1, LONGEST_S, lambda: 1.0), clock)


def hang(breaker: Breaker, times: int) -> None:
    for _ in range(times):
        assert breaker.allows()
        breaker.hung()


@pytest.mark.parametrize("times", range(TIMEOUTS_TO_OPEN))
def test_less_than_some_in_a_row_say_little(breaker: Breaker, times: int) -> None:
    for _ in range(5):
        hang(breaker, times)
        breaker.answered()
        assert breaker.allows()


def test_then_one_recall_tries_after_each_pause_and_the_pauses_grow(breaker: Breaker, clock: Clock) -> None:
    hang(breaker, TIMEOUTS_TO_OPEN)
    for pause in (1, 2, 4, 8, 10, 10):
        clock.now += pause - 0.01
        assert not breaker.allows()
        clock.now += 0.02
        assert [breaker.allows() for _ in range(5)] == [True, False, False, False, False]
        breaker.hung()


def test_one_answer_closes_it(breaker: Breaker, clock: Clock) -> None:
    hang(breaker, TIMEOUTS_TO_OPEN)
    clock.now += 1.1
    assert breaker.allows()
    breaker.answered()
    hang(breaker, TIMEOUTS_TO_OPEN)
    clock.now += 1.1
    assert breaker.allows(), "and the pauses begin anew"


def test_recalls_that_were_under_way_when_it_opened_make_no_pause_longer(breaker: Breaker, clock: Clock) -> None:
    together = [breaker.allows() for _ in range(20)]
    for _ in together:
        breaker.hung()
    clock.now += 1.1
    assert breaker.allows()


def test_a_try_that_is_broken_off_is_followed_by_another(breaker: Breaker, clock: Clock) -> None:
    """The caller of the attempt went away, so its result is never reported."""
    hang(breaker, TIMEOUTS_TO_OPEN)
    clock.now += 1.1
    assert breaker.allows()
    assert not breaker.allows()
    clock.now += LONGEST_S
    assert breaker.allows()
