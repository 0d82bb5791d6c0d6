"""Security headers: which may occur once only, what may not be cached, and who may see the system's state."""

import gzip
from typing import Any

import httpx
import pytest

from openbrain.domain.access.permissions import Permission
from openbrain.settings.server import Server
from openbrain_api.handlers import ROUTES
from openbrain_api.http.route import Route
from openbrain_mcp.app import with_mcp
from tests.support.api.brain import Brain, http, refused, unknown_id
from tests.support.processes.settings import group_of

ONCE = ("authorization", "content-type", "content-encoding", "idempotency-key", "last-event-id", "x-openbrain-agent")
ADMIN = frozenset({Permission.ADMIN})
TOKEN = "a-token-of-the-scraper"
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
MCP = {"accept": "application/json, text/event-stream"}


def path(route: Route) -> str:
    return route.path.replace("{id}", unknown_id()).replace("{index}", "text").replace("{name}", "x")


def app(brain: Brain, **server: Any) -> Any:
    return brain.app(settings=brain.settings.model_copy(update={"server": group_of(Server, **server)}))


@pytest.mark.asyncio(loop_scope="module")
async def test_a_header_that_counts_once_is_refused_twice_on_every_route(module_brain: Brain) -> None:
    one, other = await module_brain.key(), await module_brain.key("system", permissions=ADMIN)
    async with http(module_brain.app()) as client:
        for route in ROUTES:
            given = [("authorization", f"Bearer {one}"), ("authorization", f"Bearer {other}")]
            for headers in (given, given[::-1], [given[0], given[0]]):
                response = await client.request(route.method, path(route), headers=headers)
                assert refused(response, 400)["error"] == "duplicate_header", route.path
        for name in ONCE:
            twice = [(name, "a"), (name.title(), "b")]
            assert refused(await client.post("/v1/brain/remember", headers=twice), 400)["error"] == "duplicate_header"


@pytest.mark.asyncio(loop_scope="module")
async def test_lists_may_come_in_several_headers(module_brain: Brain) -> None:
    async with http(module_brain.app()) as client:
        first = await client.get("/openapi.json")
        again = [("if-none-match", first.headers["etag"]), ("if-none-match", '"other"')]
        assert (await client.get("/openapi.json", headers=again)).status_code == 304


UNASKED = ("stream", "message_stream", "remove_workspace")
"""Routes not called here: two are endless streams, the third would delete too much."""


@pytest.mark.asyncio(loop_scope="module")
async def test_nobody_keeps_an_answer_but_the_document(module_brain: Brain) -> None:
    key = await module_brain.key("system", permissions=frozenset(Permission))
    made = module_brain.app()
    seen = set()
    for secret in (key, ""):
        async with http(made, secret) as client:
            for route in (each for each in ROUTES if each.handler.__name__ not in UNASKED):
                response = await client.request(route.method, path(route))
                kept = "no-cache" if route.path == "/openapi.json" else "no-store"
                assert response.headers.get_list("cache-control") == [kept], route.path
                seen.add(response.status_code)
            assert (await client.get("/nothing/here")).headers["cache-control"] == "no-store"
            assert (await client.put("/v1/brain/list")).headers["cache-control"] == "no-store"
    assert seen > {200, 401}


async def test_secrets_and_what_is_recalled_are_kept_by_nobody(brain: Brain) -> None:
    async with http(brain.app(), await brain.key("system", permissions=frozenset(Permission))) as client:
        body = {"name": "n", "permissions": ["brain.read"]}
        made = await client.post("/v1/admin/keys", json=body)
        told = await client.post("/v1/brain/recall", json={"query": "q"})
    assert "ob_" in made.text
    assert [each.headers["cache-control"] for each in (made, told)] == ["no-store", "no-store"]
    assert (made.is_success, told.is_success) == (True, True)


async def test_the_document_is_counted_by_address_and_packed_once(brain: Brain) -> None:
    made = app(brain, documents_per_minute=3)

    def at(address: str) -> httpx.AsyncClient:
        transport = httpx.ASGITransport(made, client=(address, 1))
        return httpx.AsyncClient(transport=transport, base_url="http://brain.test")

    async with at("192.0.2.7") as here, at("192.0.2.8") as there:
        plain = await here.get("/openapi.json", headers={"accept-encoding": "identity"})
        packed = await here.get("/openapi.json", headers={"accept-encoding": "gzip"})
        same = await here.get("/openapi.json", headers={"if-none-match": packed.headers["etag"]})
        late = await here.get("/openapi.json")
        assert (await there.get("/openapi.json")).status_code == 200
        assert [(await here.get(each)).status_code for each in ("/live", "/v1/health")] == [200, 200]
    assert (plain.content, same.status_code) == (packed.content, 304)
    assert len(gzip.compress(plain.content)) * 1.1 > int(packed.headers["content-length"])
    assert plain.headers["etag"] != packed.headers["etag"]
    assert refused(late, 429)["error"] == "rate_limited"
    assert int(late.headers["retry-after"]) >= 1


