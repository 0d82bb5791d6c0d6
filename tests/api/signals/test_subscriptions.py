"""Subscriptions over HTTP and by the client: who owns them, and which are refused."""

import asyncio
import dataclasses
from contextlib import aclosing

import pytest

from openbrain.client import OpenBrain
from openbrain.contract.messages import MessageAnswer
from openbrain.domain.access.permissions import Permission
from openbrain.domain.access.visibility import Viewer
from openbrain.domain.errors import Forbidden, Invalid, NotFound
from openbrain.ports.subscriptions import Match
from tests.support.api.brain import Brain, client_of, http, offer
from tests.support.api.served import served
from tests.support.processes.settings import changed

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_one_is_made_shown_listed_and_removed(module_brain: Brain) -> None:
    brain, workspace = module_brain, await module_brain.new_workspace()
    await brain.settle()
    async with client_of(brain.app(), await brain.key(workspace)) as ada:
        made = await ada.subscribe_query("payments timeouts", filter={"type": "bug", "project": "shop"})
        brain.clock.advance(1)
        second = await ada.subscribe_query(filter={"org": "acme"}, min_similarity=0.7, include_own=True)
        shown = await ada.subscription(made.id)
        first = await ada.subscriptions(limit=1)
        rest = await ada.subscriptions(cursor=first.next_cursor)
        gone = await ada.remove_subscription(made.id)
        with pytest.raises(NotFound):
            await ada.subscription(made.id)
        with pytest.raises(NotFound):
            await ada.remove_subscription(made.id)
        left = await ada.subscriptions()

    assert (made.agent_id, made.query, made.min_similarity, made.embedded) == ("ada", "payments timeouts", 0.5, True)
    assert (made.filter.type, made.filter.project, made.filter.org) == (("bug",), "shop", None)
    assert (second.query, second.include_own, second.embedded) == (None, True, False)
    assert shown.model_dump() | {"secret": None} == made.model_dump()
    assert [each.id for each in (*first.subscriptions, *rest.subscriptions)] == [made.id, second.id]
    assert (gone.id, gone.removed, [each.id for each in left.subscriptions]) == (made.id, True, [second.id])


async def test_it_is_its_agents_own(module_brain: Brain) -> None:
    brain, workspace = module_brain, await module_brain.new_workspace()
    app = brain.app()
    async with client_of(app, await brain.key(workspace)) as ada:
        own = (await ada.subscribe_query("what the agent waits for", filter={"org": "acme"})).id
    others = {
        "another agent": await brain.key(workspace, "bo"),
        "another tenant": await brain.key(await brain.new_workspace()),
        "a narrower key": await brain.key(workspace, orgs=("beta",)),
        "an agent that may speak for a third": await brain.key(workspace, "bo", act_as=("cy",)),
    }
    for secret in others.values():
        async with http(app, secret, **{"x-openbrain-agent": "ada"}) as client:
            path = f"/v1/brain/subscriptions/{own}"
            asked = {"agent_id": "ada"}
            shown = await client.get(path, params=asked)
            removed = await client.delete(path, params=asked)
            listed = await client.get("/v1/brain/subscriptions", params=asked)
            unknown = await client.get("/v1/brain/subscriptions/0198f3a2-5c1e-7b6d-9a55-0d4c3b2a1f00", params=asked)
        assert (shown.status_code, removed.status_code, listed.json()["count"]) == (404, 404, 0)
        assert shown.content == unknown.content
    async with client_of(app, await brain.key(workspace)) as ada:
        assert (await ada.subscription(own)).id == own


async def test_what_may_not_be(module_brain: Brain) -> None:
    brain, workspace = module_brain, await module_brain.new_workspace()
    app = brain.app()

    async def asking(**limits: object) -> OpenBrain:
        return client_of(app, await brain.key(workspace, **limits))  # type: ignore[arg-type]

    async with await asking(orgs=("beta",)) as narrow:
        with pytest.raises(Forbidden, match="org"):
            await narrow.subscribe_query(filter={"org": "acme"})
    async with await asking(agent="") as nobody:
        with pytest.raises(Invalid, match="agent"):
            await nobody.subscribe_query("anything")
    async with await asking(permissions=frozenset({Permission.BRAIN_WRITE})) as writer:
        with pytest.raises(Forbidden, match="read"):
            await writer.subscribe_query("anything")
    async with await asking(permissions=frozenset({Permission.BRAIN_READ})) as reader:
        with pytest.raises(Forbidden, match="write"):
            await reader.subscribe_query("anything")
    async with await asking() as ada:
        with pytest.raises(Invalid, match="a query, a filter, or both"):
            await ada.subscribe_query()


