"""Erase, bulk forget and closing a workspace through the API, with the housekeeper's own operations running."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import httpx
import pytest

from openbrain.adapters.personal_data.detection import PersonalDataDetector
from openbrain.domain.access.permissions import Permission
from openbrain.domain.ids import uuid7
from openbrain.domain.memory import MICROSECONDS
from openbrain.ports.content import Action
from openbrain.ports.store.generations import IndexKind
from openbrain.ports.store.operations import Operation
from openbrain.ports.store.tenants import CLOSE, WorkspaceChange
from openbrain.ports.store.writes import FORGET, PURGE
from openbrain.usecases.content.policy import DetectingPolicy
from openbrain_housekeeper.handlers.close_workspace import Closing
from openbrain_housekeeper.handlers.forget import Forgetting
from openbrain_housekeeper.handlers.purge import Indexes, Purging
from openbrain_housekeeper.jobs.operations import Step, Worker
from tests.support.api.brain import Brain, http, offer, refused, remembered
from tests.support.store.fixtures import age_holds, stored, viewer
from tests.support.store.no_streams import NoStreams

ADMIN = frozenset({Permission.ADMIN})
FORGET_ALL, OPERATIONS, WORKSPACES = "/v1/brain/forget", "/v1/admin/operations", "/v1/admin/workspaces"


def worker(brain: Brain) -> Worker:
    store = brain.store
    indexes: Indexes = {
        "text": (lambda: brain.text, lambda: store.generations.written(IndexKind.TEXT)),
        "vectors": (lambda: brain.vectors, lambda: store.generations.written(IndexKind.VECTOR)),
    }
    streams = NoStreams()
    kinds: dict[str, Step] = {
        FORGET: Forgetting(store, brain.clock),
        PURGE: Purging(store, streams, indexes, brain.clock),
        CLOSE: Closing(store, streams, brain.clock),
    }
    return Worker(store.operations, kinds, "test", pace_s=0)


@asynccontextmanager
async def at_work(brain: Brain) -> AsyncIterator[None]:
    """Run the services and the housekeeper during the block."""
    one = worker(brain)

    async def work() -> None:
        while True:
            brain.clock.advance(MICROSECONDS // 2)
            if not await one.round():
                await age_holds(brain.store, 0.5)
                await asyncio.sleep(0.01)

    async with brain.services():
        task = asyncio.create_task(work())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def contents(client: httpx.AsyncClient) -> set[str]:
    listed = (await client.get("/v1/brain/list", params={"limit": 100})).json()
    return {each["content"] for each in listed["memories"]}


async def test_without_erase_it_is_forgotten_as_ever(brain: Brain) -> None:
    async with http(brain.app(), await brain.key()) as ada:
        (one,) = await remembered(ada, "one")
        ended = await ada.delete(f"/v1/brain/memories/{one}", params={"reason": "old"})
        same = await ada.delete(f"/v1/brain/forget/{one}")
        body = ended.json()

    assert (ended.status_code, body["forgotten"], body["erased"], body["operation_id"]) == (200, True, False, None)
    assert body["content"] == same.json()["content"] == "one"
    assert ended.headers["etag"]


async def test_erasing_answers_with_its_operation_and_waits_for_it_when_asked(brain: Brain) -> None:
    everything = frozenset(Permission)
    async with http(brain.app(), await brain.key(permissions=everything)) as ada:
        (one,) = await remembered(ada, "the vault opens at noon", tags=["vault"])
        async with at_work(brain):
            path = f"/v1/brain/memories/{one}"
            gone = await ada.delete(path, params={"erase": 1}, headers={"prefer": "wait=30"})
            operation = (await ada.get(f"{OPERATIONS}/{gone.json()['operation_id']}")).json()
            again = await ada.delete(path, params={"erase": 1}, headers={"prefer": "wait=30"})

    body = gone.json()
    assert (gone.status_code, body["content"], body["tags"], body["reason"]) == (200, "", [], "erased")
    assert gone.headers["preference-applied"] == "wait=30"
    assert (operation["kind"], operation["status"], operation["done"]) == ("purge", "done", operation["total"])
    assert set(operation["request"]) == {"ids"}
    assert again.json() == body


async def test_a_filter_ends_what_its_caller_may_see_and_nothing_else(brain: Brain) -> None:
    app = brain.app()
    everything = frozenset(Permission)
    async with (
        http(app, await brain.key(permissions=everything)) as ada,
        http(app, await brain.key(agent="bob")) as bob,
        http(app, await brain.key("w2")) as foreign,
    ):
        await remembered(ada, *(f"old {number}" for number in range(5)), project="shop")
        await remembered(ada, "kept", project="web")
        await remembered(bob, "bob's own", project="shop", memory_scope="agent")
        await remembered(foreign, "theirs", project="shop")
        looked = (await ada.post(FORGET_ALL, json={"project": "shop"})).json()
        assert looked["dry_run"] is True
        assert (looked["count"], len(looked["sample"]), looked["operation"]) == (5, 5, None)
        assert len(await contents(ada)) == 6
        async with at_work(brain):
            body = {"project": "shop", "dry_run": False, "reason": "tidy"}
            done = await ada.post(FORGET_ALL, json=body, headers={"prefer": "wait=30"})
        nothing = await ada.post(FORGET_ALL, json={**body})

        assert done.status_code == 202
        operation = done.json()["operation"]
        assert (operation["status"], operation["done"], operation["result"]) == ("done", 5, {"forgotten": 5})
        assert (nothing.status_code, nothing.json()["count"], nothing.json()["operation"]) == (200, 0, None)
        assert await contents(ada) == {"kept"}
        assert await contents(bob) == {"kept", "bob's own"}
        assert await contents(foreign) == {"theirs"}
        told = (await ada.get(f"/v1/brain/memories/{looked['sample'][0]}", params={"history": 1})).json()
        assert (told["history"][-1]["action"], told["history"][-1]["reason"]) == ("forgotten", "tidy")


async def test_the_least_sure_end_by_max_confidence_and_min_confidence_is_refused(brain: Brain) -> None:
    async with http(brain.app(), await brain.key()) as ada:
        for confidence in (0.1, 0.3, 0.30000000000000004, 0.9):
            await remembered(ada, f"sure by {confidence}", confidence=confidence)
        looked = (await ada.post(FORGET_ALL, json={"max_confidence": 0.3})).json()
        listed = (await ada.get("/v1/brain/list", params={"max_confidence": 0.3})).json()
        wrong = await ada.post(FORGET_ALL, json={"min_confidence": 0.3})

    assert looked["sample"] == [each["id"] for each in listed["memories"]]
    assert {each["content"] for each in listed["memories"]} == {"sure by 0.1", "sure by 0.3"}
    assert "max_confidence" in refused(wrong, 422, "min_confidence")["message"]


async def test_a_filter_erases_too(brain: Brain) -> None:
    async with http(brain.app(), await brain.key(permissions=frozenset(Permission))) as ada:
        ids = await remembered(ada, "secret one", "secret two", project="shop")
        async with at_work(brain):
            body = {"project": "shop", "dry_run": False, "erase": True}
            done = (await ada.post(FORGET_ALL, json=body, headers={"prefer": "wait=30"})).json()
        listed = (await ada.get(OPERATIONS, params={"kind": "purge"})).json()
        rows = [(await ada.get(f"/v1/brain/memories/{each}")).json() for each in ids]

    assert done["operation"]["result"] == {"erased": 2}
    assert [each["content"] for each in rows] == ["", ""]
    purged = [each for operation in listed["operations"] for each in operation["request"]["ids"]]
    assert sorted(purged) == sorted(ids)
    assert set(done["operation"]["request"]) == {"made_by", "erase", "reason"}


async def test_a_filter_ends_what_a_replica_stored_whose_clock_is_ahead(brain: Brain) -> None:
    async with http(brain.app(), await brain.key(permissions=frozenset(Permission))) as ada:
        brain.clock.advance(3600 * MICROSECONDS)
        await remembered(ada, "secret one", project="shop")
        brain.clock.advance(-3600 * MICROSECONDS)
        await remembered(ada, "secret two", project="shop")
        async with at_work(brain):
            body = {"project": "shop", "dry_run": False, "erase": True}
            done = (await ada.post(FORGET_ALL, json=body, headers={"prefer": "wait=30"})).json()

    assert done["operation"]["result"] == {"erased": 2}


async def test_a_filter_that_leaves_all_in_is_refused(brain: Brain) -> None:
    async with http(brain.app(), await brain.key()) as ada:
        refused(await ada.post(FORGET_ALL, json={}), 422)
        refused(await ada.post(FORGET_ALL, json={"dry_run": False, "reason": "all of it"}), 422)
        refused(await ada.post(FORGET_ALL, json={"projcet": "shop", "type": "fact"}), 422, "projcet")
    async with http(brain.app(), await brain.key(orgs=("beta",))) as limited:
        refused(await limited.post(FORGET_ALL, json={"org": "alpha"}), 403)


async def test_a_workspace_ends_with_everything_in_it(brain: Brain) -> None:
    app = brain.app()
    async with (
        http(app, await brain.key("system", permissions=ADMIN)) as operator,
        http(app, await brain.key("w1")) as ada,
        http(app, await brain.key("w2")) as foreign,
    ):
        await remembered(ada, "one", "two")
        await remembered(foreign, "theirs")
        await brain.settle()
        looked = (await operator.delete(f"{WORKSPACES}/w1", params={"dry_run": 1})).json()
        assert looked["counts"]["memories"] == 2
        refused(await operator.delete(f"{WORKSPACES}/w1"), 422, "confirm")
        refused(await operator.delete(f"{WORKSPACES}/w1", params={"confirm": "w2"}), 422, "confirm")
        assert await contents(ada) == {"one", "two"}
        begun = await operator.delete(f"{WORKSPACES}/w1", params={"confirm": "w1"})
        refused(await ada.get("/v1/brain/list"), 401)
        async with at_work(brain):
            path = f"{OPERATIONS}/{begun.json()['operation']['id']}"
            operation = await ended(operator, path)
        unknown = await operator.delete(f"{WORKSPACES}/w1", params={"confirm": "w1"})

        assert begun.status_code == 202
        assert operation["status"] == "done", operation
        assert operation["result"]["rows"]["api_keys"] == 1
        refused(unknown, 404)
        assert await contents(foreign) == {"theirs"}
        assert {each["id"] for each in (await operator.get(WORKSPACES)).json()["workspaces"]} == {"system", "w2"}


async def test_what_is_written_to_a_workspace_after_all_ends_with_it(brain: Brain) -> None:
    async with http(brain.app(), await brain.key("w1")) as ada:
        await remembered(ada, "one")
    queued = Operation(id=uuid7(0), workspace_id="system", kind=CLOSE, actor="op", request={"workspace": "w1"})
    operation = await brain.store.workspaces.close_workspace("w1", queued)
    closing = Closing(brain.store, NoStreams(), brain.clock, settle_s=0)

    for _ in range(50):
        before = operation.result
        step = await closing(operation)
        operation = replace(operation, done=step.done, total=step.total, result=step.result)
        if "blanked" in step.result and "blanked" not in before and operation.done == 1:
            await stored(brain.store.writes, "late", workspace_id="w1", viewer=viewer("w1"))
        await brain.settle()
        if step.finished:
            break

    assert step.finished
    assert (step.done, step.result["rows"]["api_keys"]) == (4, 1)


async def ended(client: httpx.AsyncClient, path: str) -> dict[str, Any]:
    seen = None
    for _ in range(200):
        found: dict[str, Any] = (await client.get(path, params={"wait": 5} | ({"seen": seen} if seen else {}))).json()
        if found["finished_at"]:
            return found
        seen = found["mark"]
    raise AssertionError(found)


async def test_no_admin_but_the_operators_ends_a_workspace_and_theirs_stays(brain: Brain) -> None:
    app = brain.app()
    async with http(app, await brain.key(permissions=ADMIN)) as admin:
        refused(await admin.delete(f"{WORKSPACES}/w1", params={"confirm": "w1"}), 403)
        refused(await admin.delete(f"{WORKSPACES}/w9", params={"confirm": "w9"}), 403)
    async with http(app, await brain.key("system", permissions=ADMIN)) as operator:
        refused(await operator.delete(f"{WORKSPACES}/system", params={"confirm": "system"}), 409)
        refused(await operator.delete(f"{WORKSPACES}/w9", params={"confirm": "w9"}), 404)


async def test_a_text_is_struck_out_of_messages_and_signals_of_the_workspace_alone(brain: Brain) -> None:
    app, everyone, anna = brain.app(), frozenset(Permission), "anna@example.com"
    body = {"matching": anna, "whole": True, "erase": True}

    async def told(client: httpx.AsyncClient) -> None:
        """Send a message to eve, and raise a signal."""
        message = {"to": "eve", "subject": "Anna", "content": f"write to {anna.title()} today"}
        assert (await client.post("/v1/messages/send", json=message)).is_success
        signal = {"source": "mail", "severity": "info", "title": f"bounced: {anna}"}
        assert (await client.post("/v1/amygdala/signals", json=signal)).is_success

    async def said(workspace: str) -> str:
        async with http(app, await brain.key(workspace, agent="eve")) as eve:
            inbox = await eve.get("/v1/messages/inbox")
            return inbox.text + (await eve.get("/v1/amygdala/signals")).text

    async with (
        http(app, await brain.key("w1", permissions=everyone, agent="root")) as admin,
        http(app, await brain.key("w2", permissions=everyone, agent="root")) as foreign,
    ):
        await told(admin)
        await told(foreign)
        looked = (await admin.post(FORGET_ALL, json=body)).json()
        narrower = (await admin.post(FORGET_ALL, json={**body, "project": "shop"})).json()
        before = await said("w1")
        async with at_work(brain):
            begun = await admin.post(FORGET_ALL, json={**body, "dry_run": False}, headers={"prefer": "wait=20"})

    assert (looked["count"], looked["beside"], narrower["beside"]) == (0, 2, 0)
    assert before.lower().count(anna) == 4, "each answer contains its data twice"
    assert begun.json()["operation"]["result"] == {"erased": 0, "beside": 2}
    assert anna not in (await said("w1")).lower()
    assert "write to [erased] today" in await said("w1")
    assert (await said("w2")).lower().count(anna) == 4


async def test_an_admin_erases_all_about_one_person_and_others_what_they_see(brain: Brain) -> None:
    everyone, anna = frozenset(Permission), "anna@example.com"
    async with http(brain.app(), await brain.key("w1", permissions=everyone, agent="root", act_as=("*",))) as admin:
        async with http(brain.app(), await brain.key("w1", agent="ada")) as ada:
            (seen, gone) = await remembered(ada, f"ask {anna}", f"was {anna}")
            await ada.delete(f"/v1/brain/forget/{gone}")
            hidden = (await ada.post("/v1/brain/remember", json=offer(f"mine {anna}", memory_scope="agent"))).json()[
                "id"
            ]
        (plain,) = await remembered(admin, "ask nobody")
        async with http(brain.app(), await brain.key("w1", agent="bob")) as bob:
            own = (await bob.post(FORGET_ALL, json={"matching": anna})).json()
            forbidden = await bob.post(FORGET_ALL, json={"matching": anna, "whole": True})
            lines = (await bob.get("/v1/brain/export", params={"matching": anna})).text
        looked = (await admin.post(FORGET_ALL, json={"matching": anna.upper(), "whole": True})).json()
        useless = await admin.post(FORGET_ALL, json={"matching": anna, "whole": True, "dry_run": False})
        short = await admin.post(FORGET_ALL, json={"matching": "an", "whole": True})
        whole = (await admin.get("/v1/brain/export", params={"matching": anna})).text
        body = {"matching": anna, "whole": True, "erase": True, "dry_run": False}
        async with at_work(brain):
            begun = await admin.post(FORGET_ALL, json=body, headers={"prefer": "wait=20"})
        shown = [(await admin.get(f"/v1/brain/memories/{each}")).json() for each in (seen, gone)]
        left = (await admin.get(f"/v1/brain/memories/{plain}")).json()
        after = (await admin.get("/v1/brain/export")).text

    assert (own["count"], own["sample"]) == (1, [seen])
    refused(forbidden, 403)
    refused(useless, 422)
    refused(short, 422)
    assert ([each in lines for each in (seen, gone, hidden)], plain in lines) == ([True, False, False], False)
    assert ([each in whole for each in (seen, gone, hidden)], plain in whole) == ([True] * 3, False)
    assert (looked["count"], set(looked["sample"])) == (3, {seen, gone, hidden})
    assert begun.json()["operation"]["done"] == 3
    assert [each["reason"] for each in shown] == ["erased"] * 2
    assert left["content"] == "ask nobody"
    assert (anna in after, hidden in after) == (False, True)


@pytest.mark.parametrize("rule", ["mask", "hash", "refuse"])
@pytest.mark.parametrize("erase", [True, False])
async def test_a_filter_selects_what_it_names_though_the_workspace_does_not_store_it(
    brain: Brain, rule: str, *, erase: bool
) -> None:
    rules = brain.store.workspaces.personal_data_rules
    policy = DetectingPolicy(personal=PersonalDataDetector(), rules=rules, clock=brain.clock)
    anna, carl, wait = "anna@example.com", "carl@example.com", {"prefer": "wait=20"}
    async with http(brain.app(content_policy=policy), await brain.key(permissions=frozenset(Permission))) as admin:

        async def turn(mail: str) -> None:
            assert (await admin.post("/v1/thoughts", json={"content": "x", "metadata": {"mail": mail}})).is_success

        (hers,) = await remembered(admin, f"ask {anna}")
        await turn(carl)
        await brain.store.workspaces.change_workspace("w1", WorkspaceChange(personal_data=Action(rule)))
        brain.clock.advance(2 * MICROSECONDS)
        await turn("bob@example.com")
        (other,) = await remembered(admin, "ask nobody" if rule == "refuse" else "ask bob@example.com")
        body = {"matching": anna, "erase": erase, "dry_run": False}
        async with at_work(brain):
            begun = await admin.post(FORGET_ALL, json=body, headers=wait)
            turns = await admin.delete("/v1/thoughts", params={"metadata.mail": carl, "erase": erase}, headers=wait)
        reasons = [(await admin.get(f"/v1/brain/memories/{each}")).json()["reason"] for each in (hers, other)]
        left = (await admin.get("/v1/thoughts")).json()
        operations = (await admin.get(OPERATIONS)).text

    assert (begun.json()["count"], begun.json()["sample"], turns.json()["deleted"]) == (1, [hers], 1)
    assert reasons == ["erased" if erase else "forgotten", None]
    assert ["bob" in each["metadata"]["mail"] for each in left] == [False], "the masked one is another's"
    assert (anna in operations, carl in operations) == (False, False)
