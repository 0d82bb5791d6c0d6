"""The rest after a step depends on how long it computed and how long it waited."""

import pytest

from openbrain.ports.lifecycle import PRUNE
from openbrain.ports.store.operations import Operation, Progress
from openbrain_housekeeper.back_pressure import CHANGING_REST, LOOKING_REST, WAITING_REST, paced

NOW = 1_760_000_000_000_000


@pytest.mark.parametrize(
    ("dry_run", "took", "computed", "rest"),
    [
        (True, 2.0, 2.0, LOOKING_REST * 2.0),
        (True, 2.0, 0.5, LOOKING_REST * 0.5 + WAITING_REST * 1.5),
        (True, 2.0, 3.0, LOOKING_REST * 2.0),  # a second thread was working as well
        (False, 2.0, 0.5, CHANGING_REST * 2.0),
    ],
)
async def test_rest_after_a_step(dry_run: bool, took: float, computed: float, rest: float) -> None:
    elapsed, processor, rests = 0.0, 0.0, list[float]()

    async def step(operation: Operation) -> Progress:
        nonlocal elapsed, processor
        elapsed, processor = elapsed + took, processor + computed
        return Progress(done=1, total=1, result={})

    async def sleep(seconds: float) -> None:
        rests.append(seconds)

    request = {"criteria": {}, "older_than": 0, "rule": {}, "dry_run": dry_run}
    operation = Operation(id="1", workspace_id="w", kind=PRUNE, actor="a", request=request, created_at=NOW)
    paced_step = paced(step, time=lambda: elapsed, processor=lambda: processor, sleep=sleep)
    assert (await paced_step(operation)).done == 1
    assert rests == [pytest.approx(rest)]
