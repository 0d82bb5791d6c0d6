"""Messages over HTTP and by the client: who owns them, what a repeated request returns, what other agents learn."""

from contextlib import aclosing
from typing import Any

import pytest

from openbrain.client import OpenBrain
from openbrain.domain.errors import Conflict, Invalid
from tests.support.api.brain import Brain, client_of, http, refused
from tests.support.api.served import served

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_one_is_sent_read_and_answered(module_brain: Brain) -> None:
    brain, workspace = module_brain, await module_brain.new_workspace()
    app = brain.app()
    async with (
        client_of(app, await brain.key(workspace)) as ada,
        client_of(app, await brain.key(workspace, "bo")) as bo,
    ):
        sent = await ada.send_message("bo", "Which time-out did you set?", subject="the gateway")
        inbox = await bo.inbox(unread=True)
        brain.clock.advance(1)
        left = await bo.mark_read(up_to=inbox.messages[-1].seq)
        await bo.send_message("ada", "30 s.")
        talk = await ada.conversation("bo")
        theirs = await bo.conversation("ada")
        again = await bo.inbox(unread=True)
        behind = await bo.inbox(after=inbox.next_after or 0)

    assert (sent.sender, sent.recipient, sent.seq, sent.read, sent.duplicate) == ("ada", "bo", 1, False, False)
    assert (inbox.messages[0].content, inbox.unread) == ("Which time-out did you set?", 1)
    assert (left.read, left.unread, again.count, behind.count, behind.next_after) == (1, 0, 0, 0, None)
    assert [each.content for each in talk.messages] == ["30 s.", "Which time-out did you set?"]
    assert [each.id for each in talk.messages] == [each.id for each in theirs.messages]
    assert talk.messages[1].read


async def test_a_number_that_a_restored_database_has_not_reached_yet_hears_what_is_new(module_brain: Brain) -> None:
    brain, workspace = module_brain, await module_brain.new_workspace()
    key = await brain.key(workspace, "bo")
    async with served(brain.app()) as url, OpenBrain(url, await brain.key(workspace)) as ada, OpenBrain(url, key) as bo:
        await ada.send_message("bo", "Before.")
        told = []
        async with aclosing(bo.hear_messages(after=99, seconds=5)) as messages:
            async for each in messages:
                if each is not None:
                    told.append((each.seq, each.content))
                    break
                await ada.send_message("bo", "After.")

    assert told == [(2, "After.")]


async def test_the_older_forms_and_names_are_taken(module_brain: Brain) -> None:
    """`from` and `to` of a message, the other agent in the path, one id in the path."""
    brain, workspace = module_brain, await module_brain.new_workspace()
    app = brain.app()
    async with http(app, await brain.key(workspace)) as ada, http(app, await brain.key(workspace, "b/o")) as bo:
        made = await ada.post("/v1/messages/send", json={"to": "b/o", "content": "hello"})
        read = await bo.post(f"/v1/messages/{made.json()['id']}/read")
        by_path = (await bo.get("/v1/messages/conversation/ada")).json()
        by_query = (await ada.get("/v1/messages/conversation", params={"agent": "b/o"})).json()

    assert made.status_code == 201
    assert (made.json()["from"], made.json()["to"]) == ("ada", "b/o")
    assert read.json()["data"] == {"read": 1, "unread": 0}
    assert by_path["messages"] == by_query["messages"] == by_path["data"]["messages"]


async def test_a_key_brings_it_once(module_brain: Brain) -> None:
    brain = module_brain
    async with client_of(brain.app(), await brain.key(await brain.new_workspace())) as ada:
        first = await ada.send_message("ada", "a note to myself", idempotency_key="k")
        second = await ada.send_message("ada", "a note to myself", idempotency_key="k")
        with pytest.raises(Conflict):
            await ada.send_message("ada", "another note", idempotency_key="k")
        inbox = await ada.inbox()

    assert (first.id, second.duplicate, inbox.count) == (second.id, True, 1)


async def test_the_sender_is_who_the_key_says(module_brain: Brain) -> None:
    brain, workspace = module_brain, await module_brain.new_workspace()
    app = brain.app()
    keys: dict[str, dict[str, Any]] = {"ada": {}, "": {}, "hub": {"act_as": ("bo",)}}
    clients: dict[str, OpenBrain] = {
        agent: client_of(app, await brain.key(workspace, agent, **limits)) for agent, limits in keys.items()
    }
    try:
        passed_over = await clients["ada"].send_message("ada", "as eve?", agent_id="eve")
        with pytest.raises(Invalid):
            await clients[""].send_message("ada", "as nobody")
        with pytest.raises(Invalid):
            await clients[""].inbox()
        spoken = await clients["hub"].send_message("bo", "for bo", agent_id="bo")
        own = await clients["hub"].inbox()
        of_bo = await clients["hub"].inbox(agent_id="bo")
    finally:
        for client in clients.values():
            await client.close()

    assert (passed_over.sender, spoken.sender, own.count, of_bo.count) == ("ada", "bo", 0, 1)


async def test_nobody_else_learns_of_one(module_brain: Brain) -> None:
    """Another agent, another tenant's agent of the same name, another org's key: by every route."""
    brain, workspace, elsewhere = module_brain, await module_brain.new_workspace(), await module_brain.new_workspace()
    app = brain.app()
    async with http(app, await brain.key(workspace)) as ada:
        made = (await ada.post("/v1/messages/send", json={"to": "bo", "content": "zebra", "org": "acme"})).json()
    others = (
        await brain.key(workspace, "cy"),
        await brain.key(elsewhere, "bo"),
        await brain.key(elsewhere, "bo", act_as=("*",)),
        await brain.key(workspace, "bo", orgs=("beta",)),
    )
    for secret in others:
        async with http(app, secret, **{"x-openbrain-agent": "bo"}) as client:
            answers = [
                await client.get("/v1/messages/inbox"),
                await client.get("/v1/messages/inbox", params={"agent_id": "bo"}),
                await client.get("/v1/messages/conversation", params={"agent": "ada"}),
                await client.get("/v1/messages/conversation/bo"),
                await client.post("/v1/messages/read", json={"ids": [made["id"]], "up_to": 9}),
            ]
            refused(await client.post(f"/v1/messages/{made['id']}/read"), 404)
        assert all("zebra" not in each.text and made["id"] not in each.text for each in answers)
        assert answers[-1].json()["data"] == {"read": 0, "unread": 0}
    async with http(app, others[-1]) as client:
        refused(await client.post("/v1/messages/send", json={"to": "bo", "content": "x", "org": "acme"}), 403)
    async with http(app, await brain.key(workspace, "bo")) as bo:
        kept = (await bo.get("/v1/messages/inbox")).json()
    assert (kept["messages"][0]["read"], kept["unread"]) == (False, 1)
