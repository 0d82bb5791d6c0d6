"""Rate limits and quotas as a client meets them."""

import uuid
from collections.abc import AsyncIterator, Iterator
from itertools import pairwise
from typing import Any

import httpx
import orjson
import pytest

from openbrain.domain.access.permissions import Permission
from openbrain.domain.memory import MICROSECONDS
from openbrain.ports.store.tenants import Workspace, WorkspaceChange
from openbrain.settings.tuning import ServerTuning
from openbrain_api.handlers import ROUTES
from openbrain_mcp.app import with_mcp
from tests.api.memories.test_remember import brain_database_url
from tests.servers.mariadb_server import DATABASE
from tests.support.api.brain import Brain, http, offer, refused, remembered, unknown_id
from tests.support.store.fixtures import START
from tests.support.store.mariadb import MariadbTables

__all__ = ["brain_database_url"]

NOW = START // MICROSECONDS


@pytest.fixture(scope="module", params=["sqlite", "mariadb"])
def module_database_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite+aiosqlite:///{tmp_path_factory.mktemp('truth')}/truth.db"
        return
    made = MariadbTables(request.getfixturevalue("mariadb_server"), f"{DATABASE}_{uuid.uuid4().hex[:12]}")
    yield made.url
    made.drop()


def limits(response: httpx.Response) -> tuple[int, int, int]:
    named = ("limit", "remaining", "reset")
    limit, remaining, reset = (int(response.headers[f"x-ratelimit-{name}"]) for name in named)
    return limit, remaining, reset


async def test_every_answer_says_what_is_left(brain: Brain) -> None:
    app = brain.app()
    async with http(app, await brain.key(rate_limit=120)) as client:
        listed = await client.get("/v1/brain/list")
        unknown = await client.get(f"/v1/brain/memories/{unknown_id()}")
        bad = await client.post("/v1/brain/remember", json={})
        batch = await client.post("/v1/brain/remember:batch", json={"memories": [offer()]})
        forbidden = await client.get("/v1/admin/keys")
        open_to_all = await client.get("/v1/health")
    async with http(app) as nobody:
        unauthorised = await nobody.get("/v1/brain/list")

    assert limits(listed) == (120, 119, NOW + 1)
    assert [limits(each)[1] for each in (unknown, bad, batch, forbidden)] == [118, 117, 107, 106]
    for response in (open_to_all, unauthorised):
        assert not [name for name in response.headers if name.startswith("x-ratelimit")]


async def test_who_asks_too_often_is_told_when_to_come_back(brain: Brain) -> None:
    app = brain.app()
    async with http(app, await brain.key(rate_limit=6)) as client, http(app, await brain.key()) as other:
        for _ in range(6):
            assert (await client.get("/v1/brain/list")).status_code == 200
        late = await client.post("/v1/brain/remember", json=offer("not stored"))
        assert (await other.get("/v1/brain/list")).json()["count"] == 0
        brain.clock.advance(10 * MICROSECONDS)
        again = await client.get("/v1/brain/list")

    problem = refused(late, 429)
    assert problem["error"] == "rate_limited"
    assert problem["rate_limit"] == {"limit": 6, "remaining": 0, "retry_after": 10}
    assert late.headers["retry-after"] == "10"
    assert limits(late) == (6, 0, NOW + 60)
    assert again.status_code == 200


async def test_the_setting_counts_for_keys_that_say_nothing(brain: Brain) -> None:
    server = brain.settings.server.model_copy(update={"rate_per_minute": 600, "tuning": ServerTuning(rate_burst=3)})
    app = brain.app(settings=brain.settings.model_copy(update={"server": server}))
    none = brain.settings.server.model_copy(update={"rate_per_minute": 0})
    free = brain.app(settings=brain.settings.model_copy(update={"server": none}))
    key = await brain.key()
    async with http(app, key) as client:
        statuses = [(await client.get("/v1/brain/list")).status_code for _ in range(4)]
    async with http(free, key) as client:
        unlimited = await client.get("/v1/brain/list")

    assert statuses == [200, 200, 200, 429]
    assert "x-ratelimit-limit" not in unlimited.headers


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("route", [route for route in ROUTES if route.needs_key], ids=lambda r: f"{r.method} {r.path}")
async def test_every_route_with_a_key_counts(module_brain: Brain, route: object) -> None:
    method, path = route.method, route.path.replace("{id}", unknown_id())  # type: ignore[attr-defined]
    key = await module_brain.key("system", permissions=frozenset(Permission), rate_limit=1)
    async with http(module_brain.app(), key) as client:
        await client.get("/v1/whoami")
        refused(await client.request(method, path), 429)


