"""A short part of the long run: every kind of fault once, and a small fleet that is halted."""

import asyncio
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.processes.fleet import Zygote
from tests.faults.signals.halting import halting
from tests.faults.signals.plan import REPLICAS, plan, rolling
from tests.faults.signals.run import run
from tests.servers.plugin import Starter
from tests.support.forms import long_form

pytestmark = pytest.mark.timeout(600)  # servers start first, and a failing seed waits for its full time limit

ROUNDS, COUNT = (10, 2000) if long_form() else (1, 120)
FAULTS = ("kill in a raise", "flushed", "streams killed", "network redis", "network api")


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    made = Zygote()
    yield made
    made.close()


@pytest.mark.slow("a seed is a whole run under faults")
def test_every_subscriber_hears_every_signal(zygote: Zygote, private_server: Starter, tmp_path: Path) -> None:
    seed = random.SystemRandom().randrange(1_000_000)
    made = plan(seed, 120, kinds=FAULTS)
    verdict = asyncio.run(run(made, zygote, private_server(made.streams), tmp_path / "run", agents=6))

    assert not verdict.findings, verdict.line()
    assert verdict.injected["offline"] == 1


@pytest.mark.slow("each replica of amygdala is ended and started again, ten times in the long form")
def test_a_rolling_restart_loses_no_signal(zygote: Zygote, private_server: Starter, tmp_path: Path) -> None:
    made = rolling(3, COUNT, ROUNDS)
    streams, database = private_server(made.streams), private_server("mariadb")
    verdict = asyncio.run(run(made, zygote, streams, tmp_path / "run", agents=6, database=database))

    assert not verdict.findings, verdict.line()
    assert verdict.restarts == REPLICAS * ROUNDS
    assert verdict.broadcasts >= len(made.wanted)


def test_a_fleet_is_halted_and_resumed(zygote: Zygote, private_server: Starter, tmp_path: Path) -> None:
    result = asyncio.run(halting(zygote, private_server("valkey"), tmp_path / "halt", agents=24))

    assert not result.findings, result.line()