async def test_it_is_posted_to_an_address_that_the_operator_allows(module_brain: Brain) -> None:
    workspace = await module_brain.new_workspace()
    off, key = module_brain.app(), await module_brain.key(workspace)
    webhooks = changed(module_brain.settings.webhooks, enabled=True, hosts=("hooks.example.org",))
    settings = module_brain.settings.model_copy(update={"webhooks": webhooks})
    brain = dataclasses.replace(module_brain, settings=settings)
    async with client_of(off, key) as ada:
        with pytest.raises(Forbidden, match="OPENBRAIN_WEBHOOKS__ENABLED"):
            await ada.subscribe_query("payments", webhook="https://hooks.example.org/in")
    async with client_of(brain.app(), key) as ada:
        for refused in ("https://elsewhere.example.org/in", "http://hooks.example.org/in", "https://127.0.0.1/in"):
            with pytest.raises(Invalid, match="url"):
                await ada.subscribe_query("payments", webhook=refused)
        made = await ada.subscribe_query("payments", webhook="https://hooks.example.org/in")
        shown = await ada.subscription(made.id)
        plain = await ada.subscribe_query("payments")
    async with http(brain.app(), key) as client:
        body = {"query": "payments", "url": "https://hooks.example.org/in"}
        without = await client.post("/v1/brain/subscriptions", json=body)
        shown_again = await client.get("/v1/brain/subscriptions")

    assert (made.channel, plain.channel, plain.webhook, plain.secret) == ("webhook", "inbox", None, None)
    assert made.secret is not None
    assert made.secret.startswith("whsec_")
    assert shown.webhook is not None
    assert (shown.webhook.url, shown.webhook.cursor, shown.webhook.error) == ("https://hooks.example.org/in", 0, None)
    assert made.secret not in shown_again.text
    assert (without.status_code, "channel webhook" in without.json()["message"]) == (422, True)


async def test_the_inbox_is_heard_as_it_fills_by_who_may(module_brain: Brain) -> None:
    brain, workspace = module_brain, await module_brain.new_workspace()
    secret = await brain.key(workspace)
    narrow = await brain.key(workspace, orgs=("beta",))
    async with served(brain.app()) as url, OpenBrain(url, secret) as ada, OpenBrain(url, narrow) as beta:
        own = await ada.subscribe_query(filter={"tags": ["heard"]}, include_own=True)
        first = (await ada.remember(offer("The first.", tags=["heard"], org="acme"))).id
        await delivered(brain, ada, own.id, first)
        hearing = asyncio.create_task(heard(ada, 2))
        second = (await ada.remember(offer("The second.", tags=["heard"]))).id
        await delivered(brain, ada, own.id, second)
        told = await hearing
        theirs = [each async for each in beta.hear_messages(0, seconds=0) if each is not None]
        await ada.forget(first)
        after = [each async for each in ada.hear_messages(0, seconds=0) if each is not None]

    assert [(each.seq, each.content, each.match and each.match.memory_id) for each in told] == [
        (1, "The first.", first),
        (2, "The second.", second),
    ]
    assert [each.content for each in theirs] == ["The second."]
    # Nobody has withdrawn the match yet, but it is not shown any more.
    shown = [(each.content, each.match and each.match.withdrawn) for each in after]
    assert shown == [("", True), ("The second.", False)]


async def heard(client: OpenBrain, count: int) -> list[MessageAnswer]:
    """The first messages of the inbox, as they arrive."""
    told: list[MessageAnswer] = []
    async with aclosing(client.hear_messages(0)) as messages:
        async for each in messages:
            told += [] if each is None else [each]
            if len(told) == count:
                break
    return told


async def delivered(brain: Brain, client: OpenBrain, subscription_id: str, memory_id: str) -> None:
    """Deliver a match as the matcher does."""
    workspace = (await client.whoami()).workspace_id
    query = await brain.store.standing_queries.query(Viewer(workspace, "ada"), subscription_id)
    row = (await brain.store.memories.rows([memory_id]))[memory_id]
    assert query is not None
    found = Match(
        query=query,
        memory_id=row.id,
        revision=row.revision,
        org=row.org,
        content_hash=row.content_hash,
        similarity=None,
    )
    assert await brain.store.matches.deliver(workspace, [found], [], brain.clock.now())