async def test_the_tools_are_refused_in_the_same_words(brain: Brain) -> None:
    async with http(with_mcp(brain.app()), await brain.key(rate_limit=1)) as client:
        await client.get("/v1/whoami")
        refusal = await client.post("/mcp", json={})

    assert (refusal.status_code, refusal.json()["error"]) == (429, "rate_limited")
    assert int(refusal.headers["retry-after"]) > 1


async def _in_parts(body: bytes) -> AsyncIterator[bytes]:
    yield body


async def test_a_tool_costs_what_its_request_costs(brain: Brain) -> None:
    app = with_mcp(brain.app())
    headers = {"accept": "application/json", "content-type": "application/json"}
    listing: dict[str, Any] = {"method": "tools/list"}
    calls: list[dict[str, Any]] = [
        {"method": "tools/call", "params": {"name": name, "arguments": arguments}}
        for name, arguments in (("brain_list", {}), ("brain_search", {"q": "quay"}))
    ]
    async with app.router.lifespan_context(app), http(app, await brain.key(rate_limit=100)) as client:
        left = [limits(await client.get("/v1/whoami"))[1]]
        for asked in (listing, *calls, *calls):
            body = orjson.dumps({"jsonrpc": "2.0", "id": 1, **asked})
            # The SDK answers a body of unknown length.
            content = body if len(left) <= len(calls) + 1 else _in_parts(body)
            answer = await client.post("/mcp", content=content, headers=headers)
            assert "result" in answer.json()
            assert not answer.json()["result"].get("isError"), answer.text
            left.append(limits(await client.get("/v1/whoami"))[1])

    assert [before - after - 1 for before, after in pairwise(left)] == [1, 1, 2, 1, 2]


async def test_a_full_workspace_says_so_with_the_numbers(brain: Brain) -> None:
    key = await brain.key()
    async with http(brain.app(), key) as client:
        (first,) = await remembered(client, "first")
        await brain.store.workspaces.change_workspace("w1", WorkspaceChange(max_memories=2, max_bytes=20))
        batch = await client.post(
            "/v1/brain/remember:batch", json={"memories": [offer("second"), offer("first"), offer("third")]}
        )
        one = await client.post("/v1/brain/remember", json=offer("third"))
        again = await client.post("/v1/brain/remember", json=offer("first"))
        longer = await client.patch(f"/v1/brain/memories/{first}", json={"content": "far too long for this"})
        await client.delete(f"/v1/brain/forget/{first}")
        fits = await client.post("/v1/brain/remember", json=offer("third"))
        back = await client.post(f"/v1/brain/memories/{first}:restore")

    results = batch.json()["results"]
    assert [each["status"] for each in results] == ["created", "duplicate", "refused"]
    assert (results[2]["error"], results[2]["field"]) == ("quota_exceeded", "max_memories")
    for response, field, limit, used in (
        (one, "max_memories", 2, 2),
        (longer, "max_bytes", 20, 11),
        (back, "max_memories", 2, 2),
    ):
        problem = refused(response, 422, field)
        assert (problem["error"], problem["limit"], problem["used"]) == ("quota_exceeded", limit, used)
        assert str(limit) in problem["message"]
    assert (again.status_code, again.json()["duplicate"], fits.status_code) == (200, True, 201)


async def test_a_quota_is_of_one_tenant(brain: Brain) -> None:
    await brain.store.workspaces.create_workspace(Workspace(id="w2", name="w2", created_at=START, max_memories=0))
    app = brain.app()
    async with http(app, await brain.key()) as free, http(app, await brain.key("w2")) as full:
        assert (await free.post("/v1/brain/remember", json=offer())).status_code == 201
        problem = refused(await full.post("/v1/brain/remember", json=offer()), 422)

    assert (problem["limit"], problem["used"]) == (0, 0)
