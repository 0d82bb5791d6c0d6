"""Operations through the API: listed page by page, watched and cancelled, and nobody else's."""

import asyncio
from typing import Any

import httpx

from openbrain.domain.access.permissions import Permission
from tests.support.api.brain import Brain, http, refused, remembered, unknown_id
from tests.support.waiting import PATIENCE_S

ADMIN = frozenset({Permission.ADMIN})
FORGET_ALL, OPERATIONS = "/v1/brain/forget", "/v1/admin/operations"


async def test_operations_are_listed_page_by_page_and_cancelled(brain: Brain) -> None:
    app = brain.app()
    everything = frozenset(Permission)
    async with (
        http(app, await brain.key(permissions=everything)) as ada,
        http(app, await brain.key("w2", permissions=everything)) as foreign,
        http(app, await brain.key("system", permissions=ADMIN)) as operator,
    ):
        ids = []
        for content in ("one", "two", "three"):
            brain.clock.advance(1000)
            await remembered(ada, content, project=content)
            body = {"project": content, "dry_run": False}
            ids.append((await ada.post(FORGET_ALL, json=body)).json()["operation"]["id"])
        first = (await ada.get(OPERATIONS, params={"limit": 2})).json()
        rest = (await ada.get(OPERATIONS, params={"cursor": first["next_cursor"]})).json()
        cancelled = await ada.post(f"{OPERATIONS}/{ids[0]}:cancel")
        again = await ada.post(f"{OPERATIONS}/{ids[0]}:cancel")
        only = (await ada.get(OPERATIONS, params={"status": ["cancelled"], "kind": "forget"})).json()

        assert [each["id"] for each in first["operations"]] == [ids[2], ids[1]]
        assert [each["id"] for each in rest["operations"]] == [ids[0]]
        assert cancelled.json() == again.json()
        assert [each["id"] for each in only["operations"]] == [ids[0]]
        assert "traces" not in str(first)
        for method, path in (("GET", f"{OPERATIONS}/{{}}"), ("POST", f"{OPERATIONS}/{{}}:cancel")):
            theirs, nobodys, none = [
                await foreign.request(method, path.format(each)) for each in (ids[1], unknown_id(), "no-id")
            ]
            assert refused(theirs, 404)["message"] == "no operation with this id"
            assert _plain(theirs) == _plain(nobodys) == _plain(none)
        assert (await foreign.get(OPERATIONS)).json()["operations"] == []
        refused(await foreign.get(OPERATIONS, params={"workspace_id": "w1"}), 403)
        refused(await foreign.get(f"{OPERATIONS}/{ids[1]}", params={"workspace_id": "w1"}), 403)
        seen = (await operator.get(f"{OPERATIONS}/{ids[1]}", params={"workspace_id": "w1"})).json()
        assert seen["id"] == ids[1]


def _plain(response: httpx.Response) -> tuple[int, Any]:
    return response.status_code, {name: value for name, value in response.json().items() if name != "request_id"}


async def test_a_watch_answers_as_soon_as_something_changed(brain: Brain) -> None:
    async with http(brain.app(), await brain.key(permissions=frozenset(Permission))) as ada:
        await remembered(ada, "one", project="p")
        operation = (await ada.post(FORGET_ALL, json={"project": "p", "dry_run": False})).json()["operation"]
        path = f"{OPERATIONS}/{operation['id']}"
        at_once = (await ada.get(path, params={"wait": 30, "seen": "0" * 16})).json()
        watching = asyncio.create_task(ada.get(path, params={"wait": 30, "seen": at_once["mark"]}))
        await asyncio.sleep(0)
        await ada.post(f"{path}:cancel")
        changed = (await asyncio.wait_for(watching, PATIENCE_S)).json()
        after = (await ada.get(path, params={"wait": 30, "seen": changed["mark"]})).json()

    assert at_once["status"] == "queued"
    assert changed["status"] == "cancelled"
    assert after == changed


async def test_a_watch_ends_with_its_key(brain: Brain) -> None:
    """It went on until the operation changed, or for 30 seconds, and then answered."""
    key, app = await brain.key("w1", "eve", permissions=frozenset(Permission)), brain.app()
    app.state.api.listening._every_s = 0.01
    async with http(app, key) as eve:
        await remembered(eve, "one", project="p")
        started = (await eve.post(FORGET_ALL, json={"project": "p", "dry_run": False})).json()["operation"]
        watch = asyncio.ensure_future(eve.get(f"{OPERATIONS}/{started['id']}", params={"wait": 30}))
        while not app.state.api.listening._listeners:
            await asyncio.sleep(0)
        (eves,) = await brain.store.api_keys.keys("w1")
        await brain.store.api_keys.revoke_key("w1", eves.id)
        refused(await asyncio.wait_for(watch, PATIENCE_S), 401)
