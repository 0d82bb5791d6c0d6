"""A clock is reported as wrong for the time it shows, never for how long the answer took."""

import pytest

from openbrain_cli.system.diagnosis.check_result import CLOCK_S, clock_problems

ASKED, ANSWERED = 1_000_000.0, 1_000_030.0


@pytest.mark.parametrize("theirs", [ASKED, ASKED + 15, ANSWERED, ASKED - CLOCK_S, ANSWERED + CLOCK_S])
def test_a_slow_answer_is_no_wrong_clock(theirs: float) -> None:
    assert clock_problems(theirs, ASKED, ANSWERED) == ()


@pytest.mark.parametrize("theirs", [ASKED - 100, ANSWERED + 100])
def test_a_wrong_clock_is_told_with_how_far_it_is_off(theirs: float) -> None:
    (problem,) = clock_problems(theirs, ASKED, ANSWERED)

    assert "differs from this machine's by 100 s" in problem
