"""Policies of a workspace: set by its admin, run by the housekeeper when they are due; and legal holds."""

from typing import Any

import pytest

from openbrain.domain.access.permissions import Permission
from openbrain.domain.memory import DAY
from openbrain.ports.lifecycle import JOBS
from openbrain_housekeeper.jobs.policies import PolicySchedule
from tests.support.api.brain import Brain, http, refused, remembered
from tests.support.store.lifecycle_worker import worker

pytestmark = pytest.mark.asyncio(loop_scope="module")

POLICIES, OPERATIONS, RETENTION = "/v1/admin/lifecycle", "/v1/admin/operations", "/v1/admin/retention"
EVERYTHING = frozenset(Permission)


def nightly(**changes: Any) -> dict[str, Any]:
    body = {"max_confidence": 0.5, "dry_run": False}
    return {"name": "unsure", "job": "prune", "schedule": "30 3 * * *", "body": body, **changes}


async def test_a_policy_runs_once_a_slot_whoever_leads(module_brain: Brain) -> None:
    brain, workspace = module_brain, await module_brain.new_workspace()
    lead, other = (PolicySchedule(brain.store.policies, brain.store.operations, brain.clock) for _ in range(2))
    async with http(brain.app(), await brain.key(workspace, permissions=EVERYTHING)) as admin:

        async def started(schedule: PolicySchedule) -> int:
            """Only in this workspace: others of the module have policies too."""
            before = len((await admin.get(OPERATIONS)).json()["operations"])
            await schedule.round()
            return len((await admin.get(OPERATIONS)).json()["operations"]) - before

        unsure = await remembered(admin, "unsure", confidence=0.1)
        sure = await remembered(admin, "sure", confidence=0.9)
        put = await admin.put(POLICIES, json={"policies": [nightly()]})
        assert put.status_code == 200, put.text
        assert await started(lead) == 0
        brain.clock.advance(DAY)
        assert (await started(lead), await started(other), await started(lead)) == (1, 0, 0)
        while await worker(brain.store, brain.clock).round():
            pass
        brain.clock.advance(DAY)
        assert await started(other) == 1
        while await worker(brain.store, brain.clock).round():
            pass
        second, first = (await admin.get(OPERATIONS)).json()["operations"]
        listed = (await admin.get("/v1/brain/list")).json()["memories"]
        brain.clock.advance(9 * DAY)
        assert await started(lead) == 1, "runs that were missed are made up once"

    assert (first["kind"], first["actor"], first["request"]["policy"]) == ("prune", "policy unsure", "unsure")
    assert (first["status"], first["result"]["archived"], [each["id"] for each in first["result"]["examples"]]) == (
        "done",
        1,
        unsure,
    )
    assert second["result"] == {"examples": []}
    assert [each["id"] for each in listed] == sure
    shown = put.json()
    assert (shown["policies"], shown["actor"]) == ([nightly()], "ada")


async def test_an_admin_does_not_overwrite_what_another_has_set(module_brain: Brain) -> None:
    brain, workspace = module_brain, await module_brain.new_workspace()
    hold = {"legal_hold": [{"project": "trial"}]}
    async with http(brain.app(), await brain.key(workspace, permissions=EVERYTHING)) as admin:
        none = await admin.get(POLICIES)
        ada = await admin.put(POLICIES, json=hold, headers={"if-match": none.headers["etag"]})
        bob = await admin.put(POLICIES, json={"policies": []}, headers={"if-match": none.headers["etag"]})
        stands = await admin.get(POLICIES)
        held = await admin.get(POLICIES, headers={"if-none-match": stands.headers["etag"]})
        brain.clock.advance(1)
        after = await admin.put(POLICIES, json={}, headers={"if-match": f'"{stands.json()["edition"]}"'})

    assert ada.headers["etag"] == stands.headers["etag"] != none.headers["etag"]
    assert "the policies have changed" in refused(bob, 412)["message"]
    assert stands.json()["legal_hold"] == hold["legal_hold"]
    assert (held.status_code, after.status_code, after.json()["legal_hold"]) == (304, 200, [])


async def test_every_job_can_run_by_itself(module_brain: Brain) -> None:
    brain, workspace = module_brain, await module_brain.new_workspace()
    bodies: dict[str, Any] = {"prune": {"max_confidence": 0.1}, "dedupe": {}, "consolidate": {}}
    bodies |= {
        "clean": {"strip_pii": True},
        "refile": {"org": "a", "to_org": "b"},
        "backfill-org": {"orgs": {"a": "b"}},
    }
    policies = [nightly(name=job, job=job, body=body) for job, body in bodies.items()]
    assert set(bodies) == set(JOBS)
    async with http(brain.app(), await brain.key(workspace, permissions=EVERYTHING)) as admin:
        assert (await admin.put(POLICIES, json={"policies": policies})).status_code == 200
        brain.clock.advance(DAY)
        await PolicySchedule(brain.store.policies, brain.store.operations, brain.clock).round()
        started = (await admin.get(OPERATIONS)).json()["operations"]
        begun = [await admin.post(f"{POLICIES}:{job}", json=body) for job, body in bodies.items()]

    by_kind = {each["kind"]: each["request"] for each in started}
    for each in (response.json()["operation"] for response in begun):
        assert by_kind[each["kind"]] == {**each["request"], "policy": each["kind"]}


