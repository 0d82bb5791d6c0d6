"""Lifecycle operations through the API, with the housekeeper's own steps running on both embedded indexes."""

from typing import Any

import httpx
import pytest

from openbrain.domain.access.permissions import Permission
from openbrain.domain.ids import point_id
from openbrain.domain.memory import DAY
from openbrain.ports.lifecycle import PRUNE, UNDO
from openbrain.usecases.indexes import comparison_sums, serving_indexes
from openbrain_housekeeper.handlers.lifecycle import job, undo
from tests.support.api.brain import Brain, client_of, http, refused, remembered
from tests.support.api.lifecycle.tenant import LifecycleTenant
from tests.support.store.fixtures import age_holds, rows
from tests.support.store.lifecycle_worker import worker

pytestmark = pytest.mark.asyncio(loop_scope="module")

EVERYTHING = frozenset(Permission)
MOVING = {"score", "similarity", "updated_at"}
"""Fields that vary between answers: a text index counts deleted entries in its scores until it merges."""
GATE = "when does the gate open?"
PRUNING = "/v1/admin/lifecycle:prune"


class Tenant(LifecycleTenant):
    async def pruned(self, **body: Any) -> dict[str, Any]:
        return await self.ended(await self.admin.post(PRUNING, json=body))

    async def indexed(self, query: str) -> tuple[set[str], list[Any]]:
        """Return which memories the indexes hold, and what they answer. Both must hold what the database says."""
        brain, identity = self.brain, await self.brain.embedder.identity()
        text = await serving_indexes.text_generation(brain.store.generations, brain.text, "t-1")
        await serving_indexes.noted_vector_generation(brain.store.generations, brain.vectors.builder, identity, "v")
        vector = await serving_indexes.existing_vector_generation(brain.store.generations, brain.vectors)
        ids = [row["id"] for row in await self.truth()]
        texts = await brain.text.read(text.name, ids)
        vectors = await brain.vectors.read(vector.name, [point_id(id_, 0) for id_ in ids])
        living = [{found[id_].memory_id for id_ in found if not found[id_].tombstone} for found in (texts, vectors)]
        for index, generation in ((brain.text, text), (brain.vectors, vector)):
            assert not (await comparison_sums.account(brain.store.expected_entries, index, generation)).differing
        assert living[0] == living[1]
        body = {"query": query, "precision": "recall", "fold": False}
        recalled = (await self.admin.post("/v1/brain/recall", json=body)).json()
        found = (await self.admin.get("/v1/brain/search", params={"q": query})).json()["hits"]
        answers = sorted([*recalled["memories"], *found], key=lambda each: each["id"])
        return living[0], [{name: each[name] for name in each.keys() - MOVING} for each in answers]


@pytest.fixture
async def tenant(module_brain: Brain) -> Any:
    workspace = await module_brain.new_workspace()
    key = await module_brain.key(workspace, permissions=EVERYTHING)
    async with http(module_brain.app(), key) as admin:
        yield Tenant(module_brain, workspace, admin)


async def test_a_dry_run_tells_what_then_happens_and_an_undo_gives_all_back(tenant: Tenant) -> None:
    sure = await remembered(tenant.admin, "the gate opens at six", confidence=0.9)
    unsure = await remembered(tenant.admin, "the gate opens at nine", "the gate is green", confidence=0.25)
    await tenant.brain.settle()
    truth, indexed = await tenant.truth(), await tenant.indexed(GATE)

    looked_at = await tenant.pruned(max_confidence=0.25)
    untouched = await tenant.truth()
    done = await tenant.pruned(max_confidence=0.25, dry_run=False)

    assert indexed[0] == {*sure, *unsure}
    assert untouched == truth
    assert looked_at["result"] == done["result"]
    assert done["result"]["archived"] == 2
    assert done["result"]["examples"] == [
        {"id": each, "action": "archived", "why": "confidence 0.25 is at most 0.25"} for each in sorted(unsure)
    ]
    left, answers = await tenant.indexed(GATE)
    assert left == {each["id"] for each in answers} == set(sure)
    listed = (await tenant.admin.get("/v1/brain/list")).json()
    assert [each["id"] for each in listed["memories"]] == sure
    told = (await tenant.admin.get(f"/v1/brain/memories/{unsure[0]}", params={"history": 1})).json()
    assert (told["state"], told["content"]) == ("archived", "the gate opens at nine")
    assert told["history"][-1]["reason"] == f"prune {done['id']}: confidence 0.25 is at most 0.25"

    back = await tenant.undone(done)

    assert back["result"] == {"undone": 2}
    assert await tenant.truth() == truth
    assert await tenant.indexed(GATE) == indexed
    again = await tenant.undone(done)
    assert again["result"] == {"undone": 2}
    assert await tenant.truth() == truth


