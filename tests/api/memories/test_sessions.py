"""Sessions over HTTP and by the client: handed over, appended to once, shared if both agents agree."""

from typing import Any

import pytest

from openbrain.client.resources.agents import HandOver
from openbrain.domain.errors import Conflict, Forbidden, Invalid, NotFound
from openbrain.domain.memory import DAY, MICROSECONDS
from tests.support.api.brain import Brain, client_of, http, refused, remembered

pytestmark = pytest.mark.asyncio(loop_scope="module")
MINUTE = 60 * MICROSECONDS
OUTSIDE: list[dict[str, Any]] = [{"agent": "cy"}, {"agent": ""}, {"agent": "cy", "act_as": ("eve",)}]


async def test_what_one_leaves_the_next_is_given(module_brain: Brain) -> None:
    brain, workspace = module_brain, await module_brain.new_workspace()
    app = brain.app()
    async with (
        client_of(app, await brain.key(workspace)) as ada,
        client_of(app, await brain.key(workspace, "bo")) as bo,
        client_of(app, await brain.key(workspace, "cy", orgs=("other",))) as cy,
    ):
        first = await ada.start_session(org="acme", project="shop")
        left: HandOver = {"summary": "Carts work.", "next_steps": ["deploy"], "blockers": ["no logs"], "expires_in": 48}
        ended = await ada.end_session(first.id, **left)
        same = await ada.end_session(first.id, **left)
        brain.clock.advance(1)
        corrected = await ada.end_session(first.id, summary="Carts don't work.")
        second = await bo.start_session(org="acme", project="shop")
        foreign = await cy.start_session(org="other", project="shop")
        elsewhere = await bo.start_session(org="acme", project="blog")
        context = await bo.context("bo", org="acme", project="shop")
        listed = await ada.sessions(project="shop")
        old = await ada.memory(ended.hand_over_id or "")

    assert (first.created, first.hand_over, first.open, ended.open) == (True, None, True, False)
    assert ended.hand_over is not None
    assert ended.hand_over.content == (
        f"Hand-over of session {first.id} by ada.\n\nCarts work.\n\nNext steps:\n- deploy\n\nBlockers:\n- no logs"
    )
    assert (ended.hand_over.type, ended.hand_over.org, ended.hand_over.project) == ("observation", "acme", "shop")
    assert ended.hand_over.expires_at is not None
    assert same.hand_over_id == ended.hand_over_id
    assert (old.reason, corrected.hand_over and corrected.hand_over.supersedes_id) == ("superseded", None)
    assert second.hand_over is not None
    assert second.hand_over.id == corrected.hand_over_id
    assert (foreign.hand_over, elsewhere.hand_over) == (None, None)
    assert [item.id for item in context.items if item.section == "hand_over"] == [corrected.hand_over_id]
    assert [each.id for each in listed.sessions] == [first.id]


async def test_without_a_project_an_invited_agent_does_not_replace_the_owner_s_hand_over(module_brain: Brain) -> None:
    brain, workspace = module_brain, await module_brain.new_workspace()
    app = brain.app()
    async with (
        client_of(app, await brain.key(workspace)) as ada,
        client_of(app, await brain.key(workspace, "bo")) as bo,
    ):
        await ada.start_session(session_id="s1", agents=["bo"])
        await bo.start_session(session_id="s1")
        left = await ada.end_session("s1", summary="Carts work.")
        other = await bo.end_session("s1", summary="Prices work.")
        following = await ada.start_session()

    assert other.hand_over is not None
    assert following.hand_over is not None
    assert following.hand_over.id == other.hand_over_id == left.hand_over_id


