"""The OpenAPI document says what the API does."""

import dataclasses
import functools
import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from jsonschema.validators import Draft202012Validator

from openbrain.domain.access.permissions import Permission
from openbrain.domain.events.streams import STORED, dead_letters
from openbrain.ports.store.generations import IndexKind
from openbrain.settings import Vaults
from openbrain.settings.webhooks import Webhooks
from openbrain.streams.operating.administration import RedisStreams
from openbrain.streams.redis.connection import connect
from openbrain.usecases.transfer.lines import LINES
from openbrain_api.handlers import ROUTES
from tests.servers.processes.process import Server
from tests.support.api.brain import Brain, http, offer, unknown_id
from tests.support.api.routes.served_document import DOCUMENT, SCHEMAS
from tests.support.store.lifecycle_worker import worker
from tests.support.streams.consumers import scaled

LETTER = f"{STORED.name}.embedder.1-1"
OPERATIONS = [
    (method.upper(), path, operation)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
]


def fits(value: Any, schema: Any) -> None:
    _validator(json.dumps(schema)).validate(value)


@functools.cache
def _validator(schema: str) -> Draft202012Validator:
    """A validator for one schema. Checking a schema takes longer than using it, so it is done once."""
    alone = {**json.loads(schema), "components": DOCUMENT["components"]}
    Draft202012Validator.check_schema(alone)
    return Draft202012Validator(alone)


def schema_of(operation: Any, response: Any) -> dict[str, Any] | None:
    described = operation["responses"][str(response.status_code)]
    kind = response.headers["content-type"].partition(";")[0]
    schema: dict[str, Any] | None = described["content"][kind].get("schema")
    return schema


def test_every_route_is_there_with_its_permission_and_its_refusals() -> None:
    assert {(method, path) for method, path, _ in OPERATIONS} == {(route.method, route.path) for route in ROUTES}
    for route in ROUTES:
        operation = DOCUMENT["paths"][route.path][route.method.lower()]
        statuses = set(operation["responses"])
        assert {str(status) for status in route.statuses} <= statuses
        assert {"405", "500"} <= statuses
        assert (operation["security"] == [{"key": []}]) == route.needs_key
        if route.permission is not None:
            assert {"401", "403", "422", "503"} <= statuses
            assert route.permission in operation["description"]


def test_names_of_operations_are_unique() -> None:
    names = [operation["operationId"] for _, _, operation in OPERATIONS]

    assert len(set(names)) == len(names)


def test_every_operation_has_one_tag_that_is_described() -> None:
    described = {tag["name"] for tag in DOCUMENT["tags"] if tag["description"]}

    assert all(len(operation["tags"]) == 1 for _, _, operation in OPERATIONS)
    assert {operation["tags"][0] for _, _, operation in OPERATIONS} == described


def test_nothing_that_may_be_left_out_has_a_default() -> None:
    """Generators treat a field with a default as required, and can't write a union's default; so descriptions state
    it."""
    assert [schema for schema in _schemas() if "default" in schema] == []
    assert SCHEMAS["RememberBody"]["required"] == ["content", "type"]
    assert SCHEMAS["RememberBody"]["properties"]["confidence"]["description"] == "Default: 1.0."
    assert SCHEMAS["BulkBody"]["properties"]["dry_run"]["description"] == "Only report what would end. Default: true."


def test_schemas_have_words_of_json_schema_alone() -> None:
    known = {*Draft202012Validator.VALIDATORS, "title", "description", "contentMediaType", "x-line-schema"}

    assert {word for schema in _schemas() for word in schema} - known == set()


def _schemas() -> Iterator[dict[str, Any]]:
    """Each schema anywhere in the document."""
    ahead = [*SCHEMAS.values()]
    for _, _, operation in OPERATIONS:
        ahead += [parameter["schema"] for parameter in operation["parameters"]]
        bodies = (operation.get("requestBody", {}), *operation["responses"].values())
        ahead += [media["schema"] for body in bodies for media in body.get("content", {}).values() if media]
    while ahead:
        schema = ahead.pop()
        yield schema
        ahead += [*schema.get("properties", {}).values(), *schema.get("anyOf", ()), *schema.get("oneOf", ())]
        ahead += [schema[name] for name in ("items", "additionalProperties") if isinstance(schema.get(name), dict)]