async def test_killed_at_every_chunk_it_ends_as_if_it_had_not_been(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job, "PAGE", 2)
    monkeypatch.setattr(undo, "CHUNK", 2)
    contents = [f"line {number}" for number in range(5)]
    ids = await remembered(tenant.admin, *contents, confidence=0.1)
    kept = await remembered(tenant.admin, "kept", confidence=0.9)
    store, truth = tenant.brain.store, await tenant.truth()
    looked_at = await tenant.pruned(max_confidence=0.5)

    async def with_deaths(operation_id: str) -> dict[str, Any]:
        """Every step is done by two workers: one that dies before it records its progress, and the next."""
        for death in range(50):
            held = await store.operations.hold_operation(f"dies {death}", 30, {PRUNE, UNDO})
            if held is None:
                break
            await worker(store, tenant.brain.clock)._kinds[held.kind](held)
            await age_holds(store, 30)
            await worker(store, tenant.brain.clock, f"other {death}").round()
        ended: dict[str, Any] = (await tenant.admin.get(f"/v1/admin/operations/{operation_id}")).json()
        assert ended["status"] == "done", ended
        return ended

    begun = await tenant.admin.post(PRUNING, json={"max_confidence": 0.5, "dry_run": False})
    done = await with_deaths(begun.json()["operation"]["id"])
    archived = [row["id"] for row in await tenant.truth() if row["reason"] == "archived"]
    begun = await tenant.admin.post(f"/v1/admin/operations/{done['id']}:undo")
    back = await with_deaths(begun.json()["operation"]["id"])

    assert done["result"] == looked_at["result"]
    assert {each["id"] for each in done["result"]["examples"]} == set(ids)
    assert sorted(archived) == sorted(ids)
    assert kept[0] not in archived
    assert back["result"] == {"undone": 5}
    assert await tenant.truth() == truth
    events = await rows(
        store._database,
        "SELECT 1 FROM memory_history WHERE workspace_id = :w AND action = 'archived'",
        w=tenant.workspace,
    )
    assert len(events) == len(ids)


async def test_what_fades_what_no_recall_finds_and_what_is_old(tenant: Tenant) -> None:
    brain = tenant.brain
    fading = await remembered(tenant.admin, "the build was slow today", type="observation", confidence=0.8)
    rule = await remembered(tenant.admin, "tests run before a merge", type="convention", confidence=0.8)
    brain.clock.advance(90 * DAY)
    young = await remembered(tenant.admin, "the lift is broken", type="observation", confidence=0.8)
    await brain.settle()
    await tenant.admin.patch(f"/v1/brain/memories/{rule[0]}", json={"tags": ["touched"]})

    async def gone(**body: Any) -> list[str]:
        return sorted(each["id"] for each in (await tenant.pruned(**body))["result"]["examples"])

    assert await gone(max_effective_confidence=0.1) == fading
    assert await gone(min_effective_confidence=0.1) == []
    assert await gone(min_effective_confidence=0.10001) == fading
    assert await gone(min_confidence=0.8) == []
    assert await gone(max_confidence=0.8, type="convention") == rule
    assert await gone(older_than_days=90) == sorted([*fading, *rule])
    assert await gone(older_than_days=91) == []
    assert young[0] not in await gone(unrecalled_days=90)
    await tenant.admin.patch(f"/v1/brain/memories/{fading[0]}", json={"confirm": True})
    assert await gone(older_than_days=90) == rule


async def test_what_recalls_find_is_not_unrecalled(tenant: Tenant) -> None:
    brain = tenant.brain
    found, unseen = await remembered(tenant.admin, "the heron fishes at dawn", "the badger sleeps in June")
    brain.clock.advance(100 * DAY)
    await brain.settle()
    line = {"id": found, "at": brain.clock.now() - 89 * DAY}
    await brain.store._database.write(
        lambda connection: (
            connection.exec_driver_sql(
                "INSERT INTO memory_usage (memory_id, recall_count, last_recalled_at) VALUES (:id, 1, :at)", line
            ).rowcount
        )
    )

    seen = await tenant.pruned(unrecalled_days=90)
    both = await tenant.pruned(unrecalled_days=89)

    assert seen["result"]["examples"] == [
        {"id": unseen, "action": "archived", "why": "never recalled, made 100 days ago"}
    ]
    assert {each["id"] for each in both["result"]["examples"]} == {found, unseen}


async def test_what_is_archived_is_listed_where_asked_for_and_restored_by_itself(tenant: Tenant) -> None:
    (one,) = await remembered(tenant.admin, "the vault opens at noon", confidence=0.1)
    (two,) = await remembered(tenant.admin, "the vault is red", confidence=0.1)
    await tenant.pruned(max_confidence=0.5, dry_run=False)
    listed = (await tenant.admin.get("/v1/brain/list", params={"include_archived": 1})).json()["memories"]
    body = {"query": "when does the vault open?", "include_archived": True}
    problem = refused(await tenant.admin.post("/v1/brain/recall", json=body), 422, "include_archived")
    before = (await tenant.admin.post("/v1/brain/recall", json={**body, "include_archived": False})).json()["memories"]
    back = (await tenant.admin.post(f"/v1/brain/memories/{one}:restore", json={})).json()
    forgotten = (await tenant.admin.delete(f"/v1/brain/forget/{two}")).json()
    after = (await tenant.admin.get("/v1/brain/list", params={"include_archived": 1})).json()["memories"]

    assert {each["id"]: each["state"] for each in listed} == {one: "archived", two: "archived"}
    assert "as_of" in problem["message"]
    assert before == []
    assert (back["state"], back["reason"]) == ("stale", None)
    assert (forgotten["state"], forgotten["reason"]) == ("deleted", "forgotten")
    assert [each["id"] for each in after] == [one]


