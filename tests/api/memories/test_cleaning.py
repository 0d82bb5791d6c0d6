"""Cleaning through the API, with the housekeeper's own step running on both embedded indexes."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from openbrain.adapters.personal_data.detection import PersonalDataDetector
from openbrain.domain.access.permissions import Permission
from openbrain.ports.content import Action
from openbrain.ports.lifecycle import CLEAN
from openbrain.ports.store.operations import Operation
from openbrain.usecases.content.cleaning import Stripping
from openbrain.usecases.content.policy import stripping
from openbrain_housekeeper.handlers.lifecycle import clean
from openbrain_housekeeper.handlers.lifecycle.clean import Cleaning
from openbrain_housekeeper.jobs.operations import Worker
from tests.api.operating.lifecycle.test_lifecycle import Tenant
from tests.support.api.brain import Brain, http, refused, remembered
from tests.support.store.fixtures import age_holds, rows
from tests.support.store.no_streams import NoStreams

pytestmark = pytest.mark.asyncio(loop_scope="module")

CLEANING = "/v1/admin/lifecycle:clean"
MASK = "[redacted: email]"


def worker(brain: Brain, holder: str = "test") -> Worker:
    """Runs one step per round."""
    store, detector = brain.store, PersonalDataDetector()

    async def rules(operation: Operation) -> Sequence[Stripping]:
        wanted = operation.request["rule"].get("strip_pii")
        return [Stripping(detector, stripping(detector, Action.MASK))] if wanted else []

    parts = (store.cleansing, store.lifecycle, store.operations, store.outbox, brain.clock)
    step = Cleaning(*parts, NoStreams(), rules, lambda _workspace: None)
    return Worker(store.operations, {CLEAN: step}, holder, pace_s=0)


@pytest.fixture
async def tenant(module_brain: Brain) -> Any:
    workspace = await module_brain.new_workspace()
    key = await module_brain.key(workspace, permissions=frozenset(Permission))
    async with http(module_brain.app(), key) as admin:
        yield Tenant(module_brain, workspace, admin)


async def operation(tenant: Tenant, **body: Any) -> dict[str, Any]:
    """Run the operation to its end by two replicas at once."""
    begun = await tenant.admin.post(CLEANING, json=body)
    assert begun.status_code == 202, begun.text
    replicas = [worker(tenant.brain, f"replica {number}") for number in range(2)]
    while any(await asyncio.gather(*(each.round() for each in replicas))):
        pass
    return await ended(tenant, begun.json()["operation"]["id"])


async def ended(tenant: Tenant, operation_id: str) -> dict[str, Any]:
    found: dict[str, Any] = (await tenant.admin.get(f"/v1/admin/operations/{operation_id}")).json()
    assert found["status"] == "done", found
    await tenant.brain.settle()
    return found


async def test_what_is_told_is_what_is_done_in_both_indexes_and_other_workspaces_are_left_alone(
    tenant: Tenant,
) -> None:
    ids = await remembered(tenant.admin, "ask anna@example.com at the gate", "the gate is green", tags=["K8s"])
    usual = await remembered(tenant.admin, "the gate opens", "the gate shuts", tags=["k8s"])
    async with http(tenant.brain.app(), await tenant.brain.key(await tenant.brain.new_workspace())) as other:
        (foreign,) = await remembered(other, "ask anna@example.com at the gate")
        await tenant.brain.settle()
        truth = await tenant.truth()

        looked = await operation(tenant, strip_pii=True, normalise=True)
        untouched = await tenant.truth()
        done = await operation(tenant, strip_pii=True, normalise=True, dry_run=False)
        theirs = (await other.get(f"/v1/brain/memories/{foreign}")).json()

    assert untouched == truth
    assert looked["result"] == {name: each for name, each in done["result"].items() if name != "submissions"}
    assert done["result"]["found"] == {"content: email": 1, "history: email": 1, "tags: spelling": 2}
    assert {each["id"] for each in done["result"]["examples"]} == set(ids)
    living, _ = await tenant.indexed("gate")
    assert living == {*ids, *usual}
    shown = [(await tenant.admin.get(f"/v1/brain/memories/{each}")).json() for each in ids]
    assert [(each["content"], each["tags"]) for each in shown] == [
        (f"ask {MASK} at the gate", ["k8s"]),
        ("the gate is green", ["k8s"]),
    ]
    assert theirs["content"] == "ask anna@example.com at the gate"
    refused(await tenant.admin.post(f"/v1/admin/operations/{done['id']}:undo"), 409)
    again = await operation(tenant, strip_pii=True, normalise=True, dry_run=False)
    assert (again["result"]["cleaned"], again["result"]["found"]) == (0, {})


async def test_killed_at_every_chunk_it_ends_as_if_it_had_not_been(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clean, "PAGE", 2)
    await remembered(tenant.admin, *[f"line {number} of a{number}@example.com" for number in range(5)])
    looked = await operation(tenant, strip_pii=True)
    store = tenant.brain.store
    begun = await tenant.admin.post(CLEANING, json={"strip_pii": True, "dry_run": False})
    for death in range(50):
        held = await store.operations.hold_operation(f"dies {death}", 30, {CLEAN})
        if held is None:
            break
        await worker(tenant.brain)._kinds[CLEAN](held)
        await age_holds(store, 30)
        await worker(tenant.brain, f"other {death}").round()
    done = await ended(tenant, begun.json()["operation"]["id"])

    same = ("cleaned", "found", "examples")
    assert {name: done["result"][name] for name in same} == {name: looked["result"][name] for name in same}
    assert sorted(row["content"] for row in await tenant.truth()) == [f"line {number} of {MASK}" for number in range(5)]
    lines = await rows(
        store._database,
        "SELECT 1 FROM memory_history WHERE workspace_id = :w AND action = 'cleaned'",
        w=tenant.workspace,
    )
    assert len(lines) == 5


async def test_only_an_admin_cleans_and_says_what(tenant: Tenant) -> None:
    async with http(tenant.brain.app(), await tenant.brain.key(tenant.workspace)) as agent:
        refused(await agent.post(CLEANING, json={"strip_pii": True}), 403)
    refused(await tenant.admin.post(CLEANING, json={"dry_run": True}), 422)