def test_no_object_is_both_taken_and_given() -> None:
    """No object schema is used for both a request and a response."""
    taken = [part for _, _, each in OPERATIONS for part in (each.get("requestBody"), each["parameters"])]
    both = _reached(taken) & _reached([each["responses"] for _, _, each in OPERATIONS])

    assert {name for name in both if "enum" not in SCHEMAS[name]} == set()


def _reached(part: Any) -> set[str]:
    """Names of the schemas that it refers to, directly or indirectly. An import takes what an export gave."""
    lines = {line.__name__ for line in LINES}
    reached: set[str] = set()
    ahead = [part]
    while ahead:
        names = {reference.rpartition("/")[2] for reference in _references(ahead.pop())} - reached - lines
        reached |= names
        ahead += [SCHEMAS[name] for name in names]
    return reached


def test_every_schema_is_one_and_every_reference_leads_somewhere() -> None:
    assert DOCUMENT["openapi"] == "3.1.0"
    for schema in DOCUMENT["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)
    for reference in _references(DOCUMENT):
        head, _, name = reference.rpartition("/")
        assert head == "#/components/schemas"
        assert name in DOCUMENT["components"]["schemas"], reference


def _references(part: Any) -> list[str]:
    if isinstance(part, list):
        return [found for each in part for found in _references(each)]
    if not isinstance(part, dict):
        return []
    own = [part["$ref"]] if isinstance(part.get("$ref"), str) else []
    return own + [found for each in part.values() for found in _references(each)]


def test_parameters_in_a_path_are_declared() -> None:
    for _, path, operation in OPERATIONS:
        declared = {each["name"] for each in operation["parameters"] if each["in"] == "path"}
        assert declared == set(re.findall(r"{(\w+)}", path))
        for parameter in operation["parameters"]:
            Draft202012Validator.check_schema(parameter["schema"])


BODIES: dict[tuple[str, str], dict[str, Any]] = {
    ("POST", "/v1/brain/remember"): offer("described", tags=["a"], metadata={"a": 1}, expires_in=5),
    ("POST", "/v1/brain/remember:batch"): {"memories": [offer("a"), offer("b", type="rumour"), "no object"]},
    ("POST", "/v1/brain/recall"): {"query": "here", "type": "fact", "boost_keywords": 0.3, "keywords": ["a"]},
    ("POST", "/v1/brain/recall:batch"): {
        "queries": [{"query": "here", "explain": True}, {"query": "here", "top_k": 5}, {"query": ""}]
    },
    ("PATCH", "/v1/brain/memories/{id}"): {"tags": ["b"]},
    ("POST", "/v1/brain/memories/{id}:restore"): {"reason": "after all"},
    ("DELETE", "/v1/brain/forget/{id}"): {"reason": "no longer"},
    ("DELETE", "/v1/brain/memories/{id}"): {"reason": "no longer"},
    ("POST", "/v1/brain/forget"): {"type": "fact", "dry_run": False, "erase": True},
    ("POST", "/v1/admin/workspaces"): {"id": "described"},
    ("PATCH", "/v1/admin/workspaces/{id}"): {"max_memories": 1000, "max_bytes": None},
    ("POST", "/v1/admin/keys/{id}:rotate"): {"overlap_s": 60},
    ("POST", "/v1/admin/keys"): {"name": "n", "permissions": ["brain.read"]},
    ("POST", "/v1/admin/streams:replay"): {"stream": STORED.name, "dry_run": True},
    ("POST", "/v1/admin/streams:bury"): {"stream": STORED.name, "group": "embedder", "entry": "1-0", "reason": "x"},
    ("POST", "/v1/admin/groups:pause"): {"group": "embedder", "reason": "x"},
    ("POST", "/v1/admin/groups:resume"): {"group": "embedder"},
    ("POST", "/v1/admin/groups"): {"stream": STORED.name, "group": "warehouse"},
    ("POST", "/v1/admin/dead:replay"): {"all": True, "dry_run": False},
    ("POST", "/v1/admin/dead:discard"): {"letters": [LETTER], "dry_run": False},
    ("POST", "/v1/admin/models:change"): {"model": "all-minilm", "dry_run": True},
    ("PUT", "/v1/admin/lifecycle"): {"legal_hold": [{"project": "trial"}]},
    ("POST", "/v1/admin/lifecycle:prune"): {"max_confidence": 0.5},
    ("POST", "/v1/admin/lifecycle:dedupe"): {"project": "shop"},
    ("POST", "/v1/admin/lifecycle:consolidate"): {"threshold": 0.97},
    ("POST", "/v1/admin/lifecycle:refile"): {"project": "shop", "to_project": "api"},
    ("POST", "/v1/admin/lifecycle:backfill-org"): {"orgs": {"shop": "acme"}},
    ("POST", "/v1/admin/lifecycle:clean"): {"strip_pii": True},
    ("POST", "/v1/admin/reindex"): {"index": "text", "dry_run": True},
    ("POST", "/v1/amygdala/webhooks"): {"url": "https://hooks.example.org/x"},
    ("PATCH", "/v1/amygdala/webhooks/{id}"): {"enabled": False},
    ("POST", "/v1/amygdala/signals"): {"source": "db-1", "severity": "warning", "title": "disk", "ttl_s": 60},
    ("POST", "/v1/amygdala/signals/{id}/ack"): {"note": "on it"},
    ("POST", "/v1/amygdala/signals/{id}/resolve"): {"note": "swapped"},
    ("POST", "/v1/amygdala/halts"): {"title": "prices", "scope": "org", "org": "acme"},
    ("POST", "/v1/amygdala/halts/{id}/resume"): {"note": "right again"},
    ("POST", "/v1/brain/recall/{id}/feedback"): {"used": ["0198f3a2-5c1e-7b6d-9a55-0d4c3b2a1f00"]},
    ("POST", "/v1/brain/subscriptions"): {"query": "time-outs", "filter": {"type": "bug"}, "include_own": True},
    ("POST", "/v1/brain/subscriptions/{id}:replay"): {"since": "2026-01-01T00:00:00Z"},
    ("POST", "/v1/brain/sessions"): {"project": "shop", "policy": "promote", "agents": ["bo"]},
    ("POST", "/v1/brain/sessions/{id}/append"): {"turns": [{"turn": 1, "content": "said"}]},
    ("POST", "/v1/brain/sessions/{id}/end"): {"summary": "done", "next_steps": ["more"], "expires_in": 5},
    ("POST", "/v1/messages/send"): {"to": "ada", "content": "which one?", "subject": "the gateway"},
    ("POST", "/v1/messages/read"): {"up_to": 1},
    ("POST", "/v1/thoughts"): {"content": "said", "source": "a", "metadata": {"sessionId": "s", "turn": 1}},
    ("POST", "/v1/thoughts:batch"): {"thoughts": [{"content": "said"}, {"content": ""}, "no object"]},
    ("PATCH", "/v1/thoughts/{id}"): {"content": "said otherwise"},
    ("POST", "/v1/search"): {"query": "here", "min_similarity": 0.0},
    ("POST", "/v1/messages/{id}/read"): {"agent_id": "ada"},
    ("POST", "/marker"): {"type": "signal", "content": "disk full", "attrs": {"source": "db-1", "n": 5}},
    ("POST", "/vault/write_inbox"): {"content": "a page", "tags": ["idea"]},
    ("POST", "/index_artifact"): {"key": "readme", "content": "a text"},
}

FORMS: dict[str, dict[str, str]] = {"/ingest": {"message": "hello"}, "/ingest_with_files": {"message": "hello"}}
FILES: dict[str, bytes] = {
    "/v1/brain/import": b'{"kind": "header", "format": "openbrain-export", "format_version": 1, "export_id": '
    b'"0198f3a2-5c1e-7b6d-9a55-0d4c3b2a1f00", "exported_at": "2027-01-01T00:00:00Z", "workspace_id": "w"}\n{}\n',
}

INDEXED = {"/v1/admin/models:change", "/v1/admin/reindex"}
"""Routes that need the indexes to exist."""

PARAMS: dict[str, dict[str, Any]] = {
    "/v1/admin/dead/{id}": {"body": 1},
    "/v1/admin/groups": {"stream": STORED.name, "group": "warehouse"},
    "/v1/brain/search": {"q": "here", "highlights": 1, "facets": ["type", "tags"]},
    "/v1/admin/workspaces/{id}": {"dry_run": 1},
    "/v1/messages/conversation": {"agent": "ada"},
    "/v1/thoughts": {"source": "manual"},
    "/vault/read": {"path": "note.md"},
    "/vault/search": {"q": "note"},
    "/vault/arcs": {"q": "note"},
}


@asynccontextmanager
async def streamed(url: str, brain: Brain) -> AsyncIterator[RedisStreams]:
    """A stream with an entry, a dead letter, and an outside reader."""
    settings = scaled(url)
    client: Any = connect(settings)
    await client.xadd(settings.prefix + STORED.name, {"__data__": "{}"})
    dead = dead_letters(settings.prefix + STORED.name, "embedder")
    await client.xadd(dead, {"__data__": "{}", "error": "Odd"}, id="1-1")
    await brain.store.groups.register_group(STORED.name, "warehouse", "ada", "")
    yield RedisStreams(settings, client)
    await client.delete(*await client.keys(f"{settings.prefix}*"))
    await client.aclose()


async def kept_beside(brain: Brain) -> str:
    """The name of a text index that is kept next to the serving one."""
    serving = await brain.store.generations.serving(IndexKind.TEXT)
    assert serving is not None
    await brain.text.prepare("t-2")
    await brain.store.generations.begin(dataclasses.replace(serving, name="t-2"))
    await brain.store.generations.swap(IndexKind.TEXT, "t-2")
    return serving.name


def alone(path: str) -> bool:
    """Whether calls of this path affect, or are affected by, later calls."""
    return path in INDEXED or "/generations" in path


OWN = [each for each in OPERATIONS if alone(each[1])]
SHARED = [each for each in OPERATIONS if not alone(each[1])]


@pytest.mark.parametrize(("method", "path", "operation"), OWN, ids=[f"{m} {p}" for m, p, _ in OWN])
async def test_answers_and_refusals_about_the_indexes_are_as_described(
    brain: Brain, valkey_server: Server, method: str, path: str, operation: Any
) -> None:
    async with streamed(valkey_server.url, brain) as streams:
        await used_and_refused(brain, "system", streams, method, path, operation)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("method", "path", "operation"), SHARED, ids=[f"{m} {p}" for m, p, _ in SHARED])