async def test_turns_are_stored_once_each(module_brain: Brain) -> None:
    brain, workspace = module_brain, await module_brain.new_workspace()
    async with client_of(brain.app(), await brain.key(workspace)) as ada:
        session = await ada.start_session(project="shop", days=3)
        turns = [{"turn": number, "speaker": "user", "content": f"words {number}"} for number in range(1, 4)]
        first = await ada.append_turns(session.id, turns)
        again = await ada.append_turns(session.id, [*turns[1:], {"turn": 4, "content": "more"}])
        other = await ada.append_turns(session.id, [{"turn": 2, "content": "other words"}, {"turn": 5, "content": "5"}])
        row = await ada.memory(first.results[0].id or "", session_id=session.id)
        await ada.end_session(session.id)
        with pytest.raises(Conflict):
            await ada.append_turns(session.id, turns)
        resumed = await ada.start_session(session_id=session.id)

    assert [each.status for each in first.results] == ["created"] * 3
    assert [each.status for each in again.results] == ["duplicate", "duplicate", "created"]
    assert [each.id for each in again.results[:2]] == [each.id for each in first.results[1:]]
    assert [(each.status, each.error) for each in other.results] == [("refused", "conflict"), ("created", None)]
    assert (row.turn, row.speaker, row.memory_scope, row.project) == (1, "user", "session", "shop")
    assert row.expires_at is not None
    assert (row.expires_at - row.created_at).days == 3
    assert (resumed.created, resumed.open, resumed.project) == (False, True, "shop")


async def test_a_turn_that_stays_is_stored_once_however_late_it_comes_again(module_brain: Brain) -> None:
    brain, workspace = module_brain, await module_brain.new_workspace()
    async with client_of(brain.app(), await brain.key(workspace)) as ada:
        session = await ada.start_session(policy="stay", days=1)
        turn = {"turn": 1, "content": "first words"}
        await ada.append_turns(session.id, [turn])
        brain.clock.advance(2 * DAY)
        (other,) = (await ada.append_turns(session.id, [{**turn, "content": "other words"}])).results
        (again,) = (await ada.append_turns(session.id, [turn])).results

    assert (again.status, other.status, other.error) == ("duplicate", "refused", "conflict")


async def test_promoted_memories_are_found_by_all_of_the_project(module_brain: Brain) -> None:
    brain, workspace = module_brain, await module_brain.new_workspace()
    app = brain.app()
    async with client_of(app, await brain.key(workspace)) as ada, http(app, await brain.key(workspace, "bo")) as bo:
        session = await ada.start_session(project="shop", policy="promote")
        note = {"content": "the queue is purged at noon", "type": "fact", "project": "shop"}
        made = await ada.remember({**note, "memory_scope": "session", "session_id": session.id})
        await ada.append_turns(session.id, [{"turn": 1, "content": "why is the cart empty?"}])
        await brain.settle()
        ask = {"query": "queue purged cart empty", "project": "shop"}
        before = (await bo.post("/v1/brain/recall", json=ask)).json()
        ended = await ada.end_session(session.id)
        await brain.settle()
        after = (await bo.post("/v1/brain/recall", json=ask)).json()

    assert (before["count"], ended.promoted) == (0, 1)
    assert [each["id"] for each in after["memories"]] == [made.id]
    assert after["memories"][0]["expires_at"] is None


