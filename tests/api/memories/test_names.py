"""Names of memories through the API: stored, changed, returned, and found in a question."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from openbrain.settings import Recall
from tests.support.api.brain import Brain, http, refused, remembered

RECALL = "/v1/brain/recall"


@pytest.fixture
async def ada(brain: Brain) -> AsyncIterator[httpx.AsyncClient]:
    async with http(brain.app(), await brain.key()) as client:
        yield client


async def asked(client: httpx.AsyncClient, query: str, **more: Any) -> dict[str, Any]:
    response = await client.post(RECALL, json={"query": query, **more})
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


async def named(client: httpx.AsyncClient, query: str, **more: Any) -> list[str]:
    return [each["id"] for each in (await asked(client, query, match="names", **more))["memories"]]


async def test_only_what_is_named_answers(brain: Brain, ada: httpx.AsyncClient) -> None:
    (gateway,) = await remembered(
        ada, "Retries thrice.", project="shop", title="Payment gateway", aliases=["PSP", " two ", "PSP"]
    )
    (headed,) = await remembered(ada, "# Payment ledger\nBooks at night.")
    (other,) = await remembered(ada, "The payment gateway is slow on Mondays.")
    await brain.settle()

    assert await named(ada, "does the paymets gateway retry?") == [gateway], "with a typo"
    assert await named(ada, "is the PSP down") == [gateway]
    assert await named(ada, "the payment ledger and the PSP", top_k=1) in ([gateway], [headed])
    assert {*await named(ada, "the payment ledger and the PSP")} == {gateway, headed}
    assert await named(ada, "payment of a gateway") == []
    assert await named(ada, "PSP", project="elsewhere") == []
    answer = await asked(ada, "is the payment gateway slow", explain=True)
    assert {each["id"] for each in answer["memories"]} >= {gateway, other}, "otherwise every relevant memory is found"
    assert answer["explained"][gateway]["named"] == Recall().name_lift
    assert answer["explained"][other]["named"] == 0

    told = (await ada.get(f"/v1/brain/memories/{gateway}?history=1")).json()
    assert (told["title"], told["aliases"]) == ("Payment gateway", ["PSP", "two"])
    assert told["history"][0]["after"]["aliases"] == ["PSP", "two"]


async def test_a_name_is_changed_and_taken_away(brain: Brain, ada: httpx.AsyncClient) -> None:
    (memory,) = await remembered(ada, "Retries thrice.", title="Gateway", aliases=["PSP"])
    path = f"/v1/brain/memories/{memory}"
    assert (await ada.patch(path, json={"title": "Ledger"})).json()["version"] == 2
    await brain.settle()
    assert (await named(ada, "the gateway"), await named(ada, "the ledger"), await named(ada, "PSP")) == (
        [],
        [memory],
        [memory],
    )

    changed = (await ada.patch(path, json={"title": "", "aliases": []})).json()
    assert (changed["title"], changed["aliases"]) == (None, [])
    await brain.settle()
    assert await named(ada, "ledger PSP") == []


async def test_names_go_with_what_is_erased_and_are_hidden_with_it(brain: Brain, ada: httpx.AsyncClient) -> None:
    (memory,) = await remembered(ada, "Retries thrice.", title="Gateway", memory_scope="agent")
    await brain.settle()
    async with http(brain.app(), await brain.key(agent="bob")) as bob:
        assert await named(bob, "the gateway") == []

    assert (await ada.request("DELETE", f"/v1/brain/memories/{memory}?erase=true")).status_code == 200
    told = (await ada.get(f"/v1/brain/memories/{memory}?history=1")).json()
    assert "Gateway" not in str(told)
    assert await named(ada, "the gateway") == []


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"title": "x" * 201}, "title"),
        ({"title": "two\nlines"}, "title"),
        ({"aliases": ["x" * 101]}, "aliases.0"),
        ({"aliases": [str(number) for number in range(21)]}, "aliases"),
        ({"aliases": "one"}, "aliases"),
    ],
)
async def test_a_name_has_its_limits(ada: httpx.AsyncClient, given: dict[str, Any], field: str) -> None:
    body = {"content": "x", "type": "fact", **given}
    refused(await ada.post("/v1/brain/remember", json=body), 422, field)
    refused(await ada.post(RECALL, json={"query": "x", "match": "none"}), 422, "match")
