"""Every job on each family of indexes: a dry run predicts what happens, an undo restores database and indexes, and
the indexes agree with the database after each."""

import pytest

from openbrain.ports.lifecycle import CLEAN, JOBS
from tests.support.api.lifecycle.every_job import BODIES, filled, tenant_of
from tests.support.api.lifecycle.families import ELASTICSEARCH, EMBEDDED, ON_QDRANT, ON_SERVERS, Family, family

__all__ = ["family"]

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant:UserWarning"),
]


_KILLED = pytest.mark.long("the same jobs on it by killed housekeepers: tests/faults/running/test_lifecycle.py")


@pytest.mark.parametrize(
    "family",
    [EMBEDDED, ON_QDRANT, pytest.param(ELASTICSEARCH, marks=[ON_SERVERS, _KILLED])],
    indirect=True,
    scope="module",
)
@pytest.mark.slow("six jobs, each looked at, done, undone and verified on real indexes")
async def test_an_undo_gives_back_truth_and_indexes(family: Family) -> None:
    tenant = await tenant_of(family)
    await filled(tenant)
    assert set(BODIES) == set(JOBS)
    for job in BODIES:
        truth, answers = await tenant.unversioned(), await tenant.answers()
        looked_at = await tenant.ran(job)
        assert await tenant.unversioned() == truth
        done = await tenant.ran(job, dry_run=False)
        assert done["result"] == looked_at["result"] | {"submissions": 0} if job == CLEAN else looked_at["result"]
        assert len(done["result"]["examples"]) > 1, (job, done)
        assert await tenant.answers() != answers
        found = await family.verified()
        assert found["equal"], (job, found)
        if JOBS[job]:
            await tenant.undone(done)
            assert await tenant.unversioned() == truth, job
            assert await tenant.answers() == answers, job
            found = await family.verified()
            assert found["equal"], (job, found)