async def test_how_the_system_is_is_for_operators(brain: Brain) -> None:
    tenant = await brain.key(permissions=frozenset(Permission))
    reader = await brain.key("system", permissions=frozenset({Permission.BRAIN_READ}))
    operator = await brain.key("system", permissions=ADMIN)
    statuses = {}
    for name, server in (("key", {}), ("token", {"metrics_token": TOKEN}), ("open", {"metrics_open": True})):
        async with http(app(brain, **server)) as client:
            for secret in ("", "wrong", f"{TOKEN}x", "é", tenant, reader, operator, TOKEN):
                headers = {b"authorization": f"Bearer {secret}".encode()} if secret else {}
                statuses[name, secret] = (await client.get("/metrics", headers=headers)).status_code
    assert [each for (name, _), each in statuses.items() if name == "key"] == [401] * 4 + [403, 403, 200, 401]
    assert [each for (name, _), each in statuses.items() if name == "token"] == [401] * 4 + [403, 403, 200, 200]
    assert {each for (name, _), each in statuses.items() if name == "open"} == {200}


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        *[
            (each, 200)
            for each in ("http://localhost", "http://127.0.0.1:6274", "https://[::1]:1", "HTTP://LOCALHOST:3")
        ],
        *[(each, 200) for each in ("https://console.example.org", "https://Console.example.org")],
        *[
            (each, 403)
            for each in ("http://evil.example", "http://brain.test", "null", "", "http://localhost.evil.example")
        ],
        *[
            (each, 403)
            for each in ("http://console.example.org", "https://console.example.org:444", "file://localhost")
        ],
        *[
            (each, 403)
            for each in ("http://a@localhost", "http://localhost:99999", "http://localhost:x", "http://[::1")
        ],
        *[(each, 403) for each in ("http://localhost/x", "localhost", "http://127.0.0.1.nip.example")],
    ],
)
@pytest.mark.asyncio(loop_scope="module")
async def test_pages_of_other_origins_reach_no_tool(module_brain: Brain, origin: str, status: int) -> None:
    made = with_mcp(module_brain.app(), ["https://console.example.org/"])
    async with (
        made.router.lifespan_context(made),
        http(made, await module_brain.key(), origin=origin, **MCP) as client,
    ):
        assert (await client.post("/mcp", json=LIST)).status_code == status


@pytest.mark.asyncio(loop_scope="module")
async def test_the_tools_have_no_stream_that_idles(module_brain: Brain) -> None:
    made = with_mcp(module_brain.app())
    listen = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen"}
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"notifications": {"toolsListChanged": True}, "_meta": meta}
    modern = {**MCP, "mcp-protocol-version": "2026-07-28", "mcp-method": "subscriptions/listen"}
    async with made.router.lifespan_context(made), http(made, await module_brain.key(), **MCP) as client:
        for method in ("GET", "DELETE", "PUT", "HEAD"):
            answer = await client.request(method, "/mcp")
            assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
        answer = await client.post("/mcp", json={**listen, "params": params}, headers=modern)
        assert answer.json()["error"]["code"] == -32601, answer.text
        known = await client.post("/mcp", json=LIST)
    assert known.headers.get_list("cache-control") == ["no-store"]


@pytest.mark.asyncio(loop_scope="module")
async def test_the_tools_take_one_key_and_one_origin(module_brain: Brain) -> None:
    key = await module_brain.key()
    made = with_mcp(module_brain.app())
    async with made.router.lifespan_context(made), http(made) as client:
        once = [*MCP.items(), ("authorization", f"Bearer {key}"), ("origin", "http://localhost")]
        assert (await client.post("/mcp", json=LIST, headers=once)).status_code == 200
        for again in once[-2:]:
            answer = await client.post("/mcp", json=LIST, headers=[*once, again])
            assert (answer.status_code, answer.json()["error"]) == (400, "duplicate_header")