async def test_only_an_admin_prunes_and_only_their_own_workspace(tenant: Tenant) -> None:
    brain, app = tenant.brain, tenant.brain.app()
    mine = await remembered(tenant.admin, "mine", confidence=0.1)
    other = await brain.new_workspace()
    async with http(app, await brain.key(other, permissions=EVERYTHING)) as foreign:
        theirs = await remembered(foreign, "theirs", confidence=0.1)
        done = await tenant.pruned(max_confidence=0.5, dry_run=False)
        refused(await foreign.post(f"/v1/admin/operations/{done['id']}:undo"), 404)
        listed = (await foreign.get("/v1/brain/list")).json()["memories"]
        assert [each["id"] for each in listed] == theirs
    async with http(app, await brain.key(tenant.workspace)) as writer:
        refused(await writer.post(PRUNING, json={"max_confidence": 0.5}), 403)
        refused(await writer.post(f"/v1/admin/operations/{done['id']}:undo"), 403)

    assert [each["id"] for each in done["result"]["examples"]] == mine


async def test_what_can_not_be_undone_says_why(tenant: Tenant) -> None:
    await remembered(tenant.admin, "one", confidence=0.1)
    dry = await tenant.pruned(max_confidence=0.5)
    begun = (await tenant.admin.post(PRUNING, json={"max_confidence": 0.5, "dry_run": False})).json()["operation"]
    path = "/v1/admin/operations/{}:undo"

    assert "dry run" in refused(await tenant.admin.post(path.format(dry["id"])), 409)["message"]
    assert "still runs" in refused(await tenant.admin.post(path.format(begun["id"])), 409)["message"]
    refused(await tenant.admin.post(path.format("no-id")), 404)
    async with client_of(tenant.brain.app(), tenant.admin.headers["authorization"].removeprefix("Bearer ")) as client:
        assert (await client.prune(max_confidence=0.5)).dry_run is True
        await tenant.ended(await tenant.admin.post(PRUNING, json={"max_confidence": 0.5}))
        undoing = (await client.undo(begun["id"])).operation
        refused(await tenant.admin.post(path.format(undoing.id)), 409)
    tenant.brain.clock.advance(31 * DAY)
    assert "too long ago" in refused(await tenant.admin.post(path.format(begun["id"])), 409)["message"]
    refused(await tenant.admin.post(PRUNING, json={}), 422)
    refused(await tenant.admin.post(PRUNING, json={"projcet": "x", "max_confidence": 1}), 422, "projcet")


async def test_what_undoes_it_is_kept_no_longer_than_the_texts_of_the_audit(tenant: Tenant) -> None:
    await remembered(tenant.admin, "one", project="shop", confidence=0.1)
    await tenant.admin.put("/v1/admin/lifecycle", json={"retention": {"history_days": 5}})
    moving = {"project": "shop", "to_project": "web", "dry_run": False}
    moved = await tenant.ended(await tenant.admin.post("/v1/admin/lifecycle:refile", json=moving))
    pruned = await tenant.pruned(max_confidence=0.5, dry_run=False)
    tenant.brain.clock.advance(6 * DAY)

    undo_of = "/v1/admin/operations/{}:undo"
    assert "too long ago" in refused(await tenant.admin.post(undo_of.format(moved["id"])), 409)["message"]
    assert (await tenant.undone(pruned))["result"] == {"undone": 1}


async def test_the_end_is_announced_with_its_counts(tenant: Tenant) -> None:
    await remembered(tenant.admin, "one", project="shop", org="acme", confidence=0.1)
    await tenant.brain.settle()
    one = worker(tenant.brain.store, tenant.brain.clock)
    body = {"max_confidence": 0.5, "project": "shop", "org": "acme", "dry_run": False}
    begun = await tenant.admin.post(PRUNING, json=body)
    while await one.round():
        pass
    events = [each for each in await tenant.brain.store.outbox.take(50) if each.stream == "lifecycle.completed"]

    (event,) = (
        httpx.Response(200, content=each.body).json()
        for each in events
        if begun.json()["operation"]["id"].encode() in each.body
    )
    assert event["data"] == {
        "workspace_id": tenant.workspace,
        "operation_id": begun.json()["operation"]["id"],
        "job": "prune",
        "org": "acme",
        "project": "shop",
        "counts": {"archived": 1},
        "seconds": 0.0,
    }
