"""Every service is restarted in turn while producers write: clients that retry see no error, and nothing is lost."""

import asyncio

import pytest

from tests.faults.processes.fleet import GRACE_S
from tests.faults.running.run_rolling import RESTARTS, SERVICES, RollingRun, rolling
from tests.faults.running.world import World
from tests.support.forms import long_form

pytestmark = pytest.mark.timeout(1800 if long_form() else 900)
ROUNDS, COUNT = (10, 600) if long_form() else (1, 60)
ANSWERED = {200, 201, 202, 204, 404, 409}
"""Statuses without a fault: some operations address a memory that is gone, or change one at the same time as
another."""
TO_REPEAT = {0, 503}


@pytest.mark.long("test_upgrade.py restarts each process once, the seeds of test_short.py kill them at any time")
@pytest.mark.slow("each of sixteen processes is ended and started again")
def test_a_rolling_restart_loses_nothing(servers: World) -> None:
    run = RollingRun(rolling(2, COUNT), servers, ROUNDS)
    verdict = asyncio.run(run.verdict())

    assert verdict.good, verdict.line()
    assert {verdict.injected[f"{RESTARTS} of {service}"] for service in SERVICES} == {2 * ROUNDS}
    assert len(run.ticks) == 2 * ROUNDS * len(SERVICES)
    assert set(verdict.statuses) <= ANSWERED | TO_REPEAT, verdict.statuses
    assert run.longest_end_s < GRACE_S
    print(f"statuses {dict(verdict.statuses)}, longest end {run.longest_end_s:.1f} s")  # noqa: T201
