"""The clock that follows a database server's clock."""

from hypothesis import given
from hypothesis import strategies as st

from openbrain.adapters.local.clock import FRESH, DatabaseClock
from tests.support.store.fixtures import START, FakeClock

HOUR = 3_600_000_000


@given(
    host=st.integers(-HOUR, HOUR),
    there=st.integers(0, 100_000),
    back=st.integers(0, 100_000),
    passed=st.integers(0, 10 * HOUR),
    jump=st.integers(-HOUR, HOUR),
)
def test_it_tells_the_servers_time_whatever_the_host_says(
    host: int, there: int, back: int, passed: int, jump: int
) -> None:
    """The error is at most half of the answer's round trip, also after the host's clock was set."""
    server, wrong, steady = FakeClock(), FakeClock(START + host), FakeClock(77)
    clock = DatabaseClock(wrong, steady.now)
    assert clock.now() == wrong.now(), "the server has not been asked yet"

    begun = clock.begin()
    assert begun is not None
    for each in (server, wrong, steady):
        each.advance(there)
    told = server.now()
    for each in (server, wrong, steady):
        each.advance(back)
    clock.follow(told, begun)
    for each in (server, wrong, steady):
        each.advance(passed)
    wrong.advance(jump)

    assert abs(clock.now() - server.now()) <= (there + back) // 2 + 1
    assert (clock.begin() is None) == (passed < FRESH), "the server is asked again now and then"


def test_a_difference_that_the_journey_may_explain_moves_nothing() -> None:
    server, steady = FakeClock(), FakeClock(0)
    clock = DatabaseClock(FakeClock(), steady.now)
    clock.follow(server.now(), 0)
    before = clock.now()

    steady.advance(1_000)
    clock.follow(before + 1_000 - 400, 0)
    assert clock.now() == before + 1_000
    clock.follow(before + 1_000 + HOUR, steady.now())
    assert clock.now() == before + 1_000 + HOUR, "the server's clock was set"