async def test_agents_of_a_session_read_each_other_and_nobody_else_does(module_brain: Brain) -> None:
    """By every reading route. Both agents have to agree, and neither can change what belongs to the other."""
    brain, workspace, elsewhere = module_brain, await module_brain.new_workspace(), await module_brain.new_workspace()
    app = brain.app()
    async with client_of(app, await brain.key(workspace)) as ada:
        session = await ada.start_session(project="zoo", agents=["bo"])
        private = await ada.start_session(session_id="s1", project="zoo")
    async with http(app, await brain.key(workspace)) as raw:
        place = {"project": "zoo", "memory_scope": "session", "tags": ["striped"]}
        (memory_id,) = await remembered(raw, "zebra stripes tonight", session_id=session.id, **place)
        (other_id,) = await remembered(raw, "zebra alone", session_id=private.id, **place)
    await brain.settle()

    async def found(secret: str, agent: str) -> list[bool]:
        async with http(app, secret) as client:
            ask = {"session_id": session.id}
            answers = [
                await client.post("/v1/brain/recall", json={"query": "zebra stripes", **ask}),
                await client.post("/v1/brain/recall:batch", json={"queries": [{"query": "zebra stripes", **ask}]}),
                await client.get("/v1/brain/search", params={"q": "zebra", **ask}),
                await client.get("/v1/brain/list", params=ask),
                await client.get(f"/v1/brain/memories/{memory_id}", params=ask),
                await client.get("/v1/brain/brief", params=ask),
                await client.get(f"/v1/brain/agent/{agent or 'x'}/context", params=ask),
            ]
        assert all(other_id not in each.text for each in answers if agent != "ada")
        return [memory_id in each.text for each in answers]

    bo = await brain.key(workspace, "bo")
    assert not any(await found(bo, "bo")), "invited, but not joined"
    async with http(app, bo) as client:
        assert (await client.post("/v1/brain/sessions", json={"session_id": session.id})).status_code == 200
        brain.clock.advance(DAY)  # so that the cached membership is read again
        assert all(await found(bo, "bo"))
        assert "striped" in (await client.get("/v1/brain/tags", params={"session_id": session.id})).text
        for other in ("", "s1"):
            assert (
                memory_id
                not in (await client.get("/v1/brain/list", params={"session_id": other} if other else {})).text
            )
        refused(
            await client.patch(
                f"/v1/brain/memories/{memory_id}", params={"session_id": session.id}, json={"tags": ["x"]}
            ),
            404,
        )
    for limits in OUTSIDE:
        assert not any(await found(await brain.key(workspace, **limits), str(limits["agent"])))
    assert not any(await found(await brain.key(elsewhere, "bo"), "bo"))
    assert all(await found(await brain.key(workspace), "ada"))


async def test_a_session_is_told_of_to_its_agents_alone(module_brain: Brain) -> None:
    brain, workspace, elsewhere = module_brain, await module_brain.new_workspace(), await module_brain.new_workspace()
    app = brain.app()
    async with client_of(app, await brain.key(workspace)) as ada:
        session = await ada.start_session(org="acme", project="zoo", agents=["bo"])
        assert (await ada.session(session.id)).agents == ("ada",)
    keys = [
        await brain.key(workspace, "cy"),
        await brain.key(workspace, "ada", orgs=("beta",)),
        await brain.key(elsewhere, "ada"),
    ]
    for secret in keys:
        async with client_of(app, secret) as client:
            assert (await client.sessions()).count == 0
            for call in (client.session, client.end_session):
                with pytest.raises(NotFound):
                    await call(session.id)
            with pytest.raises(NotFound):
                await client.append_turns(session.id, [{"turn": 1, "content": "x"}])
    async with client_of(app, await brain.key(workspace, "")) as nobody:
        with pytest.raises(Invalid):
            await nobody.start_session()
    async with client_of(app, keys[1]) as narrow:
        with pytest.raises(Forbidden):
            await narrow.start_session(org="acme")


async def test_a_continued_session_is_given_what_it_left_itself(module_brain: Brain) -> None:
    brain, workspace = module_brain, await module_brain.new_workspace()
    async with client_of(brain.app(), await brain.key(workspace)) as ada:
        left = []
        for name in ("first", "second"):
            session = await ada.start_session(session_id=name, project="shop")
            brain.clock.advance(MINUTE)
            left.append((await ada.end_session(session.id, summary=f"Left by the {name}.")).hand_over_id)
            brain.clock.advance(MINUTE)
        continued = await ada.start_session(session_id="second")
        context = await ada.context("ada", project="shop")
        await ada.start_session(session_id="first")
        older = await ada.start_session(session_id="third", project="shop")

    assert continued.hand_over is not None
    assert continued.hand_over.id == left[1]
    assert [item.id for item in context.items if item.section == "hand_over"] == [left[1]]
    assert older.hand_over is not None
    assert older.hand_over.id == left[1], "the newest, although both are open again"
