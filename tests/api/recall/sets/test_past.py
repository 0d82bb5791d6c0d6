"""What was remembered at an earlier time, with the text of that time."""

from typing import Any

import httpx

from openbrain.domain.memory import DAY
from openbrain.domain.times import to_iso
from tests.support.api.brain import Brain, http, remembered

RECALL = "/v1/brain/recall"
QUESTION = "which port does kestrel listen on?"


async def asked(client: httpx.AsyncClient, at: int | None = None, **more: Any) -> list[str]:
    when = {} if at is None else {"as_of": to_iso(at)}
    response = await client.post(RECALL, json={"query": QUESTION, "precision": "recall", **when, **more})
    assert response.status_code == 200, response.text
    return [each["content"] for each in response.json()["memories"]]


async def test_as_it_read_and_lived_then(brain: Brain) -> None:
    async with http(brain.app(), await brain.key()) as ada:
        made = brain.clock.now()
        (edited,) = await remembered(ada, "Kestrel listens on port 1")
        await remembered(ada, "Kestrel listens on port 2", expires_in=24)
        brain.clock.advance(2 * DAY)
        await ada.patch(f"/v1/brain/memories/{edited}", json={"content": "Kestrel listens on port 3", "tags": ["new"]})
        brain.clock.advance(DAY)
        (head,) = await remembered(ada, "Kestrel listens on port 4", supersedes=edited)
        brain.clock.advance(DAY)
        (forgotten,) = await remembered(ada, "Kestrel listens on port 5")
        brain.clock.advance(DAY)
        then = brain.clock.now()
        await ada.delete(f"/v1/brain/forget/{forgotten}")
        brain.clock.advance(DAY)
        await brain.settle()
        answers = [await asked(ada, made + days * DAY + 1) for days in (0, 2, 3)]
        tagged = [await asked(ada, made + days * DAY + 1, tags=["new"]) for days in (0, 2)]
        at_last, of_now = await asked(ada, then - 1), await asked(ada)
        whole = await ada.post(RECALL, json={"query": QUESTION, "as_of": to_iso(made + 2 * DAY + 1), "explain": True})

    assert sorted(answers[0]) == ["Kestrel listens on port 1", "Kestrel listens on port 2"]
    assert answers[1:] == [["Kestrel listens on port 3"], ["Kestrel listens on port 4"]]
    assert tagged == [[], ["Kestrel listens on port 3"]]
    assert at_last == of_now == ["Kestrel listens on port 4"], "what was forgotten is not shown of a time before"
    (memory,) = whole.json()["memories"]
    assert (memory["id"], memory["deleted_at"], memory["reason"], memory["tags"]) == (edited, None, None, ["new"])
    assert whole.json()["explained"][edited]["text"]["rank"] == 1
    assert head != edited


async def test_the_past_shows_nobody_more_than_they_may_see(brain: Brain) -> None:
    app = brain.app()
    keys = await brain.key(), await brain.key(agent="bob"), await brain.key("w2", agent="eve")
    async with http(app, keys[0]) as ada, http(app, keys[1]) as bob, http(app, keys[2]) as eve:
        hidden = await remembered(ada, "Kestrel listens on port 1", memory_scope="agent")
        (erased,) = await remembered(bob, "Kestrel listens on port 2")
        brain.clock.advance(DAY)
        at = to_iso(brain.clock.now())
        brain.clock.advance(DAY)
        assert (await bob.delete(f"/v1/brain/forget/{erased}", params={"erase": True})).status_code == 200
        body = {"query": QUESTION, "as_of": at, "explain": True, "precision": "recall"}
        answers = [
            answer
            for client in (bob, eve)
            for answer in (
                await client.post(RECALL, json=body),
                await client.post(f"{RECALL}:batch", json={"queries": [body, {**body, "query": "kestrel"}]}),
            )
        ]

    for answer in answers:
        assert [each for each in (*hidden, erased, "Kestrel") if each in answer.text] == []


async def test_times_that_are_refused(brain: Brain) -> None:
    async with http(brain.app(), await brain.key()) as ada:
        await remembered(ada, "Kestrel listens on port 1")
        body = {"query": QUESTION}
        later, long_ago = brain.clock.now() + DAY, brain.clock.now() - 3651 * DAY
        refused = [
            await ada.post(RECALL, json={**body, **more})
            for more in (
                {"as_of": to_iso(later)},
                {"as_of": to_iso(long_ago)},
                {"as_of": to_iso(brain.clock.now()), "around": 1},
                {"as_of": to_iso(brain.clock.now()), "match": "names"},
            )
        ]
        queries = [{**body, "as_of": to_iso(later)}, {**body, "as_of": to_iso(brain.clock.now())}]
        batch = (await ada.post(f"{RECALL}:batch", json={"queries": queries})).json()

    assert [each.status_code for each in refused] == [422] * 4
    assert [each.json()["field"] for each in refused[:2]] == ["as_of"] * 2
    assert batch["count"] == 1
    assert (batch["results"][0]["field"], batch["results"][1]["count"]) == ("as_of", 1)


async def test_in_the_order_of_time(brain: Brain) -> None:
    async with http(brain.app(), await brain.key()) as ada:
        for day, port in ((3, "1"), (1, "2"), (2, "3")):
            await remembered(ada, f"Kestrel listens on port {port}", occurred_at=f"2026-03-0{day}T00:00:00Z")
        await brain.settle()

        assert [each[-1] for each in await asked(ada, order="time")] == ["2", "3", "1"]


async def test_words_of_texts_without_spaces(brain: Brain) -> None:
    async with http(brain.app(), await brain.key()) as ada:
        await remembered(ada, "支付服务的端口是八", "数据库每晚备份")

        assert await asked(ada, brain.clock.now(), query="哪个端口?") == ["支付服务的端口是八"]


async def test_by_the_org_of_that_time(brain: Brain) -> None:
    async with http(brain.app(), await brain.key()) as ada:
        (moved,) = await remembered(ada, "Kestrel listens on port 1", org="north")
        then = brain.clock.now()
        brain.clock.advance(DAY)
        await ada.patch(f"/v1/brain/memories/{moved}", json={"org": "south"})
        answers = [await asked(ada, at, org=org) for at in (then, brain.clock.now()) for org in ("north", "south")]

    assert answers == [["Kestrel listens on port 1"], [], [], ["Kestrel listens on port 1"]]