async def test_answers_and_refusals_are_as_described(
    module_brain: Brain, valkey_server: Server, method: str, path: str, operation: Any
) -> None:
    operators = path.startswith("/v1/admin/") or path == "/metrics"
    workspace = "system" if operators else await module_brain.new_workspace()
    async with streamed(valkey_server.url, module_brain) as streams:
        await used_and_refused(module_brain, workspace, streams, method, path, operation)


async def forgotten(client: httpx.AsyncClient) -> httpx.Response:
    return await client.post("/v1/brain/forget", json={"type": "fact", "dry_run": False})


async def pruned(brain: Brain, client: httpx.AsyncClient) -> httpx.Response:
    """Start an operation that can be undone, and run it to its end."""
    begun = await client.post("/v1/admin/lifecycle:prune", json={"older_than_days": 1, "dry_run": False})
    while await worker(brain.store, brain.clock).round():
        pass
    return begun


async def used_and_refused(
    brain: Brain, workspace: str, streams: RedisStreams, method: str, path: str, operation: Any
) -> None:
    """Call each route correctly, and in each way that it refuses."""
    key = await brain.key(workspace, permissions=frozenset(Permission))
    body = BODIES.get((method, path))
    used: dict[str, Any] = {"json": body}
    if path in FILES:
        used = {"content": FILES[path], "headers": {"content-type": "application/x-ndjson"}}
    if path in FORMS:
        used = {"data": FORMS[path]}
    vault = brain.settings.data_dir / f"vault-of-{workspace}"
    vault.mkdir(exist_ok=True)
    (vault / "note.md").write_text("a note\n", encoding="utf-8")
    (vault / "left").mkdir(exist_ok=True)
    arc = "---\ncluster_id: 2026-01-02-arc\ntitle: A note\nheat: 5\n---\n# A note\n"
    (vault / "left" / "2026-01-02-arc.md").write_text(arc, encoding="utf-8")
    posted = Webhooks(enabled=True, hosts=("hooks.example.org",))
    own = {"webhooks": posted, "vaults": Vaults(folders={workspace: vault})}
    settings = brain.settings.model_copy(update=own)
    async with http(brain.app(streams=streams, settings=settings), key) as client:
        memory_id = (await client.post("/v1/brain/remember", json=offer("here before"))).json()["id"]
        if path in INDEXED or "/generations" in path:
            await brain.settle()  # creates the indexes
        if "/generations/" in path:
            path = path.replace("{index}", "text").replace("{name}", await kept_beside(brain))
        other = await client.post("/v1/admin/keys", json={"name": "other", "permissions": ["brain.read"]})
        bulk = await (pruned(brain, client) if path.endswith(":undo") else forgotten(client))
        hook = (await client.post("/v1/amygdala/webhooks", json={"url": "https://hooks.example.org/y"})).json()
        assert ("id" in hook) == (workspace != "system"), hook
        halted = (await client.post("/v1/amygdala/halts", json={"title": "everything"})).json()
        note = (await client.post("/v1/messages/send", json={"to": "ada", "content": "a note"})).json()
        thought = (await client.post("/v1/thoughts", json={"content": "a turn", "agent_id": "ada"})).json()
        session = (await client.post("/v1/brain/sessions", json={"project": "shop"})).json()
        heard = (await client.post("/v1/brain/subscriptions", json={"filter": {"tags": ["x"]}})).json()
        recall_id = unknown_id()
        if "/feedback" in path:
            await brain.settle()
            recall = (await client.post("/v1/brain/recall", json={"query": "here before"})).json()
            recall_id, used = recall["recall_id"], {"json": {"used": [recall["memories"][0]["id"]]}}
        aims = {
            "/recall/": recall_id,
            "sessions": session["id"],
            "subscriptions": heard["id"],
            "messages": note["id"],
            "thoughts": thought.get("id", ""),
            "webhooks": hook.get("id", ""),
            "dead": LETTER,
            "brain": memory_id,
            "arcs": "2026-01-02-arc",
            "workspaces": workspace,
            "halts": halted["halt"]["id"],
            "signals": halted["signal"]["id"],
            "tick": (await client.post("/tick")).json()["job_id"],
            "operations": bulk.json()["operation"]["id"],
        }
        if path.endswith("/stream"):
            client.params = client.params.set("seconds", 0)  # otherwise the stream would not end
        aim = next((each for part, each in aims.items() if part in path), other.json()["id"])
        of_memory = {"erase": 1} if method == "DELETE" else {"history": 1}
        params = of_memory if "memories/" in path else PARAMS.get(path)
        if "/generations/" in path and method == "DELETE":
            params = {"dry_run": 1}
        named = path.replace("{agent}", "ada")
        answers = [
            await client.request(method, named.replace("{id}", unknown_id()), params={"limit": 0}, json=body),
            await client.request(method, named.replace("{id}", aim), content=b"{", headers={"x-openbrain-agent": ""}),
            await client.request(method, named.replace("{id}", aim), json={"name": 5, "query": "", "reason": 5}),
            await client.request(method, named.replace("{id}", aim), content=b"x", headers={"content-type": "text/x"}),
            await client.request(method, named.replace("{id}", aim), params=params, **used),
            await client.request(method, named.replace("{id}", aim), params=params, **used),
            await client.request(method, named.replace("{id}", aim), headers={"authorization": "none"}),
        ]
        await client.delete(f"/v1/amygdala/webhooks/{aims['webhooks']}")  # a workspace has room for only a few
    assert any(response.status_code < 300 for response in answers), answers[4].text
    for response in answers:
        schema = schema_of(operation, response)
        if schema is not None and "x-line-schema" in schema:
            for line in response.content.splitlines():
                fits(json.loads(line), schema["x-line-schema"])
        elif schema is not None:
            fits(response.json(), schema)
    if body is not None:
        described = operation["requestBody"]["content"]["application/json"]["schema"]
        lists: dict[str, Any] = {name: body[name][:1] for name in ("memories", "queries", "thoughts") if name in body}
        fits({**body, **lists}, described)
