"""Token buckets within one process."""

from hypothesis import given
from hypothesis import strategies as st

from openbrain.adapters.local.rates import LocalRates
from openbrain.domain.memory import MICROSECONDS
from openbrain.ports.store.tenants import Rate
from tests.support.store.fixtures import FakeClock

RATE = Rate(per_minute=60, burst=5)


def test_a_bucket_gives_its_burst_and_then_what_comes_in() -> None:
    clock = FakeClock()
    rates = LocalRates(clock)
    taken = [rates.take_now("k", RATE, 1) for _ in range(6)]

    assert [each.granted for each in taken] == [*[True] * 5, False]
    assert [each.remaining for each in taken] == [4, 3, 2, 1, 0, 0]
    assert (taken[4].full_in_s, taken[5].retry_after_s) == (5.0, 1.0)
    clock.advance(MICROSECONDS)
    assert rates.take_now("k", RATE, 1).granted
    assert not rates.take_now("k", RATE, 1).granted
    assert rates.take_now("another", RATE, 1).granted


def test_what_costs_more_than_the_burst_waits_for_all_of_it() -> None:
    clock = FakeClock()
    rates = LocalRates(clock)

    assert rates.take_now("k", RATE, 50).granted
    late = rates.take_now("k", RATE, 50)
    assert (late.granted, late.retry_after_s) == (False, 5.0)
    clock.advance(5 * MICROSECONDS)
    assert rates.take_now("k", RATE, 50).granted


@given(st.lists(st.tuples(st.integers(-5, 5_000_000), st.integers(1, 7)), max_size=200))
def test_never_more_than_the_burst_and_what_came_in(steps: list[tuple[int, int]]) -> None:
    clock = FakeClock()
    rates, given_out, latest = LocalRates(clock), 0, clock.now()
    for pause, cost in steps:
        clock.advance(pause)
        latest = max(latest, clock.now())
        taken = rates.take_now("k", RATE, cost)
        given_out += min(cost, RATE.burst) if taken.granted else 0
        assert 0 <= taken.remaining <= RATE.burst
        assert taken.granted or taken.retry_after_s > 0
    came_in = sum(max(0, pause) for pause, _ in steps) / MICROSECONDS * RATE.per_minute / 60

    assert given_out <= RATE.burst + came_in + 1e-6


def test_what_is_remembered_is_bounded() -> None:
    rates = LocalRates(FakeClock())
    for number in range(10_050):
        rates.take_now(str(number), RATE, 1)

    assert len(rates._buckets) == 10_000
