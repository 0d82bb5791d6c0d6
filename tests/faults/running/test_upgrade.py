"""An upgrade from an earlier version under load: clients that retry see no error, and nothing is lost."""

import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.planning.plan import ROOMS
from tests.faults.processes.earlier import COMMIT, Earlier, earlier
from tests.faults.processes.fleet import Zygote
from tests.faults.running.run_upgrade import SCHEMA, UPGRADE, UpgradeRun, upgrading
from tests.faults.running.test_rolling import ANSWERED, TO_REPEAT
from tests.faults.running.world import World
from tests.support.forms import long_form

pytestmark = pytest.mark.timeout(1800 if long_form() else 900)
COUNT = 600 if long_form() else 90


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Earlier:
    found = earlier(tmp_path_factory.mktemp("earlier"))
    if found is None:
        pytest.skip(f"this checkout has no history as far as {COMMIT}: clone it whole")
    return found


@pytest.fixture(scope="module")
def zygote_before(before: Earlier) -> Iterator[Zygote]:
    with contextlib.closing(Zygote(before.root, before.environment)) as made:
        yield made


def test_it_is_the_earlier_code_that_runs(before: Earlier) -> None:
    said = before.does("import openbrain, openbrain_api, openbrain_cli as c; print(openbrain.__file__, c.__path__[0])")
    assert all(Path(each).is_relative_to(before.root) for each in said.split())


@pytest.mark.slow("an earlier version is imported, and each of fourteen processes is ended and started again")
def test_an_upgrade_loses_nothing(servers: World, before: Earlier, zygote_before: Zygote) -> None:
    run = UpgradeRun(upgrading(3, COUNT), servers, before, zygote_before)
    verdict = asyncio.run(run.verdict())

    assert verdict.good, verdict.line()
    assert verdict.injected[SCHEMA] == 1
    assert "0019" == run.schema[0] < run.schema[1]
    assert {verdict.injected[f"{UPGRADE} of {service}"] for service in ROOMS} == {2}
    assert all(process.zygote is servers.zygote for process in run.fleet.processes)
    assert set(verdict.statuses) <= ANSWERED | TO_REPEAT, verdict.statuses
    assert run.side_by_side > 0
    print(f"statuses {dict(verdict.statuses)}, {run.side_by_side} while both versions ran")  # noqa: T201
