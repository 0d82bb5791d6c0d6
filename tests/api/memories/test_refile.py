"""Refiling a memory: indexes, duplicates and the audit follow, and nobody moves what is not theirs to move."""

from typing import Any

import httpx
import pytest

from openbrain.domain.access.permissions import Permission
from tests.support.api.brain import Brain, http, offer, refused, remembered
from tests.support.api.transfer import EVERYTHING, brain_database_url

__all__ = ["brain_database_url"]


async def moved(client: httpx.AsyncClient, memory_id: str, **place: Any) -> httpx.Response:
    return await client.patch(f"/v1/brain/memories/{memory_id}", json=place)


async def found(client: httpx.AsyncClient, project: str) -> list[str]:
    answer = await client.post("/v1/brain/recall", json={"query": "where is the cache", "project": project})
    return [each["id"] for each in answer.json()["memories"]]


async def test_recall_list_tags_and_history_follow(brain: Brain) -> None:
    async with http(brain.app(), await brain.key()) as client:
        (own,) = await remembered(client, "the cache is in Redis", project="shop", tags=["cache"])
        await brain.settle()
        assert await found(client, "shop") == [own]

        answer = await moved(client, own, project="api", org="core")
        assert (answer.status_code, answer.json()["project"], answer.json()["org"]) == (200, "api", "core")
        await brain.settle()

        assert (await found(client, "api"), await found(client, "shop")) == ([own], [])
        listed = (await client.get("/v1/brain/list", params={"org": "core", "project": "api"})).json()["memories"]
        assert [each["id"] for each in listed] == [own]
        tags = (await client.get("/v1/brain/tags", params={"project": "api"})).json()["tags"]
        assert [each["name"] for each in tags] == ["cache"]
        lines = (await client.get(f"/v1/brain/memories/{own}", params={"history": "1"})).json()["history"]
        line = next(each for each in lines if each["action"] == "updated")
        assert (line["before"], line["after"]) == ({"org": "", "project": "shop"}, {"org": "core", "project": "api"})

        assert (await moved(client, own, project="", org="")).json()["project"] is None


async def test_what_says_the_same_there_is_a_conflict(brain: Brain) -> None:
    async with http(brain.app(), await brain.key()) as client:
        (here,) = await remembered(client, "twice", project="a")
        (there,) = await remembered(client, "twice", project="b")

        problem = refused(await moved(client, here, project="b"), 409)
        assert there in problem["message"]
        assert (await client.get(f"/v1/brain/memories/{here}")).json()["project"] == "a"
        again = await client.post("/v1/brain/remember", json=offer("twice", project="a"))
        assert (again.json()["duplicate"], again.json()["id"]) == (True, here)


async def test_a_memory_becomes_private_and_shared_again(brain: Brain) -> None:
    key, other = await brain.key(), await brain.key(agent="eve")
    async with http(brain.app(), key) as client, http(brain.app(), other) as eve:
        (own,) = await remembered(client, "mine alone", memory_scope="shared")
        assert (await eve.get(f"/v1/brain/memories/{own}")).status_code == 200

        assert (await moved(client, own, memory_scope="agent")).status_code == 200
        assert (await eve.get(f"/v1/brain/memories/{own}")).status_code == 404
        assert (await moved(eve, own, memory_scope="shared")).status_code == 404
        problem = refused(await moved(client, own, memory_scope="session"), 422)
        assert "session" in problem["message"]
        assert (await moved(client, own, memory_scope="shared")).status_code == 200
        assert (await eve.get(f"/v1/brain/memories/{own}")).status_code == 200


async def test_only_who_may_speak_for_both_agents_hands_a_memory_on(brain: Brain) -> None:
    ada, eve = await brain.key(), await brain.key(agent="eve")
    both = await brain.key(agent="ops", act_as=("ada", "eve"))
    async with http(brain.app(), ada) as client:
        (own,) = await remembered(client, "everyone sees it", memory_scope="shared")
        refused(await moved(client, own, agent_id="eve"), 403)
    async with http(brain.app(), eve) as client:
        refused(await moved(client, own, agent_id="eve"), 403)
        refused(await moved(client, own, memory_scope="agent"), 403)
    async with http(brain.app(), both) as client:
        assert (await moved(client, own, agent_id="eve")).json()["agent_id"] == "eve"
    async with http(brain.app(), await brain.key(agent="root", permissions=EVERYTHING)) as client:
        assert (await moved(client, own, agent_id="ada")).json()["agent_id"] == "ada"


async def test_both_sides_of_the_wall_of_an_org_and_of_a_workspace(brain: Brain) -> None:
    async with http(brain.app(), await brain.key()) as client:
        (alpha,) = await remembered(client, "of alpha", org="alpha", memory_scope="shared")
        (beta,) = await remembered(client, "of beta", org="beta", memory_scope="shared")
    async with http(brain.app(), await brain.key(orgs=("alpha",), without_org=False)) as client:
        refused(await moved(client, alpha, org="beta"), 403)
        refused(await moved(client, alpha, org=""), 403)
        refused(await moved(client, beta, org="alpha"), 404)
    async with http(brain.app(), await brain.key("w2", permissions=EVERYTHING)) as client:
        refused(await moved(client, alpha, project="theirs"), 404)
    async with http(brain.app(), await brain.key(permissions=frozenset({Permission.BRAIN_READ}))) as client:
        refused(await moved(client, alpha, project="x"), 403)


@pytest.mark.parametrize(
    ("place", "field"),
    [
        ({"org": "x" * 129}, "org"),
        ({"project": "a\nb"}, "project"),
        ({"memory_scope": "all"}, "memory_scope"),
        ({"agent_id": ""}, "agent_id"),
    ],
)
async def test_a_bad_place_is_named(place: dict[str, Any], field: str, brain: Brain) -> None:
    async with http(brain.app(), await brain.key()) as client:
        (own,) = await remembered(client, "a")
        assert field in refused(await moved(client, own, **place), 422)["message"]
