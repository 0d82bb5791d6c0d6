"""Requests that are wrong apart from their values: bodies, types, sizes, headers, keys, methods, paths."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from openbrain.domain.access.permissions import Permission
from openbrain.domain.memory import MICROSECONDS
from openbrain_api.handlers import ROUTES
from tests.support.api.brain import Brain, Caller, http, offer, refused, unknown_id
from tests.support.api.inputs.bad_inputs import FULL, RAW, SECRET
from tests.support.api.routes.served_document import DOCUMENT

LIMITS = {(route.method, route.path): route.body_bytes for route in ROUTES}
TAKERS = [(route.method, route.path) for route in ROUTES if route.body.model_fields]
PROTECTED = [(route.method, route.path) for route in ROUTES if route.needs_key]
JSON = {"content-type": "application/json"}


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("raw", "status"), [pytest.param(raw, status, id=name) for name, raw, status in RAW])
async def test_a_body_that_is_no_object(caller: Caller, raw: bytes, status: int) -> None:
    before = await caller.counts()

    for method, path in TAKERS:
        response = await caller.send(method, path, content=raw, headers=JSON)
        refused(response, status)
        assert SECRET not in response.text

    assert await caller.counts() == before


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    "kind",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/json; charset=latin-1",
    ],
)
async def test_another_content_type(caller: Caller, kind: str) -> None:
    for method, path in TAKERS:
        response = await caller.send(method, path, content=json.dumps(FULL[path]), headers={"content-type": kind})
        assert "Content-Type: application/json" in refused(response, 415)["message"]


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    "kind", ["application/json; charset=UTF-8", "application/vnd.brain+json", "APPLICATION/JSON", None]
)
async def test_json_by_any_of_its_names(caller: Caller, kind: str | None) -> None:
    headers = {} if kind is None else {"content-type": kind}

    response = await caller.send("POST", "/v1/brain/recall", content=b'{"query": "x"}', headers=headers)

    assert response.status_code == 200


@pytest.mark.parametrize("declared", [True, False])
async def test_a_body_above_the_limit_is_refused_before_it_is_parsed(brain: Brain, declared: bool) -> None:
    """A content-length is believed at once; without one the stream is cut at the limit."""
    key = await brain.key("system", permissions=frozenset(Permission))
    length = {"content-length": str(200 * 1024 * 1024)} if declared else {}
    for method, path in TAKERS:
        received = 0

        async def receive() -> dict[str, Any]:
            nonlocal received
            received += 1
            return {"type": "http.request", "body": b" " * 2**20, "more_body": True}

        headers = {**JSON, **length, "authorization": f"Bearer {key}"}
        status, problem = await raw(brain, method, path.replace("{id}", unknown_id()), headers, receive)

        assert status == 413
        limit = LIMITS[method, path]
        assert str(limit) in problem["message"]
        assert received == (0 if declared else limit // 2**20 + 1)


async def raw(brain: Brain, method: str, path: str, headers: dict[str, str], receive: Any) -> tuple[int, Any]:
    """Call the app as a server does."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    await brain.app()(scope, receive, send)
    return sent[0]["status"], json.loads(sent[1]["body"])


@pytest.mark.asyncio(loop_scope="module")
async def test_a_client_that_goes_away_in_the_middle_stores_nothing(caller: Caller) -> None:
    before = await caller.counts()
    key = await caller.brain.key()
    messages: AsyncIterator[Any] = _cut_off()
    with pytest.raises(IndexError):  # there is no client to answer
        await raw(
            caller.brain,
            "POST",
            "/v1/brain/remember",
            {**JSON, "authorization": f"Bearer {key}"},
            lambda: anext(messages),
        )

    assert (await caller.counts())[:4] == before[:4]


async def _cut_off() -> AsyncIterator[Any]:
    yield {"type": "http.request", "body": b'{"content": "half', "more_body": True}
    yield {"type": "http.disconnect"}


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("idempotency-key", " "),
        ("idempotency-key", "x" * 256),
        ("x-openbrain-agent", "%07"),
        ("x-openbrain-agent", "ad%e9"),
        ("x-openbrain-agent", "x" * 101),
    ],
)
async def test_a_bad_header_is_named(caller: Caller, name: str, value: str) -> None:
    response = await caller.send("POST", "/v1/brain/remember", json=offer(), headers={name: value})

    assert refused(response, 422)["field"].lower() == name


