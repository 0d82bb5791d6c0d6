"""refile and backfill-org through the API, with the housekeeper's own steps running on both embedded indexes."""

from typing import Any

import pytest

from openbrain.domain.access.permissions import Permission
from tests.support.api.brain import Brain, http, refused, remembered
from tests.support.api.lifecycle.tenant import RISING, LifecycleTenant

pytestmark = pytest.mark.asyncio(loop_scope="module")

REFILING, BACKFILLING = "/v1/admin/lifecycle:refile", "/v1/admin/lifecycle:backfill-org"
EVERYTHING = frozenset(Permission)
RISING_WITH_EDITS = RISING | {"version"}


class Tenant(LifecycleTenant):
    async def refiled(self, **body: Any) -> dict[str, Any]:
        return await self.ended(await self.admin.post(REFILING, json=body))

    async def backfilled(self, **body: Any) -> dict[str, Any]:
        return await self.ended(await self.admin.post(BACKFILLING, json=body))

    async def listed(self, **filters: str) -> set[str]:
        answer = await self.admin.get("/v1/brain/list", params=filters)
        return {each["id"] for each in answer.json()["memories"]}

    async def recalled(self, query: str, project: str) -> set[str]:
        body = {"query": query, "project": project}
        return {each["id"] for each in (await self.admin.post("/v1/brain/recall", json=body)).json()["memories"]}

    async def tags(self, project: str) -> list[str]:
        answer = await self.admin.get("/v1/brain/tags", params={"project": project})
        return [each["name"] for each in answer.json()["tags"]]


@pytest.fixture
async def tenant(module_brain: Brain) -> Any:
    workspace = await module_brain.new_workspace()
    key = await module_brain.key(workspace, permissions=EVERYTHING)
    async with http(module_brain.app(), key) as admin:
        yield Tenant(module_brain, workspace, admin)


async def test_a_project_moves_and_comes_back(tenant: Tenant) -> None:
    one, two, twin = await remembered(
        tenant.admin, "the cache is in Redis", "the cache expires at night", "said twice", project="shop", tags=["x"]
    )
    (there,) = await remembered(tenant.admin, "said twice", project="api")
    (other,) = await remembered(tenant.admin, "else", project="site")
    await tenant.brain.settle()
    truth = await tenant.truth(RISING_WITH_EDITS)

    dry = await tenant.refiled(project="shop", to_project="api", to_org="core")
    untouched = await tenant.truth(RISING_WITH_EDITS)
    twins = (await tenant.refiled(project="shop", to_project="api"))["result"]
    done = await tenant.refiled(project="shop", to_project="api", dry_run=False)

    assert untouched == truth
    assert dry["result"]["rewritten"] == 3
    assert twins == done["result"]
    assert (done["result"]["rewritten"], done["result"]["conflicts"]) == (2, 1)
    assert done["result"]["examples"] == [
        {"id": each, "action": "rewritten", "why": "to project api"} for each in sorted((one, two))
    ]
    assert await tenant.listed(project="shop") == {twin}
    assert await tenant.listed(project="api") == {one, two, there}
    assert await tenant.listed(project="site") == {other}
    assert one in await tenant.recalled("where is the cache", "api")
    assert one not in await tenant.recalled("where is the cache", "shop")
    assert await tenant.tags("api") == ["x"]
    told = (await tenant.admin.get(f"/v1/brain/memories/{one}", params={"history": 1})).json()["history"][-1]
    assert (told["before"], told["after"]) == ({"project": "shop"}, {"project": "api"})
    assert told["reason"] == f"refile {done['id']}: to project api"
    assert (await tenant.refiled(project="shop", to_project="api"))["result"]["conflicts"] == 1

    back = await tenant.undone(done)

    assert back["result"] == {"undone": 2}
    assert await tenant.truth(RISING_WITH_EDITS) == truth
    assert one in await tenant.recalled("where is the cache", "shop")
    assert await tenant.listed(project="api") == {there}