async def test_a_legal_hold_stops_jobs_and_policies(module_brain: Brain) -> None:
    brain, workspace = module_brain, await module_brain.new_workspace()
    async with http(brain.app(), await brain.key(workspace, permissions=EVERYTHING)) as admin:
        held = await remembered(admin, "held", project="trial", confidence=0.1)
        free = await remembered(admin, "free", confidence=0.1)
        body = {"max_confidence": 0.5, "dry_run": False}

        async def pruned() -> dict[str, Any]:
            begun = (await admin.post(f"{POLICIES}:prune", json=body)).json()["operation"]
            while await worker(brain.store, brain.clock).round():
                pass
            result: dict[str, Any] = (await admin.get(f"{OPERATIONS}/{begun['id']}")).json()["result"]
            return result

        await admin.put(POLICIES, json={"legal_hold": [{}]})
        everything = await pruned()
        await admin.put(POLICIES, json={"legal_hold": [{"project": "trial"}]})
        but_free = await pruned()
        await admin.put(POLICIES, json={})
        at_last = await pruned()

    assert everything == {"held": 2, "examples": []}
    assert (but_free["held"], [each["id"] for each in but_free["examples"]]) == (1, free)
    assert [each["id"] for each in at_last["examples"]] == held


async def test_policies_are_their_workspaces_own_and_admins(module_brain: Brain) -> None:
    brain, workspace = module_brain, await module_brain.new_workspace()
    async with http(brain.app(), await brain.key(workspace, permissions=EVERYTHING)) as admin:
        nothing = (await admin.get(POLICIES)).json()
        await admin.put(POLICIES, json={"policies": [nightly()], "legal_hold": [{"project": "mine"}]})
        stands = (await admin.get(POLICIES)).json()
    async with http(brain.app(), await brain.key(await brain.new_workspace(), permissions=EVERYTHING)) as foreign:
        assert (await foreign.get(POLICIES, params={"workspace_id": workspace})).json() == nothing
        refused(await foreign.put(POLICIES, json={"workspace_id": workspace}), 422, "workspace_id")
    async with http(brain.app(), await brain.key(workspace)) as writer:
        refused(await writer.get(POLICIES), 403)
        refused(await writer.put(POLICIES, json={}), 403)
    async with http(brain.app(), await brain.key(workspace, permissions=EVERYTHING)) as admin:
        assert (await admin.get(POLICIES)).json() == stands

    empty: dict[str, Any] = {
        "policies": [],
        "legal_hold": [],
        "retention": {},
        "actor": None,
        "updated_at": None,
        "edition": "0",
    }
    assert nothing["data"] == empty
    assert stands["legal_hold"] == [{"project": "mine"}]


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ({"policies": [nightly(schedule="at night")]}, "policies.0.prune.schedule"),
        ({"policies": [nightly(schedule="61 3 * * *")]}, "policies.0.schedule"),
        ({"policies": [nightly(schedule="0 0 30 2 *")]}, "policies.0.schedule"),
        ({"policies": [nightly(job="burn")]}, "policies.0"),
        ({"policies": [nightly(job="dedupe")]}, "policies.0.dedupe.body.max_confidence"),
        ({"policies": [nightly(body={})]}, "policies.0.prune.body"),
        ({"policies": [nightly(name="a b")]}, "policies.0.prune.name"),
        ({"policies": [nightly(), nightly()]}, ""),
        ({"legal_hold": [{"projcet": "x"}]}, "legal_hold.0.projcet"),
        ({"legal-hold": []}, "legal-hold"),
        ({"retention": {"forgotten_days": 0}}, "retention.forgotten_days"),
        ({"retention": {"archived_days": 29}}, "retention.archived_days"),
        ({"retention": {"memory_days": 1}}, "retention.memory_days"),
        ({"policies": [nightly()] * 51}, "policies"),
    ],
)
async def test_a_document_that_can_not_be_is_refused(module_brain: Brain, document: Any, field: str) -> None:
    async with http(module_brain.app(), await module_brain.key("w-refused", permissions=EVERYTHING)) as admin:
        refused(await admin.put(POLICIES, json=document), 422, field)
        assert (await admin.get(POLICIES)).json()["updated_at"] is None


async def test_retention_tells_what_is_kept_how_long_by_whose_word(module_brain: Brain) -> None:
    brain, workspace = module_brain, await module_brain.new_workspace()
    async with http(brain.app(), await brain.key(workspace, permissions=EVERYTHING)) as admin:
        usual = (await admin.get(RETENTION)).json()
        days = {"forgotten_days": 90, "recall_days": 7, "operation_days": 3650}
        await admin.put(POLICIES, json={"retention": days, "legal_hold": [{"project": "trial"}]})
        own = (await admin.get(RETENTION)).json()
    async with http(brain.app(), await brain.key(await brain.new_workspace(), permissions=EVERYTHING)) as foreign:
        assert (await foreign.get(RETENTION, params={"workspace_id": workspace})).json() == usual
    async with http(brain.app(), await brain.key(workspace)) as writer:
        refused(await writer.get(RETENTION), 403)

    told = {each["what"]: (each["days"], each["by"]) for each in own["kept"]}
    assert told["forgotten_days"] == (90, "workspace")
    assert told["recall_days"] == (7, "workspace")
    assert told["operation_days"] == (30, "settings"), "the shorter retention applies"
    assert told["history_days"] == (None, "settings")
    assert (usual["held"], own["held"]) == (False, True)
