"""Lifecycle operations by housekeepers that are killed at every chunk, or that run in parallel: their effect equals the
dry run's report, and an undo restores everything."""

from typing import Any

import pytest

from openbrain.ports.lifecycle import CLEAN, CONSOLIDATE, DEDUPE
from tests.support.api.lifecycle.every_job import BODIES, filled, tenant_of
from tests.support.api.lifecycle.families import EMBEDDED, ON_ELASTICSEARCH, Family, family
from tests.support.forms import long_form

__all__ = ["family"]

pytestmark = pytest.mark.asyncio(loop_scope="module")

DEALING = ("in the transaction", "after the commit", "before the progress", "after the progress")
UNDOING = ("in the transaction of an undo", "after the commit of an undo", *DEALING[2:])
CLEANING = ("in the transaction of a cleaning", "after the commit of a cleaning", *DEALING[2:])


@pytest.mark.parametrize("family", [EMBEDDED, ON_ELASTICSEARCH], indirect=True, scope="module")
@pytest.mark.slow("some forty housekeepers, each a process of its own that is killed")
async def test_killed_at_every_chunk_and_beside_each_other(family: Family) -> None:
    tenant = await tenant_of(family)
    await filled(tenant)
    operations = tenant.brain.store.operations

    async def begun(path: str, body: dict[str, Any]) -> str:
        response = await tenant.admin.post(path, json=body)
        assert response.status_code == 202, response.text
        operation_id: str = response.json()["operation"]["id"]
        return operation_id

    async def worked(job: str, operation_id: str, points: tuple[str, ...]) -> dict[str, Any]:
        """Run by housekeepers that are killed, if the job has kill points; else by two in parallel, if two may open the
        index."""

        async def ended() -> bool:
            one = await operations.operation(tenant.workspace, operation_id)
            assert one is not None
            return one.status.ended

        alone = not family.shared and job in (DEDUPE, CONSOLIDATE)
        replicas = [""] if alone else ["", ""]
        async with family.lent():
            if points:
                kills = await family.killed(points, ended)
                assert kills >= len(points), (operation_id, kills)
            while not await ended():  # each may have found it leased by the other
                assert set(await family.worked(*replicas)) == {0}
        return await tenant.operation(operation_id)

    # The short form runs every other job on each pair of indexes; the long form runs all jobs on both, killed and in
    # parallel.
    for number, (job, body) in enumerate(BODIES.items() if long_form() else [*BODIES.items()][family.shared :: 2]):
        looked_at = await tenant.ran(job)
        truth = await tenant.unversioned()
        ways = (CLEANING if job == CLEAN else DEALING, ())
        for points in ways if long_form() else [ways[(number + (not family.shared)) % 2]]:
            operation_id = await begun(f"/v1/admin/lifecycle:{job}", body | {"dry_run": False})
            done = await worked(job, operation_id, points)
            if job == CLEAN:
                assert done["result"]["cleaned"] == looked_at["result"]["cleaned"]
                break
            assert done["result"] == looked_at["result"], job
            undoing = await begun(f"/v1/admin/operations/{operation_id}:undo", {})
            await worked(job, undoing, UNDOING if points else ())
            assert await tenant.unversioned() == truth, job
        found = await family.verified()
        assert found["equal"], (job, found)
