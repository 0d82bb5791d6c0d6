"""Recall while the embedding model changes: never down, and never mixing the vectors of two models."""

import asyncio
from array import array
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any

import httpx
import pytest

from openbrain.adapters.embedding.minilm import IDENTITY
from openbrain.ports.store.generations import Generation, GenerationStatus, IndexKind
from openbrain.usecases.indexes.embedders import Embedders
from openbrain_embedder.handlers.embedding import embed_stored
from openbrain_indexer.handlers.vectors import project_vector
from tests.support.api.brain import Brain, http, remembered
from tests.support.embedder.handler import event
from tests.support.embedder.second_model import Second, named
from tests.support.waiting import until

RECALL = "/v1/brain/recall"
TEXTS = ["ships find the harbour by the lamp", "bread rises in the oven", "the deploy moved to thursday"]
QUESTION = {"query": "guiding boats safely at night"}
FOUND = TEXTS[0]


@pytest.fixture
async def second() -> AsyncIterator[Second]:
    opened = Second()
    yield opened
    await opened.close()


async def _built(brain: Brain, second: Second, *ids: str) -> Generation:
    """A generation of the second model that holds these memories."""
    identity = await second.identity()
    wanted = Generation(
        kind=IndexKind.VECTOR,
        name=f"v-{identity.key}",
        model=identity.key,
        model_name="second",
        dimensions=identity.dimensions,
        builder=brain.vectors.builder,
        status=GenerationStatus.BUILDING.value,
    )
    await brain.vectors.prepare(wanted.name, wanted.dimensions)
    made = await brain.store.generations.begin(wanted)
    rows = await brain.store.memories.rows(ids)
    events = [event(row) for row in rows.values()]
    assert not await embed_stored(events, store=brain.store, embedder=second, clock=brain.clock, batch=32)
    assert not await project_vector(ids, store=brain.store, index=brain.vectors, generations=[made])
    return made


async def _asked(client: httpx.AsyncClient, **more: Any) -> dict[str, Any]:
    response = await client.post(RECALL, json=QUESTION | more)
    assert response.status_code == 200
    body: dict[str, Any] = response.json()
    return body


def _app(brain: Brain, embedders: Embedders, *, text_weight: float = 0) -> Any:
    """With weight 0 the vectors alone decide, so that a wrong one shows."""
    recall = brain.settings.recall.model_copy(update={"text_weight": text_weight})
    return brain.app(embedders=embedders, settings=brain.settings.model_copy(update={"recall": recall}))


async def _checked(client: httpx.AsyncClient, brain: Brain) -> httpx.Response:
    """Ask `/ready` until the embedder was checked again: on a stalled machine that may take a while."""
    seen: list[httpx.Response] = []

    async def looked() -> bool:
        brain.clock.advance(2_000_000)
        seen[:] = [await client.get("/ready")]
        return "embedder" in seen[0].json()["dependencies"]

    await until(looked)
    return seen[0]


async def test_recall_follows_the_swap_and_mixes_nothing(brain: Brain, second: Second) -> None:
    embedders = named({IDENTITY.name: brain.embedder, "second": second}, IDENTITY.name)
    async with http(_app(brain, embedders), await brain.key()) as client:
        ids = await remembered(client, *TEXTS)
        await brain.settle()
        made = await _built(brain, second, *ids)
        before = await _asked(client)
        assert before["memories"][0]["content"] == FOUND

        await brain.store.generations.swap(IndexKind.VECTOR, made.name)
        brain.clock.advance(2_000_000)
        answers = [await _asked(client, query=f"guiding boats safely at night {number}") for number in range(5)]

        async def by_the_new_one() -> bool:
            answers.append(await _asked(client))
            known = second.query_texts
            return QUESTION["query"] in known

        await until(by_the_new_one)
        await brain.store.generations.swap(IndexKind.VECTOR, f"v-{IDENTITY.key}")
        brain.clock.advance(2_000_000)
        answers += [await _asked(client) for _ in range(5)]

    assert {tuple(each["degraded"]) for each in answers} == {()}, "no recall lacked vectors"
    assert {each["memories"][0]["content"] for each in answers} == {FOUND}, "mixed, it would find something else"


async def test_the_index_that_served_answers_while_the_next_model_is_loaded(brain: Brain, second: Second) -> None:
    loaded = asyncio.Event()

    class Slow(Second):
        async def embed_queries(self, queries: Sequence[str]) -> Sequence["array[float]"]:
            await loaded.wait()
            return await super().embed_queries(queries)

    slow = Slow()
    async with http(
        _app(brain, named({IDENTITY.name: brain.embedder, "second": slow}, IDENTITY.name)), await brain.key()
    ) as ada:
        ids = await remembered(ada, *TEXTS)
        await brain.settle()
        made = await _built(brain, second, *ids)
        await _asked(ada)
        await brain.store.generations.swap(IndexKind.VECTOR, made.name)
        brain.clock.advance(2_000_000)

        while_it_loads = [await _asked(ada, query=f"boats at night {number}") for number in range(3)]
        assert {tuple(each["degraded"]) for each in while_it_loads} == {()}
        assert slow.query_texts == []

        loaded.set()

        async def by_the_new_one() -> bool:
            assert (await _asked(ada))["degraded"] == []
            return QUESTION["query"] in slow.query_texts

        await until(by_the_new_one)
    await slow.close()


async def test_a_model_that_can_not_be_had_degrades_and_says_so(brain: Brain, second: Second) -> None:
    async with http(
        _app(brain, named({IDENTITY.name: brain.embedder}, IDENTITY.name), text_weight=0.5), await brain.key()
    ) as client:
        ids = await remembered(client, *TEXTS)
        await brain.settle()
        made = await _built(brain, second, *ids)
        await _asked(client)
        await brain.store.generations.swap(IndexKind.VECTOR, made.name)
        brain.clock.advance(2_000_000)

        async def told() -> bool:
            return bool((await _asked(client))["degraded"])

        await until(told)
        ready = await _checked(client, brain)
    (problem,) = ready.json()["dependencies"]["embedder"]["problems"]
    assert "there is no model second" in problem


async def test_other_weights_under_the_name_embed_no_question(brain: Brain, second: Second) -> None:
    changed = Second("6" * 64)
    opened = iter([second, changed])
    embedders = Embedders(lambda: next(opened), lambda _: next(opened), lambda _: "second")
    other = replace(brain, embedder=second)
    async with http(_app(brain, embedders, text_weight=0.5), await brain.key()) as client:
        await remembered(client, *TEXTS)
        await other.settle()
        assert (await _asked(client))["degraded"] == []
        second.now = changed.now

        answer = await _asked(client, query="another question about boats")
        ready = await _checked(client, brain)

    assert answer["degraded"] == ["vectors"]
    assert changed.query_texts == []
    (problem,) = ready.json()["dependencies"]["embedder"]["problems"]
    assert "openbrain models change second" in problem
    assert ready.status_code == 200, "the other index answers"
    await changed.close()
