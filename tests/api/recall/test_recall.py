"""Recall and lists through the API: every form of the question, and the order."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from openbrain.domain.memory import DAY
from openbrain.domain.times import to_iso
from tests.support.api.brain import Brain, http, remembered

RECALL = "/v1/brain/recall"


@pytest.fixture
async def ada(brain: Brain) -> AsyncIterator[httpx.AsyncClient]:
    async with http(brain.app(), await brain.key()) as client:
        yield client


async def found(client: httpx.AsyncClient, query: str = "how do we deploy", **asked: Any) -> list[str]:
    """Contents of the hits, best first."""
    response = await client.post(RECALL, json={"query": query, **asked})
    assert response.status_code == 200, response.text
    return [each["content"] for each in response.json()["memories"]]


async def test_the_answer_in_both_shapes(brain: Brain, ada: httpx.AsyncClient) -> None:
    ids = await remembered(ada, "we deploy with podman", "lunch is at noon")
    await brain.settle()

    body = (await ada.post(RECALL, json={"query": "how do we deploy"})).json()

    assert [each["id"] for each in body["memories"]] == ids
    assert body["scores"] == {each["id"]: each["score"] for each in body["memories"]}
    assert body["scores"][ids[0]] == 1.0
    assert all(round(score, 4) == score for score in body["scores"].values())
    assert (body["count"], body["degraded"]) == (2, [])
    assert body["took_ms"] > 0
    assert body["data"] == {name: body[name] for name in ("memories", "scores", "count")}
    assert body["memories"][0]["indexed"] is True


VARIANTS: list[tuple[dict[str, Any], set[str]]] = [
    ({}, {"fact", "plan", "bug"}),
    ({"top_k": 1}, {"plan"}),
    ({"top_k": 3, "limit": 1}, {"plan"}),
    ({"top_k": 100}, {"fact", "plan", "bug"}),
    ({"type": "fact"}, {"fact"}),
    ({"type": ["fact", "bug"]}, {"fact", "bug"}),
    ({"filter": {"type": "fact"}}, {"fact"}),
    ({"filter": {"type": ["fact", "plan"]}, "type": "bug"}, {"bug"}),
    ({"filter": {"org": "acme"}}, {"fact"}),
    ({"filter": {"org": "acme"}, "org": "other"}, set()),
    ({"filter": {"project": "web"}}, {"fact", "plan", "bug"}),
    ({"project": "web", "type": "plan"}, {"plan"}),
    ({"project": "none of that name"}, {"fact", "bug"}),
    ({"filter": {"agent_id": "ada"}}, {"fact", "plan", "bug"}),
    ({"filter": {"agent_id": "bob"}}, set()),
    ({"filter": {"min_confidence": 0.7}}, {"fact", "plan"}),
    ({"filter": {"min_confidence": 0.1}, "min_confidence": 0.9}, {"plan"}),
    ({"min_confidence": 0.9, "agent_id": "someone"}, {"plan"}),
    ({"org": "", "project": None, "type": [], "filter": None}, {"fact", "plan", "bug"}),
    ({"tags": ["ops", "none"]}, {"bug"}),
    ({"source": "cli"}, {"bug"}),
    ({"include_scopes": ["agent"]}, {"bug"}),
    ({"include_scopes": ["project", "shared"]}, {"fact", "plan"}),
    ({"since": "2026-06-01T00:00:00Z"}, {"plan", "bug"}),
    ({"until": "2026-06-01T00:00:00Z"}, {"fact"}),
    ({"keywords": ["deploy"]}, {"fact", "plan", "bug"}),
    ({"keywords": ["deploy"], "boost_keywords": 0.3}, {"fact", "plan", "bug"}),
    ({"boost_keywords": ["deploy"]}, {"fact", "plan", "bug"}),
    ({"boost_keywords": "deploy"}, {"fact", "plan", "bug"}),
    ({"workspace_id": "w2", "unknown": {"a": 1}}, {"fact", "plan", "bug"}),
    ({"text_weight": 1}, {"fact", "plan", "bug"}),
    ({"text_weight": 0}, {"fact", "plan", "bug"}),
]


async def test_every_form_of_a_question(brain: Brain, ada: httpx.AsyncClient) -> None:
    await remembered(ada, "we deploy by hand", org="acme", confidence=0.8, occurred_at="2026-01-01T00:00:00Z")
    plan = {"type": "plan", "project": "web", "confidence": 0.95}
    await remembered(ada, "how do we deploy: every day", **plan)
    bug = {"type": "bug", "tags": ["ops"], "source": "cli", "memory_scope": "agent", "confidence": 0.5}
    await remembered(ada, "deploy breaks on friday", **bug)
    await brain.settle()

    for asked, expected in VARIANTS:
        response = await ada.post(RECALL, json={"query": "how do we deploy", **asked})
        assert response.status_code == 200, f"{asked}: {response.text}"
        assert {each["type"] for each in response.json()["memories"]} == expected, asked


async def test_keywords_lift_what_holds_them(brain: Brain, ada: httpx.AsyncClient) -> None:
    await remembered(ada, "we deploy every day with podman", "how do we deploy")
    await brain.settle()

    assert (await found(ada))[0] == "how do we deploy"
    assert (await found(ada, keywords=["podman"], boost_keywords=5))[0] == "we deploy every day with podman"
    ask = {"query": "how do we deploy", "explain": True}
    plain = (await ada.post(RECALL, json=ask)).json()["explained"]
    lifted = (await ada.post(RECALL, json={**ask, "boost_keywords": ["nothing", "DEPLOY"]})).json()["explained"]
    assert {name: part["boosted"] for name, part in lifted.items()} == pytest.approx(
        {name: part["boosted"] * 1.5 for name, part in plain.items()}
    )


async def test_ties_go_to_the_narrower_scope(brain: Brain, ada: httpx.AsyncClient) -> None:
    for scope in ("session", "shared", "agent", "project"):
        await remembered(ada, "we deploy at noon", memory_scope=scope, session_id="s1")
    await brain.settle()

    body = (await ada.post(RECALL, json={"query": "when do we deploy", "session_id": "s1", "fold": False})).json()

    assert [each["memory_scope"] for each in body["memories"]] == ["agent", "project", "shared", "session"]


async def test_what_faded_comes_after_what_lasts(brain: Brain, ada: httpx.AsyncClient) -> None:
    await remembered(ada, "we deploy at noon", type="observation", project="a")
    await remembered(ada, "we deploy at noon", type="convention", project="b", confidence=0.6)
    await brain.settle()
    assert [each["type"] for each in (await ada.post(RECALL, json={"query": "noon"})).json()["memories"]] == [
        "observation",
        "convention",
    ]

    brain.clock.advance(60 * DAY)

    body = (await ada.post(RECALL, json={"query": "noon"})).json()
    assert [each["type"] for each in body["memories"]] == ["convention", "observation"]
    assert body["memories"][1]["confidence"] == 1.0


async def test_the_dead_take_no_place_in_the_answer(brain: Brain, ada: httpx.AsyncClient) -> None:
    """The indexes still hold them all; the database does not, so recall asks the indexes for more."""
    contents = [f"we deploy number {number}" for number in range(150)]
    ids = [
        each["id"]
        for each in (
            await ada.post("/v1/brain/remember:batch", json={"memories": [_offer(content) for content in contents]})
        ).json()["results"]
    ]
    await brain.settle()
    body = (await ada.post(RECALL, json={"query": "we deploy number", "top_k": 100})).json()
    best = list(body["scores"])
    for memory_id in best:
        await ada.delete(f"/v1/brain/forget/{memory_id}")

    body = (await ada.post(RECALL, json={"query": "we deploy number", "top_k": 50})).json()

    assert body["count"] == 50
    assert set(body["scores"]) == set(ids) - set(best)


def _offer(content: str) -> dict[str, Any]:
    return {"content": content, "type": "fact"}


async def test_a_list_is_newest_first_and_goes_on(brain: Brain, ada: httpx.AsyncClient) -> None:
    for number in range(5):
        await remembered(ada, f"number {number}", type="plan" if number % 2 else "fact", tags=[f"t{number}"])
        brain.clock.advance(1)

    async def listed(**params: Any) -> list[int]:
        body = (await ada.get("/v1/brain/list", params=params)).json()
        assert body["data"] == {"memories": body["memories"], "count": body["count"]}
        return [int(each["content"][-1]) for each in body["memories"]]

    assert await listed() == [4, 3, 2, 1, 0]
    assert await listed(limit=2) == [4, 3]
    assert await listed(type="plan") == [3, 1]
    assert await listed(type=["plan", "fact"], limit=1) == [4]
    assert await listed(**{"type[]": ["plan"], "tags[]": ["t1", "t0"]}) == [1]
    assert await listed(tags=["t1", "t2"]) == [2, 1]
    assert await listed(agent_id="bob") == []
    assert await listed(org="", project="", agent_id="") == [4, 3, 2, 1, 0]
    assert await listed(min_confidence="0.5", source="manual", include_scopes="project") == [4, 3, 2, 1, 0]
    page = (await ada.get("/v1/brain/list", params={"limit": 3})).json()
    assert await listed(limit=3, cursor=page["next_cursor"]) == [1, 0]


@pytest.mark.parametrize("match", ["meaning", "names"])
async def test_the_explained_parts_make_the_score(brain: Brain, ada: httpx.AsyncClient, match: str) -> None:
    await remembered(ada, "The port was changed", title="Kestrel")
    await remembered(ada, "It was fast", aliases=["kestrel"], occurred_at=to_iso(brain.clock.now() - 7 * DAY))
    await brain.settle()
    ask = {"query": "What did Kestrel do last week?", "match": match, "neighbours": False, "explain": True}
    explained = (await ada.post(RECALL, json=ask)).json()["explained"].values()

    assert len(explained) == 2
    for parts in explained:
        score, late = parts["fused"], parts["late"]
        if late:
            score = late["weight"] * late["normalised"] + (1 - late["weight"]) * score
        assert parts["boosted"] == pytest.approx(score + parts["named"] + parts["time"])
