"""Recent queries and token states are forgotten after an erasure, by every replica of the API."""

import asyncio
from collections.abc import Sequence
from typing import Any

import httpx

from openbrain.domain.memory import MICROSECONDS
from openbrain.usecases.indexes.encoding import Encoder
from openbrain_api.recall.indexes.erasure_watch import ErasureWatch
from openbrain_api.recall.indexes.query_encodings import QueryEncodings
from tests.support.api.brain import Brain, http, remembered
from tests.support.store.parts import with_parts
from tests.support.waiting import until


class Counting:
    """A model that records which queries it was asked to embed."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self.asked: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    async def embed_queries(self, texts: Sequence[str]) -> Any:
        self.asked += texts
        return await self._model.embed_queries(texts)


async def ask(client: httpx.AsyncClient, query: str) -> None:
    assert (await client.post("/v1/brain/recall", json={"query": query})).status_code == 200


async def test_a_replica_that_erased_nothing_forgets_too(brain: Brain) -> None:
    models = [Counting(brain.embedder) for _ in range(2)]
    key = await brain.key()
    async with (
        http(brain.app(embedder=models[0]), key) as here,
        http(brain.app(embedder=models[1]), key) as there,
    ):
        first, second = await remembered(here, "the safe opens with 4711", "the cellar has a window")
        await brain.settle()
        for _ in range(2):
            await ask(here, "what opens the safe")
            await ask(there, "what opens the safe")
        assert [model.asked for model in models] == [["what opens the safe"]] * 2, "otherwise this test proves nothing"

        await here.delete(f"/v1/brain/memories/{first}", params={"erase": 1})
        brain.clock.advance(2 * MICROSECONDS)
        for client in (here, there):
            await ask(client, "where is the window")
            await ask(client, "what opens the safe")
        assert [len(model.asked) for model in models] == [3, 3], "both embed the query again"

        await there.delete(f"/v1/brain/forget/{second}")
        brain.clock.advance(2 * MICROSECONDS)
        await ask(here, "what opens the safe")
        assert len(models[0].asked) == 3, "a forget is not an erasure"


async def test_token_states_are_forgotten_with_them(brain: Brain) -> None:
    read: list[str] = []

    class Reading:
        def __getattr__(self, name: str) -> Any:
            return getattr(brain.store.vectors, name)

        async def states(self, inputs: Sequence[str], model: str) -> Any:
            read.extend(inputs)
            return await brain.store.vectors.states(inputs, model)

    app = brain.app(store=with_parts(brain.store, vectors=Reading()))
    async with http(brain.app(), await brain.key()) as here, http(app, await brain.key()) as there:
        _, second = await remembered(here, "the cellar has a window", "the safe opens with 4711")
        await brain.settle()
        for _ in range(2):
            await ask(there, "what opens the safe")
        assert len(read) == 2, "otherwise this test proves nothing"

        await here.delete(f"/v1/brain/memories/{second}", params={"erase": 1})
        brain.clock.advance(2 * MICROSECONDS)
        await ask(there, "where is the window")
        await ask(there, "where is the window")
    assert len(read) == 3, "only the memory that is left, once"


async def test_who_is_asked_nothing_any_more_keeps_nothing(brain: Brain) -> None:
    kept = QueryEncodings(8)
    await kept.encodings(["what opens the safe"], Encoder(brain.embedder), "m")
    assert kept._known
    await ErasureWatch(brain.store.writes, brain.clock, (kept,), idle_s=0.05).check()
    await until(lambda: _empty(kept))


async def test_a_question_on_its_way_to_the_model_is_forgotten_too(brain: Brain) -> None:
    asked, go_on = asyncio.Event(), asyncio.Event()

    class Slow(Counting):
        async def embed_queries(self, texts: Sequence[str]) -> Any:
            asked.set()
            await go_on.wait()
            return await super().embed_queries(texts)

    kept = QueryEncodings(8)
    question = asyncio.create_task(kept.encodings(["what opens the safe"], Encoder(Slow(brain.embedder)), "m"))
    await asked.wait()
    kept.clear()
    go_on.set()

    assert "what opens the safe" in await question
    assert not kept._known


async def _empty(kept: QueryEncodings) -> bool:
    return not kept._known


async def test_every_erasure_has_a_name_of_its_own(brain: Brain) -> None:
    async with http(brain.app(), await brain.key()) as client:
        ids = await remembered(client, "one", "two")
        names = [await brain.store.writes.last_erasure()]
        for memory_id in (*ids, ids[1]):
            await client.delete(f"/v1/brain/memories/{memory_id}", params={"erase": 1})
            names.append(await brain.store.writes.last_erasure())
    assert names[0] == ""
    assert len(set(names[:3])) == 3
    assert names[3] == names[2], "erasing it again is no new erasure"
