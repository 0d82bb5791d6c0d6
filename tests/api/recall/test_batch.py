"""Several questions in one request: each is answered as it would be alone."""

import random
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openbrain.adapters.elasticsearch.text import ElasticsearchText
from openbrain.adapters.elasticsearch.vectors import ElasticsearchVectors
from openbrain.contract.brain.recall import RecalledBatch
from openbrain.domain.access.permissions import Permission
from openbrain.domain.errors import NeverRetry
from openbrain.domain.limits import BATCH_QUESTIONS
from openbrain.ports.index import TextIndex, VectorIndex
from openbrain.ports.models import Embedder
from tests.api.recall.test_degraded import DOWN, impatient, within_s
from tests.support.api.brain import Brain, http, refused, remembered
from tests.support.forms import examples
from tests.support.store.fixtures import rows

RECALL, BATCH = "/v1/brain/recall", "/v1/brain/recall:batch"
WORDS = "cache key tenant deploy rollback queue retry shard vector backup heron weir lighthouse captain".split()
AMONG_OTHERS = {"took_ms", "recall_id"}
"""Fields that differ between two answers to the same question."""


@pytest.fixture
async def ada(brain: Brain) -> AsyncIterator[httpx.AsyncClient]:
    async with http(brain.app(), await brain.key()) as client:
        yield client


async def filled(brain: Brain, client: httpx.AsyncClient, count: int = 60) -> None:
    chance = random.Random(7)
    offers = [
        {
            "content": f"{' '.join(chance.choices(WORDS, k=5))} {number}",
            "type": chance.choice(("fact", "decision", "plan")),
            "project": chance.choice(("a", "b", "d")),
            "tags": [f"t{number % 3}"],
            "memory_scope": chance.choice(("project", "shared", "agent")),
            "confidence": round(chance.random(), 2),
        }
        for number in range(count)
    ]
    answer = await client.post("/v1/brain/remember:batch", json={"memories": offers})
    assert answer.json()["count"] == count, answer.text
    await brain.settle()


async def asked(client: httpx.AsyncClient, queries: Sequence[object]) -> list[dict[str, Any]]:
    response = await client.post(BATCH, json={"queries": queries})
    assert response.status_code == 200, response.text
    RecalledBatch.model_validate_json(response.content)
    body = response.json()
    assert body["data"] == {"results": body["results"], "count": body["count"]}
    results: list[dict[str, Any]] = body["results"]
    assert len(results) == len(queries)
    assert body["count"] == sum("error" not in each for each in results)
    return results


def compared(answer: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in answer.items() if name not in {*AMONG_OTHERS, "data"}}


questions = st.fixed_dictionaries(
    {"query": st.lists(st.sampled_from([*WORDS, "?!", "the"]), min_size=1, max_size=5).map(" ".join)},
    optional={
        "top_k": st.integers(1, 100),
        "project": st.sampled_from(("a", "b", "c")),
        "type": st.lists(st.sampled_from(("fact", "decision", "bug")), max_size=2),
        "tags": st.lists(st.sampled_from(("t0", "t1")), max_size=2),
        "include_scopes": st.lists(st.sampled_from(("agent", "shared")), max_size=2),
        "min_confidence": st.sampled_from((0.2, 0.8)),
        "keywords": st.lists(st.sampled_from(WORDS), max_size=2),
        "boost_keywords": st.one_of(st.sampled_from((0, 5)), st.lists(st.sampled_from(WORDS), max_size=2)),
        "text_weight": st.sampled_from((0, 0.3, 1)),
        "explain": st.booleans(),
    },
)


