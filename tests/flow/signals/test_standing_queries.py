"""Standing queries in the running pipeline: new memories reach the inbox, even if no event announces them."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.flow.conftest import Brain
from tests.support.waiting import until

pytestmark = pytest.mark.asyncio(loop_scope="module")
BO = {"agent_id": "bo"}


@pytest_asyncio.fixture(loop_scope="module")
async def brain(tenant: Brain) -> AsyncIterator[Brain]:
    yield tenant


async def subscribe(brain: Brain, **body: Any) -> str:
    return str((await brain.post("/v1/brain/subscriptions", {**BO, **body}, 201))["id"])


async def inbox(brain: Brain) -> list[dict[str, Any]]:
    answer = await brain.http.get("/v1/messages/inbox", params={**BO, "limit": 100})
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["messages"]
    return found


async def matched(brain: Brain, *memory_ids: str) -> list[dict[str, Any]]:
    """The inbox, once it holds these memories."""

    async def there() -> bool:
        return {each["match"]["memory_id"] for each in await inbox(brain)} >= set(memory_ids)

    await until(there)
    return await inbox(brain)


async def test_what_is_near_or_named_comes_once_and_is_withdrawn_when_it_ends(brain: Brain) -> None:
    subscription = await subscribe(brain, query="why do payments time out?")
    await brain.remember("The coffee machine is on the second floor.")
    near = await brain.remember("Payments time out because the gateway waits for 30 seconds.", agent_id="ada")
    await brain.settled()

    (one,) = await matched(brain, near)
    assert (one["from"], one["content"][:8], one["read"]) == ("ada", "Payments", False)
    assert one["match"]["subscription_id"] == subscription
    assert 0.5 < one["match"]["similarity"] <= 1
    await brain.post(f"/v1/messages/{one['id']}/read", BO)
    answer = await brain.http.request("DELETE", f"/v1/brain/forget/{near}", json={})
    assert answer.status_code == 200

    async def told() -> bool:
        return bool((await inbox(brain))[0]["seq"] > one["seq"])

    await until(told)
    (gone,) = await inbox(brain)
    assert (gone["id"], gone["content"], gone["match"]["withdrawn"]) == (one["id"], "", True)


async def test_a_filter_alone_and_memories_without_vectors_do_too(brain: Brain) -> None:
    await subscribe(brain, filter={"type": ["decision"], "project": "shop"})
    await subscribe(brain, query="Podman")
    await brain.remember("A fact of the shop.", project="shop")
    await brain.remember("What another project decided.", project="forge", type="decision")
    decision = await brain.remember("The shop sells on Sundays.", project="shop", type="decision", embed=False)
    named = await brain.remember("podman runs without root here.", embed=False)

    found = {each["match"]["memory_id"]: each["match"] for each in await matched(brain, decision, named)}
    assert found.keys() == {decision, named}
    assert (found[decision]["similarity"], found[named]["similarity"]) == (None, 0.8)


async def test_what_the_stream_server_lost_is_found_in_the_database(
    brain: Brain, monkeypatch: pytest.MonkeyPatch
) -> None:
    await subscribe(brain, query="release train")
    wakes = brain.container.store.outbox
    take = type(wakes).take

    async def without_embedded(self: Any, limit: int) -> Any:
        entries = await take(self, limit)
        await self.delete([each.id for each in entries if each.stream == "memory.embedded"])
        return [each for each in entries if each.stream != "memory.embedded"]

    monkeypatch.setattr(type(wakes), "take", without_embedded)
    monkeypatch.setattr("openbrain.adapters.sql.outbox.match_queue.EVENT_GRACE", 0)
    lost = await brain.remember("The release train leaves on Thursdays.")

    (one,) = await matched(brain, lost)
    assert one["match"]["similarity"] >= 0.8
    monkeypatch.undo()
    await brain.container.store.outbox.announce_again([lost], None)


async def test_what_was_there_before_is_told_of_on_request(brain: Brain) -> None:
    before = await brain.remember("The harbour closes at noon.", agent_id="ada")
    await brain.settled()
    subscription = await subscribe(brain, query="when does the harbour close?")
    since = {**BO, "since": "2020-01-01T00:00:00Z"}
    await brain.post(f"/v1/brain/subscriptions/{subscription}:replay", since, 202)

    (one,) = await matched(brain, before)
    assert one["match"]["similarity"] > 0.5
    await brain.post(f"/v1/brain/subscriptions/{subscription}:replay", since, 202)

    async def again() -> bool:
        return bool((await inbox(brain))[0]["seq"] > one["seq"])

    await until(again)

    async def over() -> bool:
        answer = await brain.http.get(f"/v1/brain/subscriptions/{subscription}", params=BO)
        return answer.json()["replaying"] is False

    await until(over)
