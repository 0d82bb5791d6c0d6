"""Tests of the plan that a seed yields."""

import random

import pytest

from tests.faults.mutation import missed
from tests.faults.planning.operations import operations
from tests.faults.planning.plan import SERVERS, UP, plan
from tests.faults.planning.scenarios import SCENARIOS
from tests.faults.processes.fleet import hear
from tests.faults.processes.inside import POINTS
from tests.faults.processes.mutants import MUTANTS

ALL = frozenset({"streams redis", "streams valkey", "elasticsearch kill", "full disk", "up", "ollama"})


@pytest.mark.parametrize("seed", range(20))
def test_a_seed_decides_all_of_its_run(seed: int) -> None:
    assert plan(seed, ALL, count=40) == plan(seed, ALL, count=40)


def test_seeds_differ_and_cover_what_there_is() -> None:
    plans = [plan(seed, ALL, count=20) for seed in range(400)]
    kinds = {fault.kind for each in plans for fault in each.faults}

    assert {each.form for each in plans} == {SERVERS, UP}
    assert {each.streams for each in plans} == {"redis", "valkey"}
    assert {each.embedder for each in plans} == {"double", "ollama", "embedded"}
    assert {"streams flushed", "streams full disk", "indexes kill", "truth locks", "clock skew", "network"} <= kinds
    assert {each.kind for one in plans for each in one.operations} >= {"erase", "restore", "expire", "race"}


def test_nothing_is_asked_of_servers_that_can_not() -> None:
    plans = [plan(seed, frozenset({"streams valkey"}), count=1) for seed in range(300)]
    kinds = {fault.kind for each in plans for fault in each.faults}

    assert {(each.form, each.streams, each.embedder) for each in plans} == {(SERVERS, "valkey", "double")}
    assert not kinds & {"streams full disk", "indexes kill", "indexes stopped"}


@pytest.mark.parametrize("seed", range(10))
def test_operations_make_sense(seed: int) -> None:
    """No operation changes a memory that does not exist."""
    standing: dict[int, str] = {}
    for operation in operations(random.Random(seed), 200, 12):
        before = standing.get(operation.slot, "none")
        allowed = {"none": {"remember"}, "forgotten": {"restore", "remember"}}
        assert operation.kind in allowed.get(before, {operation.kind} - {"remember", "restore"})
        standing[operation.slot] = {"forget": "forgotten", "expire": "none", "erase": "none"}.get(
            operation.kind, "alive"
        )


def test_a_pid_that_comes_again_is_of_a_living_process() -> None:
    """A long run can use every pid of the machine, so pids are reused."""
    ended: dict[int, int] = {}

    assert not hear({"ended": 7, "status": 0}, ended)
    assert ended == {7: 0}
    assert hear({"pid": 7}, ended)
    assert ended == {}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_mark_that_nobody_came_to_is_told(scenario: str) -> None:
    plan = SCENARIOS[scenario]()
    marks = [each.more for each in plan.faults if each.kind.endswith("at a mark")]
    passed = [f"at a mark: {each['action']} {each['room']} {each['point']}" for each in marks]

    assert all(each["point"] in POINTS[each["room"]] for each in marks)
    assert missed(plan, passed) == []
    assert missed(plan, passed[1:]) == passed[:1]


def test_every_mutant_has_its_scenario() -> None:
    assert {each.scenario for each in MUTANTS.values()} == set(SCENARIOS)
    assert len(MUTANTS) >= 12
