"""Waiting for, changing and ending memories through the API, on both databases."""

import httpx

from openbrain.client import OpenBrain
from openbrain.domain.memory import DAY
from tests.api.memories.test_remember import brain_database_url
from tests.support.api.brain import Brain, http, offer, refused, remembered
from tests.support.store.fixtures import START

__all__ = ["brain_database_url"]

REMEMBER, BATCH = "/v1/brain/remember", "/v1/brain/remember:batch"


async def test_waiting_for_the_indexes(brain: Brain) -> None:
    app = brain.app()
    async with http(app, await brain.key(), prefer="respond-async, wait=30") as client:
        async with brain.services():
            one = await client.post(REMEMBER, json=offer("waited for"))
            many = await client.post(BATCH, json={"memories": [offer("a"), offer("b"), offer("a")]})
            memory = f"/v1/brain/memories/{one.json()['id']}"
            changed = await client.patch(memory, json={"content": "waited for longer"})
            found = await client.post("/v1/brain/recall", json={"query": "longer"})
            forgotten = await client.delete(f"/v1/brain/forget/{one.json()['id']}")
            gone = await client.post("/v1/brain/recall", json={"query": "longer"})
        pending = await client.post(REMEMBER, json=offer("nobody works"), headers={"prefer": "wait=0"})

    assert [one.status_code, one.json()["indexed"], one.json()["state"]] == [201, True, "indexed"]
    assert one.headers["preference-applied"] == "wait=30"
    assert [each["indexed"] for each in many.json()["results"]] == [True] * 3
    assert [changed.json()["indexed"], changed.json()["version"]] == [True, 2]
    assert found.json()["memories"][0]["content"] == "waited for longer"
    assert forgotten.json()["state"] == "deleted"
    assert one.json()["id"] not in gone.json()["scores"]
    assert [pending.json()["indexed"], pending.headers["preference-applied"]] == [False, "wait=0"]


async def test_a_memory_changes_in_what_is_given(brain: Brain) -> None:
    async with http(brain.app(), await brain.key()) as client:
        first, second = await remembered(client, "first", "second", tags=["a"], expires_in=5, metadata={"k": 1})
        path = f"/v1/brain/memories/{first}"
        brain.clock.advance(1_000_000)
        tagged = (await client.patch(path, json={"tags": ["b"], "content": None})).json()
        lasting = (await client.patch(path, json={"expires_at": None})).json()
        shorter = (await client.patch(path, json={"expires_in": 1})).json()
        confirmed = (await client.patch(path, json={"confirm": True})).json()
        rewritten = (await client.patch(path, json={"content": "first again\r\n", "type": "plan"})).json()
        taken = await client.patch(path, json={"content": "second"})
        empty = await client.patch(path, json={"nothing": 1})
        both = await client.patch(path, json={"expires_in": 1, "expires_at": None})

    assert (tagged["tags"], tagged["content"], tagged["metadata"]) == (["b"], "first", {"k": 1})
    assert tagged["data"]["tags"] == ["b"]
    assert (lasting["expires_at"], shorter["expires_at"]) == (None, "2027-01-15T09:00:01.000000Z")
    assert confirmed["confirmed_at"] == "2027-01-15T08:00:01.000000Z"
    assert (rewritten["content"], rewritten["type"], rewritten["version"]) == ("first again", "plan", 5)
    assert refused(taken, 409)["error"] == "conflict"
    refused(empty, 422)
    refused(both, 422)
    assert second != first


async def test_what_is_forgotten_leaves_every_list_and_keeps_its_history(brain: Brain) -> None:
    async with http(brain.app(), await brain.key()) as client:
        (memory_id,) = await remembered(client, "too private")
        first = await client.request("DELETE", f"/v1/brain/forget/{memory_id}", json={"reason": "asked to"})
        brain.clock.advance(DAY)
        again = await client.delete(f"/v1/brain/forget/{memory_id.upper()}", params={"reason": "late"})
        listed = (await client.get("/v1/brain/list")).json()
        shown = (await client.get(f"/v1/brain/memories/{memory_id}", params={"history": "true"})).json()
        changed = await client.patch(f"/v1/brain/memories/{memory_id}", json={"tags": ["x"]})

    assert (first.status_code, first.json()["forgotten"], first.json()["reason"]) == (200, True, "forgotten")
    assert first.json()["data"]["deleted_at"] == again.json()["deleted_at"] == "2027-01-15T08:00:00.000000Z"
    assert listed["count"] == 0
    assert (shown["state"], shown["indexed"]) == ("deleted", False)
    assert [(line["action"], line["actor"]) for line in shown["history"]] == [("created", "ada"), ("forgotten", "ada")]
    assert shown["history"][1]["reason"] == "asked to"
    refused(changed, 404)


async def test_a_long_history_comes_page_by_page(brain: Brain) -> None:
    key, app = await brain.key(), brain.app()
    async with http(app, key) as client:
        (memory_id,) = await remembered(client, "often changed")
        path = f"/v1/brain/memories/{memory_id}"
        short = await client.get(path, params={"history": 1})
        for number in range(104):
            assert (await client.patch(path, json={"tags": [f"t{number}"]})).status_code == 200
        pages = []
        more: dict[str, str] = {}
        while True:
            page = (await client.get(path, params={"history": 1, "limit": 50, **more})).json()
            pages.append(page)
            if "next_cursor" not in page:
                break
            more = {"cursor": page["next_cursor"]}
        first = (await client.get(path, params={"history": 1})).json()
        tags = {(await client.get(path, params={"history": 1, "limit": n})).headers["etag"] for n in (1, 2)}
        behind_all = await client.get(path, params={"history": 1, "cursor": "9" * 18})
        refusals = [
            await client.get(path, params={"history": 1, name: value})
            for name, value in (("limit", 0), ("limit", 501), ("cursor", "x"))
        ]
    async with OpenBrain("http://brain.test", key, transport=httpx.ASGITransport(app)) as ada:
        whole, one = await ada.memory_whole(memory_id), await ada.memory(memory_id, history=True)

    assert (len(short.json()["history"]), "next_cursor" in short.json()) == (1, False), "unchanged for older clients"
    assert [len(page["history"]) for page in pages] == [50, 50, 5]
    versions = [line["version"] for page in pages for line in page["history"]]
    assert versions == list(range(1, 106))
    assert {str(page["lineage"]) for page in pages} == {str(first["lineage"])}
    assert (len(first["history"]), first["next_cursor"] is None) == (100, False)
    assert len(tags) == 2
    assert behind_all.json()["history"] == []
    for refusal in refusals:
        refused(refusal, 422)
    assert [line.version for line in whole.history or ()] == versions
    assert whole.next_cursor is None
    assert (len(one.history or ()), one.next_cursor) == (100, first["next_cursor"])


async def test_an_expired_memory_is_gone_at_once(brain: Brain) -> None:
    async with http(brain.app(), await brain.key()) as client:
        (memory_id,) = await remembered(client, "short lived", expires_in=1)
        await brain.settle()
        brain.clock.advance(DAY)
        found = (await client.post("/v1/brain/recall", json={"query": "short lived"})).json()
        listed = (await client.get("/v1/brain/list")).json()
        shown = (await client.get(f"/v1/brain/memories/{memory_id}")).json()
        again = await client.post(REMEMBER, json=offer("short lived"))

    assert (found["count"], listed["count"], shown["state"]) == (0, 0, "expired")
    assert shown["expires_at"] > shown["created_at"]
    assert again.status_code == 201
    assert brain.clock.now() == START + DAY
