"""Near-equal memories are one hit, the asked project comes first, and a chain answers with its head."""

import uuid
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from qdrant_client import AsyncQdrantClient

from openbrain.adapters.elasticsearch.text import ElasticsearchText
from openbrain.adapters.elasticsearch.vectors import ElasticsearchVectors
from openbrain.adapters.qdrant.vectors import QdrantVectors
from openbrain.contract.brain.recall import Recalled
from tests.support.api.brain import Brain, http, offer, remembered
from tests.support.indexes.ended_tests import delete_later

RECALL = "/v1/brain/recall"
PORT = "The staging database listens on port 5433"
QUESTION = "which port does the staging database listen on?"


async def asked(client: httpx.AsyncClient, query: str, **more: Any) -> Recalled:
    response = await client.post(RECALL, json={"query": query, "precision": "recall", **more})
    assert response.status_code == 200, response.text
    return Recalled.model_validate(response.json())


@pytest.fixture(params=["embedded", "qdrant-local", "elasticsearch"])
async def on_engines(request: pytest.FixtureRequest, brain: Brain) -> AsyncIterator[Brain]:
    """The brain on other indexes: Qdrant in the client's local mode, or both on Elasticsearch."""
    name, text, vectors = f"t{uuid.uuid4().hex[:12]}", brain.text, brain.vectors
    if request.param == "qdrant-local":
        brain.vectors = QdrantVectors(lambda: AsyncQdrantClient(":memory:"), name)
    elif request.param == "elasticsearch":
        url = request.getfixturevalue("elasticsearch_server").url
        brain.text = ElasticsearchText(url, name, refresh_ms=20, verify_tls=True, timeout_s=60)
        brain.vectors = ElasticsearchVectors(url, name, refresh_ms=20, verify_tls=True, timeout_s=60)
    yield brain
    for ours, own in ((brain.text, text), (brain.vectors, vectors)):
        if ours is not own:
            await ours.close()
    brain.text, brain.vectors = text, vectors
    if request.param == "elasticsearch":
        delete_later(url, name)


@pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant:UserWarning")
async def test_near_equal_memories_are_one_hit(on_engines: Brain) -> None:
    brain = on_engines
    async with http(brain.app(), await brain.key()) as ada:
        echoes = await remembered(ada, PORT, f"Note: {PORT}!", f"{PORT.lower()}, please")
        others = await remembered(ada, PORT.replace("5433", "5432"), PORT.replace("listens", "never listens"))
        await brain.settle()
        folded, shown = await asked(ada, QUESTION, top_k=3), await asked(ada, QUESTION, fold=False)
        batch = await ada.post(f"{RECALL}:batch", json={"queries": [{"query": QUESTION, "top_k": 3}]})

    ((head, behind),) = folded.folded.items()
    assert {head, *behind} == set(echoes)
    assert {each.id for each in folded.memories} == {head, *others}, "echoes take no places in the answer"
    assert ({each.id for each in shown.memories}, shown.folded) == ({*echoes, *others}, {})
    assert batch.json()["results"][0]["folded"] == {head: [*behind]}


@pytest.mark.parametrize("indexed", [True, False], ids=["indexed", "words of the database"])
async def test_echoes_take_no_places_of_what_lies_far_behind_them(brain: Brain, indexed: bool) -> None:
    async with http(brain.app(), await brain.key()) as ada:
        for start in range(0, 130, 65):
            ends = [f"{'!' * (number % 13)}{'.' * (number // 13)}" for number in range(start, start + 65)]
            body = [offer(f"{PORT}{end}", allow_duplicate=True) for end in ends]
            assert (await ada.post("/v1/brain/remember:batch", json={"memories": body})).status_code == 200
        (other,) = await remembered(ada, "Databases are backed up at night")
        if indexed:
            await brain.settle()
        found = await asked(ada, PORT, top_k=2)

    assert [each.id for each in found.memories][1:] == [other]
    assert len(found.folded[found.memories[0].id]) == 129


async def test_nobody_is_told_of_echoes_that_they_may_not_see(brain: Brain) -> None:
    keys = await brain.key(), await brain.key(agent="bob"), await brain.key("w2", agent="eve")
    app = brain.app()
    async with http(app, keys[0]) as ada, http(app, keys[1]) as bob, http(app, keys[2]) as eve:
        (seen,) = await remembered(bob, PORT)
        hidden = [*await remembered(ada, f"{PORT}!", memory_scope="agent")]
        hidden += await remembered(ada, f"note: {PORT}", memory_scope="session", session_id="s1")
        hidden += await remembered(eve, f"{PORT}.")
        await brain.settle()
        answers = [
            await bob.post(RECALL, json={"query": QUESTION, "explain": True}),
            await bob.post(f"{RECALL}:batch", json={"queries": [{"query": QUESTION, "explain": True}] * 2}),
        ]

    for answer in answers:
        assert seen in answer.text
        assert [each for each in hidden if each in answer.text] == []
    assert answers[0].json()["folded"] == {}


async def test_the_asked_project_comes_before_what_is_about_as_near(brain: Brain) -> None:
    async with http(brain.app(), await brain.key()) as ada:
        said = "We deploy with podman on Thursdays"
        (common,) = await remembered(ada, said, confidence=1.0)
        (shared,) = await remembered(ada, said, project="shop", memory_scope="shared", confidence=0.4)
        (own,) = await remembered(ada, said, project="shop", confidence=0.5)
        await brain.settle()
        question = "when do we deploy with podman?"
        answer = await asked(ada, question, project="shop", explain=True, fold=False)
        anywhere = await asked(ada, question, fold=False)

    assert [each.id for each in answer.memories] == [own, shared, common]
    assert anywhere.memories[0].id == common
    assert answer.explained is not None
    told = {memory_id: part.project for memory_id, part in answer.explained.items()}
    assert told == {own: 0, shared: 0, common: pytest.approx(-0.08)}


async def test_a_chain_answers_with_its_head_while_an_index_is_behind(brain: Brain) -> None:
    async with http(brain.app(), await brain.key()) as ada, http(brain.app(), await brain.key(agent="bob")) as bob:
        (old,) = await remembered(ada, "The licence server is called kestrel")
        await remembered(ada, "Lunch is at noon")
        await brain.settle()
        (head,) = await remembered(ada, "It runs on the new machine now", supersedes=old)
        found = await asked(ada, "how is the licence server called?", top_k=1)
        (hidden,) = await remembered(ada, "Mine alone", supersedes=head, memory_scope="agent")
        other = await asked(bob, "how is the licence server called?")

    assert [each.id for each in found.memories] == [head]
    assert {old, head, hidden}.isdisjoint(each.id for each in other.memories)
