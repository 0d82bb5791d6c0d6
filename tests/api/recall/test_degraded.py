"""Recall when a part is down, slow, or another one than before."""

import asyncio
from array import array
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from openbrain.adapters.sql.memories.reading import SqlMemories
from openbrain.domain.errors import TryLater
from openbrain.ports.index import Checked, Hit
from openbrain.ports.models import ModelIdentity
from openbrain.settings import Settings
from openbrain.settings.tuning import RecallTuning
from tests.support.api.brain import Brain, http, refused, remembered
from tests.support.store.parts import with_parts

RECALL = "/v1/brain/recall"


class Faulty:
    """An index or a model that is down or hangs, which the real ones can't be made to be at will."""

    builder = "faulty"

    def __init__(self, *, hangs: bool = False) -> None:
        self.hangs = hangs
        self.given: list[float | None] = []
        """The time limit given to each search."""

    async def search_many(self, *_: Any, within_s: float | None = None) -> Sequence[Sequence[Hit]]:
        self.given.append(within_s)
        raise await self._fault()

    async def identity(self) -> ModelIdentity:
        raise await self._fault()

    async def unchanged(self) -> bool:
        raise await self._fault()

    async def check(self) -> Checked:
        raise await self._fault()

    async def _fault(self) -> TryLater:
        if self.hangs:
            await asyncio.Event().wait()
        return TryLater("down for the test")


DOWN = [
    ({"vectors": Faulty()}, ["vectors"]),
    ({"embedder": Faulty()}, ["vectors"]),
    ({"text": Faulty()}, ["text"]),
    ({"text": Faulty(), "vectors": Faulty()}, ["vectors", "text"]),
    ({"vectors": Faulty(hangs=True)}, ["vectors"]),
    ({"text": Faulty(hangs=True), "embedder": Faulty(hangs=True)}, ["vectors", "text"]),
]


def within_s(parts: Mapping[str, Any]) -> Sequence[float]:
    """Time limits to try. A short one only where the time must run out; and because a healthy part may be slow,
    longer ones if that fails."""
    return (0.3, 3, 30) if any(part.hangs for part in parts.values()) else (60,)


def impatient(brain: Brain, seconds: float) -> Settings:
    recall = brain.settings.recall.model_copy(update={"tuning": RecallTuning(index_timeout_s=seconds)})
    return brain.settings.model_copy(update={"recall": recall})


