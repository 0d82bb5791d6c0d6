"""No answer names a memory that the caller may not see: neither as the one superseded, nor in its history."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass

import httpx
import pytest

from openbrain.domain.access.permissions import Permission
from tests.support.api.brain import Brain, http, offer

SESSION = "s1"


@dataclass
class Chain:
    """Four memories of ada's, each superseding the one before: private, in a session of hers, in an org, for
    everyone."""

    ids: list[str]
    ada: httpx.AsyncClient
    bob: httpx.AsyncClient


@pytest.fixture
async def chain(brain: Brain) -> AsyncIterator[Chain]:
    keys = await brain.key(agent="ada"), await brain.key(agent="bob", orgs=("open",))
    async with http(brain.app(), keys[0]) as ada, http(brain.app(), keys[1]) as bob:
        ids: list[str] = []
        for place in (
            {"memory_scope": "agent"},
            {"memory_scope": "session", "session_id": SESSION},
            {"org": "closed"},
            {"org": "open"},
        ):
            body = offer(f"the weir opens on day {len(ids)}", **place, **({"supersedes": ids[-1]} if ids else {}))
            answer = await ada.post("/v1/brain/remember", json=body, params={"session_id": SESSION})
            if answer.status_code == 422:  # an agent supersedes a session's memory within that session
                body["session_id"] = SESSION
                answer = await ada.post("/v1/brain/remember", json=body)
            assert answer.status_code == 201, answer.text
            ids.append(answer.json()["id"])
        await brain.settle()
        yield Chain(ids, ada, bob)


async def answers(client: httpx.AsyncClient, memory_id: str) -> dict[str, httpx.Response]:
    """The answers of every route through which one may read a memory."""
    question = {"query": "the weir"}
    return {
        "memory": await client.get(f"/v1/brain/memories/{memory_id}", params={"history": True}),
        "list": await client.get("/v1/brain/list"),
        "search": await client.get("/v1/brain/search", params={"q": "weir"}),
        "brief": await client.get("/v1/brain/brief"),
        "recall": await client.post("/v1/brain/recall", json={**question, "explain": True}),
        "batch": await client.post(
            "/v1/brain/recall:batch", json={"queries": [question, {**question, "session_id": SESSION}]}
        ),
        "patch": await client.patch(f"/v1/brain/memories/{memory_id}", json={"tags": ["t"]}),
        "export": await client.get("/v1/brain/export"),
        "forget": await client.delete(f"/v1/brain/forget/{memory_id}"),
        "restore": await client.post(f"/v1/brain/memories/{memory_id}:restore", json={}),
    }


async def test_what_may_not_be_seen_is_not_named(chain: Chain) -> None:
    *hidden, shown = chain.ids

    for name, answer in (await answers(chain.bob, shown)).items():
        assert answer.status_code in (200, 409), (name, answer.text)
        assert [each for each in hidden if each in answer.text] == [], (name, answer.text)
        assert shown in answer.text or name == "brief", name


async def test_what_may_be_seen_is_named_as_before(chain: Chain) -> None:
    parent, shown = chain.ids[-2:]

    told = await answers(chain.ada, shown)
    assert told["memory"].json()["supersedes_id"] == parent
    assert told["memory"].json()["supersedes_count"] == 3
    for name in ("list", "search", "recall", "batch", "patch", "export"):
        assert parent in told[name].text, name


async def test_the_place_of_one_who_was_hidden_is_not_told(chain: Chain, brain: Brain) -> None:
    """The history of a memory that bob may see does not name its successor."""
    for_all = (await chain.ada.post("/v1/brain/remember", json=offer("open to all"))).json()["id"]
    own = offer("for myself", memory_scope="agent", supersedes=for_all)
    mine = (await chain.ada.post("/v1/brain/remember", json=own)).json()["id"]

    for client, named in ((chain.bob, False), (chain.ada, True)):
        answer = await client.get(f"/v1/brain/memories/{for_all}", params={"history": True})
        assert answer.status_code == 200
        assert (mine in answer.text) is named
        assert [line["action"] for line in answer.json()["history"]][-1] == "superseded"


async def test_an_admin_exports_whole_chains(chain: Chain, brain: Brain) -> None:
    key = await brain.key(agent="root", permissions=frozenset(Permission))
    async with http(brain.app(), key) as client:
        file = (await client.get("/v1/brain/export")).content
    rows = [json.loads(line) for line in file.splitlines()]
    told = {row["id"]: row.get("supersedes_id") for row in rows if row["kind"] == "memory"}
    assert [told[each] for each in chain.ids] == [None, *chain.ids[:-1]]


async def test_a_predecessor_that_is_hidden_later_is_no_longer_named(brain: Brain) -> None:
    app = brain.app()
    async with http(app, await brain.key()) as ada, http(app, await brain.key(agent="bob")) as bob:
        parent = (await ada.post("/v1/brain/remember", json=offer("it opens at six"))).json()["id"]
        body = offer("it opens at seven", supersedes=parent)
        path = f"/v1/brain/memories/{(await ada.post('/v1/brain/remember', json=body)).json()['id']}"
        before = (await bob.get(path)).json()
        await ada.delete(path)
        await ada.post(f"/v1/brain/memories/{parent}:restore", json={})
        await ada.patch(f"/v1/brain/memories/{parent}", json={"memory_scope": "agent"})
        own, after = (await ada.get(path)).json(), (await bob.get(path)).json()

    assert [each["supersedes_id"] for each in (before, own, after)] == [parent, parent, None]
    assert after["supersedes_count"] == 1
