"""A few seeds of the harness in every test run: fixed ones, and one that is new each time."""

import asyncio
import random
from collections.abc import Callable

import pytest

from tests.faults.planning.plan import SERVERS, UP, plan
from tests.faults.running.run_up import run_of
from tests.faults.running.world import World

pytestmark = pytest.mark.timeout(600)  # servers start first, and a failing seed waits for its full time limit

FIXED = range(4, 34)
COUNT = 60


def holds(seed: int, form: str, servers: World) -> None:
    """Assert that the verdict is good; the message has the command that repeats the seed."""
    verdict = asyncio.run(run_of(plan(seed, servers.abilities, count=COUNT, form=form), servers).verdict())
    again = f"python -m tests.faults --seeds 1 --first-seed {seed} --operations {COUNT} --form {form}"
    assert verdict.good, f"{verdict.line()}\n     as here: {again}"


@pytest.mark.long("a seed that is drawn for each run, below")
@pytest.mark.parametrize("seed", FIXED)
def test_nothing_acknowledged_is_lost(seed: int, servers: World) -> None:
    holds(seed, SERVERS, servers)


@pytest.mark.slow("a seed is a whole run under faults")
def test_nothing_is_lost_by_one_process(servers: World) -> None:
    holds(3, UP, servers)


@pytest.mark.slow("the first starts four servers; a seed is a whole run under faults")
def test_nothing_is_lost_by_a_seed_of_this_run(servers: World, record_property: Callable[[str, object], None]) -> None:
    seed = random.SystemRandom().randrange(1_000_000)
    record_property("seed", seed)
    print(f"seed {seed}")  # noqa: T201 - so that a failure of this run can be repeated
    holds(seed, SERVERS, servers)
