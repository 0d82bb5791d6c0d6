"""A turn is found through its neighbours in the session, and nobody finds what they may not see."""

from collections.abc import Sequence
from typing import Any

import httpx

from tests.support.api.brain import Brain, http, remembered

RECALL = "/v1/brain/recall"
SAID = ("where did you spend the holidays?", "in lisbon, the trams were lovely", "the printer is out of paper")


async def said(client: httpx.AsyncClient, *contents: str, **filed: Any) -> Sequence[str]:
    """Remember the turns of a session; return their ids."""
    return [
        (await remembered(client, each, session_id="chat", turn=at, **filed))[0] for at, each in enumerate(contents)
    ]


async def asked(client: httpx.AsyncClient, query: str, **more: Any) -> dict[str, Any]:
    response = await client.post(RECALL, json={"query": query, "text_weight": 1.0, **more})
    assert response.status_code == 200, response.text
    body: dict[str, Any] = response.json()
    return body


async def test_an_answer_that_shares_no_word_is_found_beside_its_question(brain: Brain) -> None:
    async with http(brain.app(), await brain.key()) as ada:
        question, answer, further = await said(ada, *SAID)
        await brain.settle()
        body = await asked(ada, "holidays", explain=True)

    assert [each["id"] for each in body["memories"]] == [question, answer, further]
    assert [body["explained"][each]["neighbours"] for each in (question, answer, further)] == [0, 0.6, 0.3]
    assert body["explained"][answer]["fused"] == 0
    assert body["scores"] == {question: 1.0, answer: 0.6, further: 0.3}


async def test_without_the_step_only_what_matches_is_found(brain: Brain) -> None:
    off = brain.settings.recall.model_copy(update={"neighbours": False})
    brain.settings = brain.settings.model_copy(update={"recall": off})
    async with http(brain.app(), await brain.key()) as ada:
        question, *_ = await said(ada, *SAID)
        await brain.settle()
        body = await asked(ada, "holidays")

    assert [each["id"] for each in body["memories"]] == [question]


async def test_filters_hold_for_neighbours_and_what_is_forgotten_adds_nothing(brain: Brain) -> None:
    async with http(brain.app(), await brain.key()) as ada:
        question, answer, further = await said(ada, *SAID)
        await brain.settle()
        tagged = await asked(ada, "holidays", type="bug")
        await ada.delete(f"/v1/brain/forget/{question}")
        gone = await asked(ada, "holidays")
        await ada.delete(f"/v1/brain/forget/{answer}")
        rest = await asked(ada, "lisbon")

    assert tagged["memories"] == gone["memories"] == rest["memories"] == []
    assert further


async def test_no_turn_of_another_agent_or_workspace_is_anybodys_neighbour(brain: Brain) -> None:
    """All of them are in sessions of one name, at neighbouring turns."""
    async with (
        http(brain.app(), await brain.key("w1", "ada")) as ada,
        http(brain.app(), await brain.key("w1", "bob")) as bob,
        http(brain.app(), await brain.key("w2", "eve")) as eve,
    ):
        (question,) = await remembered(ada, SAID[0], session_id="chat", turn=0)
        await remembered(bob, SAID[1], session_id="chat", turn=1, memory_scope="agent")
        await remembered(bob, "bob's own", session_id="chat", turn=2, memory_scope="session")
        await remembered(eve, SAID[1], session_id="chat", turn=1)
        await brain.settle()
        mine, theirs = await asked(ada, "holidays"), await asked(eve, "holidays")

    assert [each["id"] for each in mine["memories"]] == [question]
    assert theirs["memories"] == []


async def test_questions_of_a_batch_do_not_change_each_others_scores(brain: Brain) -> None:
    queries = ("holidays", "lisbon trams", "printer", "paper holidays", "nothing of it")
    async with http(brain.app(), await brain.key()) as ada:
        await said(ada, *SAID, *(f"small talk number {number}" for number in range(4)))
        await brain.settle()
        alone = [(await asked(ada, query))["scores"] for query in queries]
        body = {"queries": [{"query": query, "text_weight": 1.0} for query in queries]}
        together = (await ada.post(f"{RECALL}:batch", json=body)).json()["results"]

    assert [each["scores"] for each in together] == alone
