"""Recall compares hits word by word, in context; it also works if some or all memories have no token states."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from openbrain.adapters.sql.store import SqlStore
from openbrain.ports.models import QueryEncoding
from tests.support.api.brain import Brain, http, remembered, small_model
from tests.support.store.parts import with_parts

RECALL = "/v1/brain/recall"
MONEY = "She took the cheque to the bank"
RIVER = "They sat on the bank of the river"
ASKED, ANSWERED = "where did you spend the holidays", "in lisbon, the trams were lovely"
HOLIDAYS = "holidays in lisbon"


async def asked(client: httpx.AsyncClient, query: str, **more: Any) -> dict[str, Any]:
    response = await client.post(RECALL, json={"query": query, "explain": True, **more})
    assert response.status_code == 200, response.text
    body: dict[str, Any] = response.json()
    return body


async def test_late_interaction_is_told_and_can_be_left_out(brain: Brain) -> None:
    async with http(brain.app(), await brain.key()) as ada:
        money, river = await remembered(ada, MONEY, RIVER)
        await brain.settle()
        whole = await asked(ada, "which bank keeps her money")
        without = await asked(ada, "which bank keeps her money", late_weight=0)
        words = await asked(ada, "bank", text_weight=1)

    late = whole["explained"][money]["late"]
    assert (late["rank"], late["normalised"], late["weight"]) == (1, 1, 0.6)
    fused = {each: whole["explained"][each]["fused"] for each in (money, river)}
    assert whole["scores"][money] == round(0.6 + 0.4 * fused[money], 4)
    for answer in (without, words):
        assert [each["late"] for each in answer["explained"].values()] == [None, None]


async def test_a_memory_without_token_states_is_found_beside_those_that_have_them(brain: Brain) -> None:
    async with http(brain.app(), await brain.key()) as ada:
        money, river = await remembered(ada, MONEY, RIVER)
        await brain.settle()
        await _take_states_of(brain.store, river)
        answer = await asked(ada, "bank of the river")

    assert answer["explained"][river]["late"] is None
    assert answer["explained"][money]["late"] is not None
    assert answer["memories"][0]["id"] == river
    assert answer["scores"][river] == round(answer["explained"][river]["fused"], 4)


async def test_where_token_states_are_switched_off_recall_goes_by_both_indexes(brain: Brain) -> None:
    async with http(brain.app(token_encoder=None), await brain.key()) as ada:
        (money,) = await remembered(ada, MONEY)
        await brain.settle()
        answer = await asked(ada, "bank")

    assert answer["explained"][money]["late"] is None
    assert answer["scores"] == {money: 1.0}


async def test_what_the_words_find_is_read_while_the_question_is_embedded(brain: Brain) -> None:
    read, read_ids = asyncio.Event(), list[str]()

    class Watched:
        """The store's vectors; records of which memories states are read."""

        def __getattr__(self, name: str) -> Any:
            return getattr(brain.store.vectors, name)

        async def inputs(self, ids: Sequence[str], model: str) -> Mapping[str, Sequence[str]]:
            found = await brain.store.vectors.inputs(ids, model)
            read_ids.extend(ids)
            read.set()
            return found

    class Waiting:
        """Embeds the question about a bank only when states have been read."""

        def __getattr__(self, name: str) -> Any:
            return getattr(small_model(), name)

        async def encode_queries(self, queries: Sequence[str]) -> Sequence[QueryEncoding]:
            if "bank" in queries:
                await read.wait()
            return await small_model().encode_queries(queries)

    app = brain.app(token_encoder=Waiting(), store=with_parts(brain.store, vectors=Watched()))
    async with http(app, await brain.key()) as ada:
        money, river = await remembered(ada, MONEY, RIVER)
        (soup,) = await remembered(ada, "The soup was cold")
        await brain.settle()
        await asked(ada, "the model is known from the first question on")
        read.clear()
        read_ids.clear()
        answer = await asked(ada, "bank", precision="recall")

    assert not answer["degraded"]
    assert sorted(read_ids[:2]) == sorted((money, river))
    assert read_ids[2:] == [soup], "nothing is read twice"
    assert answer["explained"][soup]["late"] is not None


async def test_words_of_the_turn_before_count_for_the_turn(brain: Brain) -> None:
    async with http(brain.app(), await brain.key()) as ada:
        (question,) = await remembered(ada, ASKED, session_id="chat", turn=0)
        (answer,) = await remembered(ada, ANSWERED, session_id="chat", turn=1)
        (far,) = await remembered(ada, "the printer is out of paper", session_id="chat", turn=7)
        await brain.settle()
        beside, alone = await asked(ada, HOLIDAYS), await asked(ada, HOLIDAYS, neighbours=False)
        batch = (await ada.post(f"{RECALL}:batch", json={"queries": [{"query": HOLIDAYS}, {"query": "paper"}]})).json()

    assert late(beside, answer) > late(alone, answer)
    assert late(beside, question) > late(alone, question)
    assert late(beside, far) == late(alone, far), "it has no neighbouring turn"
    assert batch["results"][0]["scores"] == beside["scores"]


async def test_no_word_of_what_one_may_not_see_counts(brain: Brain) -> None:
    async with (
        http(brain.app(), await brain.key("w1", "ada")) as ada,
        http(brain.app(), await brain.key("w1", "bob")) as bob,
        http(brain.app(), await brain.key("w2", "eve")) as eve,
    ):
        (answer,) = await remembered(ada, ANSWERED, session_id="chat", turn=1)
        (forgotten,) = await remembered(ada, f"{ASKED}, ada", session_id="chat", turn=2)
        await brain.settle()
        await ada.delete(f"/v1/brain/forget/{forgotten}")
        # Both indexes still hold the forgotten memory.
        stale, alone = await asked(ada, HOLIDAYS), await asked(ada, HOLIDAYS, neighbours=False)
        await brain.settle()
        before = await asked(ada, HOLIDAYS)
        await remembered(bob, ASKED, session_id="chat", turn=0, memory_scope="agent")
        await remembered(eve, ASKED, session_id="chat", turn=0)
        await brain.settle()
        after = await asked(ada, HOLIDAYS)

    assert late(stale, answer) == late(alone, answer)
    assert late(after, answer) == late(before, answer)
    assert after["scores"] == before["scores"]


def late(answer: dict[str, Any], memory_id: str) -> float:
    score: float = answer["explained"][memory_id]["late"]["score"]
    return score


async def _take_states_of(store: SqlStore, memory_id: str) -> None:
    statement = (
        "UPDATE embeddings SET states = NULL WHERE input_hash IN "
        f"(SELECT input_hash FROM memory_passages WHERE memory_id = '{memory_id}')"
    )
    await store._database.write(lambda connection: connection.exec_driver_sql(statement))