@pytest.mark.parametrize(("parts", "degraded"), DOWN)
async def test_what_is_down_is_named_and_the_rest_answers(
    brain: Brain, parts: Mapping[str, Any], degraded: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with http(brain.app(), await brain.key()) as client:
        await remembered(client, "Deploys need a review", "lunch is at noon")
    await brain.settle()
    for seconds in within_s(parts):
        monkeypatch.setattr("openbrain.streams.monitoring.endpoints._CHECK_S", seconds)
        async with http(brain.app(settings=impatient(brain, seconds), **parts), await brain.key()) as client:
            response = await client.post(RECALL, json={"query": "who reviews a deploy? review!"})
            health = await client.get("/v1/health")
            ready = await client.get("/ready")
        down = {name for name, state in health.json()["parts"].items() if state == "down"}
        if (response.json()["degraded"], down) == (degraded, set(parts)):
            break

    assert response.status_code == 200
    assert response.json()["degraded"] == degraded
    assert response.json()["memories"][0]["content"] == "Deploys need a review"
    assert [health.json()["status"], ready.status_code] == ["degraded", 200]
    assert down == set(parts)


async def test_one_that_hangs_is_told_its_time_and_left_alone(brain: Brain, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not every recall waits for a hanging index; and one that is merely down does not count as hanging."""
    monkeypatch.setattr("openbrain_api.recall.indexes.breaker.FIRST_S", 1000)
    monkeypatch.setattr("openbrain_api.recall.indexes.breaker.LONGEST_S", 1000)
    async with http(brain.app(), await brain.key()) as client:
        await remembered(client, "Deploys need a review")
    await brain.settle()
    for hangs, asked in ((True, 3), (False, 8)):
        for seconds in within_s({"vectors": Faulty(hangs=hangs)}):
            vectors = Faulty(hangs=hangs)
            app = brain.app(settings=impatient(brain, seconds), vectors=vectors)
            async with http(app, await brain.key()) as client:
                answers = [(await client.post(RECALL, json={"query": "review"})).json() for _ in range(8)]
            if len(vectors.given) == asked:
                break
        assert all("vectors" in each["degraded"] for each in answers)
        assert len(vectors.given) == asked
        assert all(each is not None and 0 < each <= seconds for each in vectors.given)


async def test_the_words_of_the_truth_respect_the_same_filters(brain: Brain) -> None:
    async with http(brain.app(text=Faulty(), vectors=Faulty()), await brain.key()) as client:
        await remembered(client, "deploy on friday", type="fact")
        await remembered(client, "deploy on monday", type="plan")

        plans = (await client.post(RECALL, json={"query": "deploy", "type": "plan"})).json()
        nothing = (await client.post(RECALL, json={"query": "?!"})).json()

    assert [each["content"] for each in plans["memories"]] == ["deploy on monday"]
    assert nothing["count"] == 0


async def test_before_any_indexer_ran_the_truth_answers(brain: Brain) -> None:
    async with http(brain.app(), await brain.key()) as ada:
        await remembered(ada, "the very first memory")
        body = (await ada.post(RECALL, json={"query": "first memory"})).json()

    assert (body["count"], body["degraded"]) == (1, ["vectors", "text"])


async def test_the_truth_finds_words_of_texts_without_spaces(brain: Brain) -> None:
    async with http(brain.app(), await brain.key()) as ada:
        found, _ = await remembered(ada, "支付服务的端口是八", "数据库每晚备份")
        answer = (await ada.post(RECALL, json={"query": "哪个端口?"})).json()

    assert [each["id"] for each in answer["memories"]] == [found]


async def test_without_the_truth_there_is_no_answer(brain: Brain) -> None:
    class Lost(SqlMemories):
        async def rows(self, ids: Sequence[str]) -> Any:
            raise TryLater("the database is down: wait")

    async def down() -> Any:
        raise TryLater("the database is down: wait")

    async with http(brain.app(), await brain.key()) as client:
        await remembered(client, "x")
    await brain.settle()
    lost = with_parts(brain.store, memories=Lost(brain.store._database), check=down)
    async with http(brain.app(store=lost), await brain.key()) as client:
        response = await client.post(RECALL, json={"query": "x"})
        health, ready = await client.get("/v1/health"), await client.get("/ready")

    assert refused(response, 503)["error"] == "service_error"
    assert response.headers["retry-after"] == "1"
    assert [health.status_code, health.json()["status"], ready.status_code] == [503, "down", 503]
    assert ready.json()["failing"] == {"api": {"truth": "TryLater: the database is down: wait"}}


async def test_a_query_is_embedded_once(brain: Brain) -> None:
    asked: list[str] = []
    model = brain.embedder

    class Counting(Faulty):
        async def identity(self) -> ModelIdentity:
            return await model.identity()

        async def unchanged(self) -> bool:
            return True

        async def embed_queries(self, queries: Sequence[str]) -> Sequence["array[float]"]:
            asked.extend(queries)
            return await model.embed_queries(queries)

    async with http(brain.app(embedder=Counting()), await brain.key()) as client:
        await remembered(client, "cached")
        await brain.settle()
        for query in ("one", "two", "one", " one "):
            assert (await client.post(RECALL, json={"query": query})).json()["degraded"] == []

    assert asked == ["one", "two"]


async def test_vectors_of_another_model_are_not_compared(brain: Brain) -> None:
    class Other(Faulty):
        async def identity(self) -> ModelIdentity:
            return ModelIdentity(name="other", digest="0" * 64, dimensions=384, prompt_version=1, splitter_version=1)

        async def unchanged(self) -> bool:
            return True

    async with http(brain.app(embedder=Other()), await brain.key()) as client:
        await remembered(client, "by the small model")
        await brain.settle()

        assert (await client.post(RECALL, json={"query": "small"})).json()["degraded"] == ["vectors"]
