"""The links of a memory, and what was said next to a hit."""

from typing import Any

import httpx
from hypothesis import given
from hypothesis import strategies as st

from openbrain.contract.brain.memories import Related
from openbrain.contract.brain.recall import Recalled
from openbrain.domain.access.visibility import AllOf
from openbrain.ports.store.memories import Turn
from openbrain_api.recall.hits.around import ANSWER_CHARS, TURN_CHARS, Around, _beside, _within
from tests.support.api.brain import Brain, http, offer
from tests.support.indexes.entries import memory

SAID = ("Where shall we go?", "The lighthouse of Quiberon opens in May", "Let us take the early train", "Fine")


async def stored(client: httpx.AsyncClient, content: str, **fields: Any) -> str:
    response = await client.post("/v1/brain/remember", json=offer(content, **fields))
    assert response.status_code == 201, response.text
    return str(response.json()["id"])


async def turns(client: httpx.AsyncClient, session: str, **fields: Any) -> list[str]:
    return [
        await stored(client, content, session_id=session, turn=number, speaker="Ana", **fields)
        for number, content in enumerate(SAID)
    ]


async def related(client: httpx.AsyncClient, memory_id: str, **params: Any) -> Related:
    response = await client.get(f"/v1/brain/memories/{memory_id}/related", params=params)
    assert response.status_code == 200, response.text
    return Related.model_validate(response.json())


async def test_every_kind_of_link(brain: Brain) -> None:
    async with http(brain.app(), await brain.key()) as ada:
        old = await stored(ada, "Kestrel listens on port 5432", title="Kestrel")
        head = await stored(ada, "Kestrel listens on port 5433", title="Kestrel", supersedes=old, session_id="s1")
        alike = await stored(ada, "The kestrel server listens on another port in staging")
        beside = await stored(ada, "Lunch is at noon", session_id="s1")
        namesake = await stored(ada, "Owned by the platform team", aliases=["kestrel"])
        await brain.settle()
        links = await related(ada, head)
        few = await related(ada, head, limit=1)
        of_old = await related(ada, old)

    assert links.nearest[0].id == alike
    assert links.nearest[0].similarity is not None
    assert [each.id for each in links.session] == [beside]
    assert [each.id for each in links.named] == [namesake]
    assert (links.chain.parents, links.chain.children, links.degraded) == ((old,), (), ())
    assert head not in {each.id for each in (*links.nearest, *links.session, *links.named)}
    assert (len(few.nearest), len(few.session)) == (1, 1)
    assert of_old.chain.children == (head,)


async def test_turns_around_a_hit(brain: Brain) -> None:
    question = {"query": "when does the lighthouse open?", "top_k": 1, "neighbours": False}
    async with http(brain.app(), await brain.key()) as ada:
        said = await turns(ada, "s1")
        await turns(ada, "s2", memory_scope="agent")
        await brain.settle()
        bodies = [{**question, "around": distance} for distance in (0, 1, 2)]
        plain, one, two = [
            Recalled.model_validate((await ada.post("/v1/brain/recall", json=each)).json()) for each in bodies
        ]
        batch = (await ada.post("/v1/brain/recall:batch", json={"queries": bodies})).json()["results"]
        links = await related(ada, plain.memories[0].id)

    hit = plain.memories[0]
    mine = said if hit.id in said else [each.id for each in links.session]
    assert plain.around is None
    assert one.around is not None
    assert two.around is not None
    assert [(each.turn, each.content) for each in one.around[hit.id]] == [(0, SAID[0]), (2, SAID[2])]
    assert [each.turn for each in two.around[hit.id]] == [0, 2, 3]
    assert {each.id for each in two.around[hit.id]} <= {*mine}
    assert Recalled.model_validate(batch[1]).around == one.around
    assert sorted(each.turn or 0 for each in links.session) == [0, 2, 3]


async def test_no_link_leads_to_what_may_not_be_seen(brain: Brain) -> None:
    app = brain.app()
    async with http(app, await brain.key()) as ada, http(app, await brain.key(agent="bob")) as bob:
        shown = await stored(bob, SAID[1], session_id="s1", turn=1, title="Kestrel")
        hidden = [
            await stored(ada, SAID[0], session_id="s1", turn=0, memory_scope="agent"),
            await stored(ada, SAID[2], session_id="s1", turn=2, memory_scope="session"),
            await stored(ada, "Kestrel: mine alone", title="Kestrel", memory_scope="agent"),
        ]
        gone = await stored(bob, SAID[3], session_id="s1", turn=3)
        await brain.settle()
        assert (await bob.delete(f"/v1/brain/forget/{gone}")).status_code == 200
        question = {"query": SAID[1], "around": 10, "explain": True}
        answers = [
            await bob.get(f"/v1/brain/memories/{shown}/related"),
            await bob.post("/v1/brain/recall", json=question),
            await bob.post("/v1/brain/recall:batch", json={"queries": [question] * 2}),
        ]

    for answer in answers:
        assert answer.status_code == 200
        assert [each for each in (*hidden, gone) if each in answer.text] == []
    assert answers[1].json()["around"] == {}
    assert answers[0].json()["session"] == []


@given(
    lengths=st.lists(st.integers(0, 9000), min_size=1, max_size=30),
    hits=st.sets(st.integers(0, 29), max_size=8),
    distance=st.integers(1, 10),
)
def test_turns_come_once_in_order_and_within_the_budget(lengths: list[int], hits: set[int], distance: int) -> None:
    rows = [memory(content="x" * chars, session_id="s", turn=number) for number, chars in enumerate(lengths)]
    turns_of = {row.id: Turn("s", row.turn or 0, len(row.content)) for row in rows}
    asked = Around([rows[each] for each in hits if each < len(rows)], distance, AllOf(()))
    shown = _within(_beside(asked, turns_of), {row.id: row for row in rows}, turns_of)
    told = [row.id for beside in shown.values() for row in beside]

    assert len(told) == len({*told} - {hit.id for hit in asked.hits})
    assert sum(min(len(row.content), TURN_CHARS) for beside in shown.values() for row in beside) <= ANSWER_CHARS
    for hit, beside in shown.items():
        numbers = [row.turn or 0 for row in beside]
        assert numbers == sorted(numbers)
        assert all(abs(number - turns_of[hit].number) <= distance for number in numbers)


async def test_links_that_say_the_same_as_the_memory(brain: Brain) -> None:
    async with http(brain.app(), await brain.key()) as ada:
        one = await stored(ada, "The lighthouse of Quiberon opens in May", title="Lighthouse")
        same = await stored(ada, "The lighthouse of Quiberon opens in may.", title="Lighthouse", memory_scope="agent")
        await brain.settle()
        links = await related(ada, one)

    assert [each.id for each in links.nearest] == [same]
    assert [each.id for each in links.named] == [same]
