"""Tests that the verifier finds each kind of difference."""

from dataclasses import replace
from typing import Any

import pytest

from tests.faults.signals.judging import Record, Said, judge
from tests.faults.signals.plan import KINDS, plan
from tests.faults.signals.reading import Row, Truth
from tests.faults.verifying import findings

ROWS = (Row("a", "k-1", "active", 1, 2), Row("b", "k-2", "resolved", 2, 1))
TOLD: dict[int, dict[str, Any]] = {seq: {} for seq in (1, 2, 3)}
TRUTH = Truth(ROWS, TOLD, 0)
RAISED = {"k-1": 2, "k-2": 1}
SAID = (Said(1, "a", "active", "warning"), Said(2, "b", "active", "critical"), Said(3, "b", "resolved", "critical"))


def found(truth: Truth = TRUTH, said: tuple[Said, ...] = SAID, raised: dict[str, int] = RAISED) -> set[str]:
    return {each.kind for each in judge(truth, raised, [Record("ada", 0, list(said))])}


def test_nothing_is_found_where_all_is_well_also_twice_and_in_any_order() -> None:
    assert found() == set()
    assert found(said=(SAID[2], SAID[1], SAID[0], SAID[1])) == set()


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        (findings.GAP, {"said": SAID[1:]}),
        (findings.GAP, {"truth": replace(TRUTH, broadcasts={1: {}, 3: {}}), "said": (SAID[0], SAID[2])}),
        (findings.GHOST, {"said": (*SAID, Said(4, "c", "active", "info"))}),
        (findings.STALE, {"said": (*SAID[:2], Said(3, "b", "active", "critical"))}),
        (findings.LOST, {"raised": {**RAISED, "k-3": 1}}),
        (findings.LOST, {"raised": {**RAISED, "k-1": 3}}),
        (findings.DUPLICATE, {"raised": {**RAISED, "k-1": 1}}),
        (findings.DUPLICATE, {"truth": replace(TRUTH, signals=(*ROWS, Row("d", "k-2", "active", 2, 1)))}),
    ],
)
def test_each_difference_is_found(kind: str, change: dict[str, Any]) -> None:
    assert kind in found(**change)


def test_a_seed_decides_all_of_its_run() -> None:
    assert plan(7, 100) == plan(7, 100)
    assert {fault.kind for seed in range(50) for fault in plan(seed, 4).faults} == set(KINDS)
    assert sum(plan(7, 100).wanted.values()) == 100