@pytest.mark.asyncio(loop_scope="module")
async def test_a_preference_that_can_not_be_read_is_passed_over(caller: Caller) -> None:
    for preference in ("wait=soon", "wait", "respond-async", "wait=-1"):
        headers = {"prefer": preference}
        response = await caller.send("POST", "/v1/brain/remember", json=offer(preference), headers=headers)
        assert response.status_code == 201
        assert "preference-applied" not in response.headers


async def test_without_a_good_key_there_is_one_answer(brain: Brain) -> None:
    """The same whether or not the thing exists, and before anything of the request is read."""
    expired = await brain.key(expires_at=brain.clock.now() + MICROSECONDS)
    brain.clock.advance(2 * MICROSECONDS)
    answers = set()
    # More wrong keys than an address may send per minute.
    server = brain.settings.server.model_copy(update={"wrong_keys_per_minute": 0})
    async with http(brain.app(settings=brain.settings.model_copy(update={"server": server}))) as client:
        for method, path in PROTECTED:
            for header in (None, "Bearer ob_unknown", f"Bearer {expired}", "Basic abc"):
                headers = {} if header is None else {"authorization": header}
                response = await client.request(method, path, content=b"{" * 9, headers=headers)
                assert refused(response, 401)["error"] == "unauthorised"
                assert response.headers["www-authenticate"] == "Bearer"
                answers.add(response.text)

    assert len(answers) == 1


async def test_without_the_permission_it_is_forbidden(brain: Brain) -> None:
    for route in ROUTES:
        if route.permission is None:
            continue
        key = await brain.key(permissions=frozenset(Permission) - {route.permission})
        async with http(brain.app(), key) as client:
            problem = refused(await client.request(route.method, route.path.replace("{id}", unknown_id())), 403)
        assert problem["error"] == "forbidden"
        assert str(route.permission) in problem["message"]


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("method", ["TRACE", "PUT", "DELETE"])
async def test_a_method_that_is_not_served_says_which_are(caller: Caller, method: str) -> None:
    response = await caller.send(method, "/v1/admin/workspaces")

    refused(response, 405)
    assert response.headers["allow"] == "GET, HEAD, OPTIONS, POST"


@pytest.mark.asyncio(loop_scope="module")
async def test_nothing_here_is_a_problem_too(caller: Caller) -> None:
    for path in ("/nothing", "/v1/brain", "/v1/brain/remember/", "/v1/brain/memories/", "/v2/brain/list"):
        refused(await caller.send("GET", path), 404)
    for path in ("/v1/brain/memories/not-an-id", f"/v1/brain/memories/{unknown_id()}", "/v1/brain/memories/%ff"):
        assert refused(await caller.send("GET", path), 404)["message"] == "no memory with this id"


def parameters() -> list[tuple[str, str, str, bool, bool]]:
    """Each query parameter of every route: whether it may be empty or repeated, according to the document."""
    found = []
    for path, operations in DOCUMENT["paths"].items():
        for method, operation in operations.items():
            for each in (one for one in operation["parameters"] if one["in"] == "query"):
                schema, listed = each["schema"], each["schema"].get("type") == "array"
                text = schema.get("type") == "string" and not schema.keys() & {"minLength", "pattern", "enum", "format"}
                found.append((method.upper(), path, each["name"], each.get("allowEmptyValue", text), listed))
    return found


@pytest.mark.asyncio(loop_scope="module")
async def test_what_the_document_forbids_of_a_query_is_refused(module_brain: Brain) -> None:
    """An empty org means no org: a caller who sent it by mistake would get the results of all orgs."""
    key = await module_brain.key("system", permissions=frozenset(Permission))
    required = {"q": "ferry", "query": "ferry", "path": "a.md", "stream": "memory.stored", "group": "g"}
    seen = set()
    async with http(module_brain.app(), key) as client:
        for method, path, name, empty, listed in parameters():
            url = path.replace("{id}", unknown_id()).replace("{index}", "text").replace("{name}", "x")
            module_brain.clock.advance(MICROSECONDS)  # so that the rate limit lets the key ask again
            others = {one: value for one, value in required.items() if one != name}
            body = FULL[path] if (method, path) in TAKERS else None
            bare = await client.request(method, url, params={**others, name: ""}, json=body)
            twice = await client.request(method, url, params=[*others.items(), (name, "1"), (name, "1")], json=body)
            if not empty:
                assert refused(bare, 422)["field"].split(".")[0] == name, (path, name)
            if not listed:
                assert refused(twice, 422)["field"] == name, (path, name)
            seen.add((empty, listed))
    assert seen == {(False, False), (False, True), (True, False), (True, True)}
