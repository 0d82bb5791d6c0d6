"""Generations and reindexing through the API: who may use them, what is refused, and what is queued."""

from dataclasses import replace
from typing import Any

import pytest

from openbrain.domain.access.permissions import Permission
from openbrain.ports.store.generations import Generation, IndexKind
from openbrain.usecases.auth import OPERATORS
from tests.support.api.brain import Brain, http, refused

ADMIN = frozenset({Permission.ADMIN})
REINDEX, GENERATIONS = "/v1/admin/reindex", "/v1/admin/generations"


async def beside(brain: Brain, status: str) -> tuple[Generation, Generation]:
    """The serving text index, and another one."""
    await brain.settle()
    serving = await brain.store.generations.serving(IndexKind.TEXT)
    assert serving is not None
    brain.clock.advance(1)
    other = await brain.store.generations.begin(replace(serving, name="t-2"))
    await brain.text.prepare("t-2")
    if status == "kept":
        await brain.store.generations.swap(IndexKind.TEXT, "t-2")
        await brain.store.generations.swap(IndexKind.TEXT, serving.name)
    return serving, other


async def test_only_operators_see_and_change_generations(brain: Brain) -> None:
    serving, _ = await beside(brain, "kept")
    async with http(brain.app(), await brain.key(permissions=ADMIN)) as admin:
        refused(await admin.get(GENERATIONS), 403)
        refused(await admin.post(f"{GENERATIONS}/text/t-2:switch"), 403)
        refused(await admin.delete(f"{GENERATIONS}/text/t-2"), 403)
        refused(await admin.post(REINDEX, json={"index": "text"}), 403)
        refused(await admin.post(REINDEX, json={"index": "text", "workspace_id": "w2"}), 403)
    assert [each.name for each in await brain.store.generations.written(IndexKind.TEXT)] == [serving.name, "t-2"]


async def test_generations_are_listed_switched_and_dropped(brain: Brain) -> None:
    serving, _ = await beside(brain, "kept")
    async with http(brain.app(), await brain.key(OPERATORS, permissions=ADMIN)) as operator:
        listed = (await operator.get(GENERATIONS, params={"index": "text"})).json()
        assert [(each["name"], each["status"]) for each in listed["generations"]] == [
            (serving.name, "serving"),
            ("t-2", "kept"),
        ]
        both = (await operator.get(GENERATIONS)).json()
        assert {each["index"] for each in both["generations"]} == {"text", "vector"}
        refused(await operator.delete(f"{GENERATIONS}/text/{serving.name}"), 409)
        refused(await operator.delete(f"{GENERATIONS}/vector/t-2"), 404)
        refused(await operator.post(f"{GENERATIONS}/text/none:switch"), 404)
        refused(await operator.post(f"{GENERATIONS}/sound/t-2:switch"), 404)

        switched = (await operator.post(f"{GENERATIONS}/text/t-2:switch")).json()
        assert (switched["name"], switched["status"]) == ("t-2", "serving")
        path = f"{GENERATIONS}/text/{serving.name}"
        assert (await operator.delete(path, params={"dry_run": "1"})).json()["dry_run"] is True
        assert len(await brain.store.generations.generations(IndexKind.TEXT)) == 2
        assert (await operator.delete(path)).json()["generation"]["name"] == serving.name
        refused(await operator.delete(path), 404)
    assert [each.name for each in await brain.store.generations.generations(IndexKind.TEXT)] == ["t-2"]


async def test_one_that_was_not_kept_current_never_serves(brain: Brain) -> None:
    serving, _ = await beside(brain, "building")
    other = replace(serving, name="t-0", builder="older-1")
    async with http(brain.app(), await brain.key(OPERATORS, permissions=ADMIN)) as operator:
        refused(await operator.post(f"{GENERATIONS}/text/t-2:switch"), 409)
        await brain.store.generations.retire(IndexKind.TEXT, "t-2")
        refused(await operator.post(f"{GENERATIONS}/text/t-2:switch"), 409)
        await brain.store.generations.begin(other)
        await brain.store.generations.swap(IndexKind.TEXT, "t-0")
        await brain.store.generations.swap(IndexKind.TEXT, serving.name)
        refused(await operator.post(f"{GENERATIONS}/text/t-0:switch"), 409)
        # An index left by a reindex that nobody works on can be dropped.
        assert (await operator.delete(f"{GENERATIONS}/text/t-2")).status_code == 200


async def test_a_reindex_is_queued_once(brain: Brain) -> None:
    app = brain.app()
    async with http(app, await brain.key()) as user:
        await user.post("/v1/brain/remember", json={"content": "The ferry leaves at noon.", "type": "fact"})
    await brain.settle()
    async with http(app, await brain.key(OPERATORS, permissions=ADMIN)) as operator:
        looked = await operator.post(REINDEX, json={"index": "text", "dry_run": True})
        assert looked.status_code == 200
        assert (looked.json()["total"], looked.json()["operation"]) == (1, None)

        begun = await operator.post(REINDEX, json={"index": "text", "rate": 50})
        assert begun.status_code == 202
        operation = begun.json()["operation"]
        assert (operation["kind"], operation["status"]) == ("reindex", "queued")
        assert operation["request"] == {"index": "text", "in_place": False, "rate": 50}
        assert operation["id"] in refused(await operator.post(REINDEX, json={"index": "text"}), 409)["message"]
        assert (await operator.post(REINDEX, json={"index": "vector"})).status_code == 202
        assert (await operator.post(REINDEX, json={"index": "text", "stale": True})).status_code == 202
        refused(await operator.post(REINDEX, json={"index": "text", "re_embed": True}), 422)
        nowhere = {"index": "text", "workspace_id": "nowhere", "dry_run": True}
        refused(await operator.post(REINDEX, json=nowhere), 404)


@pytest.mark.parametrize(
    ("narrowing", "total"),
    [({"in_place": True}, 2), ({"project": "shop"}, 1), ({"org": "acme"}, 0), ({"stale": True}, 0)],
    ids=str,
)
async def test_an_admin_writes_its_own_memories_again(brain: Brain, narrowing: dict[str, Any], total: int) -> None:
    app = brain.app()
    for workspace in ("w1", "w2"):
        async with http(app, await brain.key(workspace)) as user:
            await user.post("/v1/brain/remember", json={"content": "One.", "type": "fact", "project": "shop"})
            await user.post("/v1/brain/remember", json={"content": "Two.", "type": "fact"})
    await brain.settle()
    async with http(app, await brain.key(permissions=ADMIN)) as admin:
        told = (await admin.post(REINDEX, json={"index": "vector", **narrowing})).json()
        shown = await admin.get(f"/v1/admin/operations/{told['operation']['id']}")

    assert (told["in_place"], told["total"], told["serving"]) == (True, total, "")
    assert shown.json()["request"]["workspace_id"] == "w1"


async def test_without_an_index_there_is_nothing_to_make_anew(brain: Brain) -> None:
    async with http(brain.app(), await brain.key(OPERATORS, permissions=ADMIN)) as operator:
        refused(await operator.post(REINDEX, json={"index": "text"}), 409)