async def test_two_that_say_the_same_meet_in_one_place(tenant: Tenant) -> None:
    await remembered(tenant.admin, "the same", project="a", tags=["t"])
    await remembered(tenant.admin, "the same", project="b", tags=["t"])

    dry = await tenant.refiled(tags=["t"], to_project="c")
    done = await tenant.refiled(tags=["t"], to_project="c", dry_run=False)

    assert dry["result"] == done["result"]
    assert (done["result"]["rewritten"], done["result"]["conflicts"]) == (1, 1)


async def test_it_becomes_one_agents_and_is_hidden_from_others(tenant: Tenant) -> None:
    (one,) = await remembered(tenant.admin, "for all", project="shop", memory_scope="shared")
    eve = await tenant.brain.key(tenant.workspace, agent="eve")
    bob = await tenant.brain.key(tenant.workspace, agent="bob")
    body = {"project": "shop", "to_memory_scope": "agent", "to_agent_id": "eve", "dry_run": False}
    async with http(tenant.brain.app(), eve) as hers, http(tenant.brain.app(), bob) as his:
        assert (await his.get(f"/v1/brain/memories/{one}")).status_code == 200
        done = await tenant.refiled(**body)
        assert (await hers.get(f"/v1/brain/memories/{one}")).status_code == 200
        assert (await his.get(f"/v1/brain/memories/{one}")).status_code == 404
        await tenant.undone(done)
        assert (await his.get(f"/v1/brain/memories/{one}")).status_code == 200


async def test_only_an_admin_refiles_and_only_their_own_workspace(tenant: Tenant) -> None:
    brain, app = tenant.brain, tenant.brain.app()
    await remembered(tenant.admin, "mine", project="shop")
    other = await brain.new_workspace()
    async with http(app, await brain.key(other, permissions=EVERYTHING)) as foreign:
        theirs = await remembered(foreign, "theirs", project="shop")
        await remembered(foreign, "known", project="shop", org="core")
        done = await tenant.refiled(project="shop", to_project="api", dry_run=False)
        filled = await tenant.backfilled(dry_run=False)
        assert done["result"]["rewritten"] == 1
        assert (filled["result"]["examples"], filled["result"]["undecided"]) == ([], ["api"])
        refused(await foreign.post(f"/v1/admin/operations/{done['id']}:undo"), 404)
        listed = (await foreign.get("/v1/brain/list", params={"project": "shop"})).json()["memories"]
        assert theirs[0] in {each["id"] for each in listed}
    async with http(app, await brain.key(tenant.workspace)) as writer:
        for path in (REFILING, BACKFILLING):
            refused(await writer.post(path, json={"project": "shop", "to_org": "core"}), 403)
    refused(await tenant.admin.post(REFILING, json={"to_project": "api"}), 422)
    refused(await tenant.admin.post(REFILING, json={"project": "api"}), 422)


async def test_an_org_is_told_from_the_others_of_the_project(tenant: Tenant) -> None:
    await remembered(tenant.admin, "known", "twice", project="shop", org="core")
    old, twin = await remembered(tenant.admin, "from before", "twice", project="shop")
    (lost,) = await remembered(tenant.admin, "unclear", project="site")
    (nowhere,) = await remembered(tenant.admin, "of no project")
    truth = await tenant.truth(RISING_WITH_EDITS)

    dry = await tenant.backfilled()
    done = await tenant.backfilled(dry_run=False)
    named = await tenant.backfilled(orgs={"site": "lthn"}, dry_run=False)
    again = await tenant.backfilled(to_org="any", dry_run=False)

    assert dry["result"] == done["result"]
    assert done["result"]["undecided"] == ["site"]
    assert (done["result"]["rewritten"], done["result"]["conflicts"]) == (1, 1)
    assert {each["id"]: each["why"] for each in done["result"]["examples"]} == {old: "to org core"}
    assert {each["id"]: each["why"] for each in named["result"]["examples"]} == {lost: "to org lthn"}
    assert again["result"] == {"examples": [], "conflicts": 1}
    assert await tenant.listed(org="core") > {old}
    assert not {nowhere, twin} & await tenant.listed(org="core")
    for operation in (named, done):
        await tenant.undone(operation)
    assert await tenant.truth(RISING_WITH_EDITS) == truth