LAWS = settings(
    max_examples=examples(25),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture
async def much(brain: Brain, ada: httpx.AsyncClient) -> httpx.AsyncClient:
    """A quarter of what both indexes hold has been forgotten since."""
    await filled(brain, ada)
    for each in (await ada.get("/v1/brain/list", params={"limit": 15})).json()["memories"]:
        assert (await ada.delete(f"/v1/brain/forget/{each['id']}")).status_code == 200
    return ada


@LAWS
@given(queries=st.lists(questions, min_size=1, max_size=8))
async def test_a_batch_answers_as_single_recalls_do(much: httpx.AsyncClient, queries: list[dict[str, Any]]) -> None:
    together = await asked(much, queries)

    alone = [(await much.post(RECALL, json=query)).json() for query in queries]
    assert [compared(each) for each in together] == [compared(each) for each in alone]


async def test_questions_of_which_each_needs_more_than_one_look(brain: Brain, ada: httpx.AsyncClient) -> None:
    """For one question the best hits of the indexes are all forgotten, for its neighbour none is."""
    await filled(brain, ada, 150)
    all_of_it = {"query": "heron weir", "precision": "recall"}
    queries = [{**all_of_it, "top_k": 100}, {"query": "cache tenant", "top_k": 5, "project": "a"}]
    for memory_id in (await ada.post(RECALL, json=queries[0])).json()["scores"]:
        await ada.delete(f"/v1/brain/forget/{memory_id}")

    together = await asked(ada, [queries[0], queries[1], {**all_of_it, "top_k": 50}])

    assert together[0]["count"] == together[2]["count"] == 50
    assert together[1]["count"] == len((await ada.post(RECALL, json=queries[1])).json()["memories"])


async def test_each_question_is_judged_on_its_own(brain: Brain) -> None:
    async with http(brain.app(), await brain.key(orgs=("acme",))) as client:
        await remembered(client, "we deploy with podman", org="acme")
        await brain.settle()
        results = await asked(
            client,
            [
                {"query": "how do we deploy"},
                {"query": ""},
                {"query": "deploy", "top_k": 1000},
                {"query": "deploy", "org": "globex"},
                {"query": "deploy", "filter": {"type": "rumour"}},
                "deploy",
                None,
                {},
                {"query": "deploy", "org": "acme"},
            ],
        )

    told = [(each.get("count"), each.get("error"), each.get("field")) for each in results]
    assert told[0] == told[8] == (1, None, None)
    assert told[1:8] == [
        (None, "validation_error", "query"),
        (None, "validation_error", "top_k"),
        (None, "forbidden", None),
        (None, "validation_error", "filter.type.0"),
        (None, "validation_error", None),
        (None, "validation_error", None),
        (None, "validation_error", "query"),
    ]
    assert "100" in results[2]["message"]
    assert results[0]["memories"][0]["content"] == "we deploy with podman"


async def test_no_more_than_fifty_and_not_none(brain: Brain, ada: httpx.AsyncClient) -> None:
    full = await asked(ada, [{"query": "x"}] * BATCH_QUESTIONS)
    too_many = await ada.post(BATCH, json={"queries": [{"query": "x"}] * (BATCH_QUESTIONS + 1)})

    assert len(full) == 50
    assert "50" in refused(too_many, 422, "queries")["message"]
    refused(await ada.post(BATCH, json={"queries": []}), 422, "queries")
    refused(await ada.post(BATCH, json={}), 422, "queries")
    async with http(brain.app(), await brain.key(permissions=frozenset({Permission.BRAIN_WRITE}))) as client:
        refused(await client.post(BATCH, json={"queries": [{"query": "x"}]}), 403)


async def test_two_questions_cost_one_request(brain: Brain) -> None:
    async with http(brain.app(), await brain.key(rate_limit=100)) as client:
        left = [
            (await client.post(BATCH, json={"queries": [{"query": "x"}] * count})).headers.get_list(
                "x-ratelimit-remaining"
            )
            for count in (1, 2, 3, 50)
        ]
        refused(await client.post(BATCH, json={"queries": []}), 422)
        assert (await client.get("/v1/brain/list")).headers["x-ratelimit-remaining"] == "69"
        late = await client.post(BATCH, json={"queries": [{"query": "x"}] * 50 * 3})
        for _ in range(2):
            last = await client.post(BATCH, json={"queries": [{"query": "x"}] * 50})

    assert left == [["99"], ["98"], ["96"], ["71"]]
    refused(late, 422)
    assert last.status_code == 200


async def test_every_question_is_recorded_by_itself(brain: Brain) -> None:
    app, key = brain.app(), await brain.key(act_as=("bob",))
    async with http(app, key) as client:
        await remembered(client, "the heron fishes at the weir")
        await brain.settle()
        results = await asked(
            client, [{"query": "heron"}, {"query": 5}, {"query": "heron", "agent_id": "bob"}, {"query": "heron"}]
        )
    async with app.router.lifespan_context(app):
        pass  # leaving the block writes what waits

    kept = {row["id"]: row for row in await rows(brain.store._database, "SELECT * FROM recalls")}
    assert kept.keys() == {each["recall_id"] for each in results if "recall_id" in each}
    assert [kept[results[place]["recall_id"]]["agent_id"] for place in (0, 2, 3)] == ["ada", "bob", "ada"]


@pytest.mark.parametrize(("parts", "degraded"), DOWN)
async def test_what_is_down_degrades_every_answer(brain: Brain, parts: Mapping[str, Any], degraded: list[str]) -> None:
    async with http(brain.app(), await brain.key()) as client:
        await remembered(client, "Deploys need a review", "lunch is at noon")
    await brain.settle()
    expected = [degraded, [name for name in degraded if name == "text"]]
    for seconds in within_s(parts):
        async with http(brain.app(settings=impatient(brain, seconds), **parts), await brain.key()) as client:
            results = await asked(client, [{"query": "deploys review"}, {"query": "lunch", "text_weight": 1}])
        if [each["degraded"] for each in results] == expected:
            break

    assert [each["degraded"] for each in results] == expected
    assert [each["memories"][0]["content"] for each in results] == ["Deploys need a review", "lunch is at noon"]


class Choosy:
    """A model that refuses questions with a certain word, as Ollama does if a vector has no direction."""

    def __init__(self, model: Embedder) -> None:
        self._model = model
        self.calls: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    async def embed_queries(self, queries: Sequence[str]) -> Any:
        self.calls.append(len(queries))
        if any("poison" in query for query in queries):
            raise NeverRetry("no direction for one of them")
        return await self._model.embed_queries(queries)


async def test_a_question_that_the_model_refuses_hurts_no_other(brain: Brain) -> None:
    model = Choosy(brain.embedder)
    async with http(brain.app(embedder=model), await brain.key()) as client:
        await remembered(client, "Deploys need a review")
        await brain.settle()
        queries = [{"query": query} for query in ("deploys?", "review", "poison deploys", "review", "who?")]
        results = await asked(client, queries)
        again = await asked(client, queries)

    assert [each["degraded"] for each in results] == [[], [], ["vectors"], [], []]
    assert [each["count"] for each in results] == [1] * 5
    assert model.calls[0] == 4, "each once"
    assert model.calls[-1] == 1, "known questions are not embedded again"
    assert [compared(each) for each in again] == [compared(each) for each in results]


@pytest.mark.servers("elasticsearch")
async def test_on_a_server_too(brain: Brain, request: pytest.FixtureRequest) -> None:
    url = request.getfixturevalue("elasticsearch_server").url
    name = f"batch{random.Random().getrandbits(40)}"
    text: TextIndex = ElasticsearchText(url, name, refresh_ms=20, verify_tls=True, timeout_s=60)
    vectors: VectorIndex = ElasticsearchVectors(url, name, refresh_ms=20, verify_tls=True, timeout_s=60)
    brain.text, brain.vectors = text, vectors
    try:
        async with http(brain.app(), await brain.key()) as client:
            await filled(brain, client, 30)
            queries = [{"query": f"{word} deploy", "project": project} for word in WORDS for project in ("a", "b")]
            together = await asked(client, queries)
            alone = [(await client.post(RECALL, json=query)).json() for query in queries]
    finally:
        await text.close()
        await vectors.close()

    assert [compared(each) for each in together] == [compared(each) for each in alone]
    assert all(each["degraded"] == [] and each["count"] for each in together)
