"""For every field of every request, any value of any JSON type is accepted or refused: no answer is a server error.

All values go through the models; of those that the models accept, some are sent, drawn by a seed that is printed.
`OPENBRAIN_VALUES_SEED=7 pytest tests/api/requests/test_any_value.py` repeats a run; OPENBRAIN_TEST_LONG=1 sends all.
"""

import json
import os
import random
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import quote, urlencode

import httpx
import pytest
import pytest_asyncio

from openbrain.domain.access.permissions import Permission
from openbrain.domain.errors import Invalid
from openbrain.domain.ids import uuid7
from openbrain.ports.store.webhooks import Webhook
from openbrain.streams.operating.administration import RedisStreams
from openbrain.streams.redis.connection import connect
from openbrain.usecases.transfer.lines import HistoryEntryLine, Line, LineageLine, MemoryLine, parse_line
from openbrain_api.handlers import ROUTES
from openbrain_api.http.parsing import parse_body, parse_query
from openbrain_api.http.response import Refused
from openbrain_api.http.route import Route
from tests.support.api.brain import http, offer, open_brain
from tests.support.api.inputs.bad_inputs import FULL
from tests.support.api.inputs.extremes import PLAIN, RAW, Place, around, drawn, places
from tests.support.api.routes.marked_requests import HEADERS, header, memory_line
from tests.support.api.routes.served_document import SCHEMAS
from tests.support.api.transfer import NDJSON, as_file
from tests.support.forms import long_form
from tests.support.processes.overhearing import Marks
from tests.support.streams.consumers import scaled

SEED = os.environ.get("OPENBRAIN_VALUES_SEED") or str(random.SystemRandom().randrange(10**6))
SENT = 10_000 if long_form() else 1
"""How many of the values that a model accepts in one place are sent, besides the least and the greatest number."""
BODIES = [route for route in ROUTES if route.body.model_fields]
QUERIES = [route for route in ROUTES if route.query.model_fields]
WAITS = ("wait", "seconds")
JSON = {"content-type": "application/json"}
_OWN = "@own id@"
module = pytest.mark.asyncio(loop_scope="module")
pytestmark = pytest.mark.timeout(6 * 3600 if long_form() else 300)


def usual(route: Route) -> dict[str, Any]:
    """A valid body of the route."""
    return dict(FULL[route.path])


def bodies(route: Route) -> Iterator[tuple[Place, list[tuple[bytes, bytes]]]]:
    """For each place of its body: the values that its model accepts, and the documents. Fails if a value is neither
    accepted nor refused."""
    for place in places(SCHEMAS[route.body.__name__], SCHEMAS):
        taken = []
        before, behind = around(usual(route), place)
        for raw in RAW:
            body = before + raw + behind
            try:
                parse_body(route.body, body)
            except (Invalid, Refused):
                continue
            taken.append((raw, body))
        yield place, taken


def queries(route: Route) -> Iterator[tuple[str, list[tuple[bytes, str]]]]:
    """The same for each query parameter; waits are set to 0."""
    needed = {name: "x" for name, each in route.query.model_fields.items() if each.is_required()}
    for name in route.query.model_fields:
        taken = []
        for value in PLAIN:
            text = urlencode({**needed, **dict.fromkeys(WAITS & route.query.model_fields.keys(), 0), name: value})
            try:
                asked = parse_query(route.query, text.encode())
            except Invalid:
                continue
            if all(getattr(asked, each, 0) == 0 for each in WAITS):
                taken.append((value.encode(), text))
        yield name, taken


def lines(kind: type[Line], line: Mapping[str, Any]) -> Iterator[tuple[Place, list[tuple[bytes, bytes]]]]:
    """The same for each field of a line of an export."""
    schema = kind.model_json_schema()
    for place in places(schema, schema.get("$defs", {})):
        taken = []
        before, behind = around({**line, "id": _OWN} if "id" in line else line, place)
        for raw in RAW:
            # Give each line another memory's id: a second line with the same id in a file proves nothing.
            text = (before + raw + behind).replace(_OWN.encode(), str(uuid.uuid4()).encode())
            try:
                parse_line(text)
            except Invalid:
                continue
            taken.append((raw, text))
        yield place, taken


@cache
def every_line() -> Sequence[bytes]:
    """Lines of each kind, with each value in each place where it is accepted."""
    given = Marks()
    memory, at = memory_line(given), "2020-02-02T00:00:00Z"
    about = {"memory_id": memory["id"], "version": 1, "revision": 1, "actor": "a", "at": at}
    history = {"kind": "history", "action": "created", **about}
    lineage = {"kind": "lineage", "relation": "superseded", "child_id": memory["id"], "created_at": at}
    kinds: list[tuple[type[Line], dict[str, Any]]] = [
        (MemoryLine, memory),
        (HistoryEntryLine, history),
        (LineageLine, {**lineage, "parent_id": str(uuid.uuid4())}),
    ]
    return [text for kind, line in kinds for _, found in lines(kind, line) for _, text in found]


TELLS_HEALTH = {"/v1/health", "/ready"}


@dataclass
class Asked:
    """A system admin's client, ids to aim at, and the random choice."""

    client: httpx.AsyncClient
    chance: random.Random
    ids: Mapping[str, str]

    async def path(self, route: Route) -> str:
        """The path with an existing id; to delete, the id of a memory that no other request ends."""
        if route.path.startswith("/v1/brain/") and route.method == "DELETE":
            return route.path.replace("{id}", await made(self.client, "/v1/brain/remember", offer(uuid.uuid4().hex)))
        own = next((own for start, own in self.ids.items() if route.path.startswith(start)), "none")
        return route.path.replace("{id}", own).replace("{index}", "text").replace("{name}", "none")

    def some(self, values: Sequence[str]) -> Sequence[str]:
        return self.chance.sample(values, min(2 * SENT, len(values)))

    async def send(self, route: Route, about: object, **parts: Any) -> None:
        await self.answered(route.method, await self.path(route), about, **parts)

    async def answered(self, method: str, path: str, about: object, query: str = "", **parts: Any) -> None:
        answer = await self.client.request(method, f"{path}?{query}" if query else path, **parts)
        told = f"again: OPENBRAIN_VALUES_SEED={SEED}; {method} {path} {about} {query} {str(parts)[:500]}: {answer.text}"
        if path in TELLS_HEALTH and answer.status_code == 503:
            return  # a part took too long, which on a busy machine is not the value's fault
        assert 200 <= answer.status_code < 500, told


async def made(client: httpx.AsyncClient, path: str, body: Mapping[str, Any]) -> str:
    """Create something; return its id."""
    answer = await client.post(path, json=body)
    assert answer.status_code in (200, 201, 202), answer.text
    told = answer.json()
    return str(told.get("id") or told.get("job_id") or told.get("signal", {}).get("id"))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def asked(tmp_path_factory: pytest.TempPathFactory, valkey_server: Any) -> AsyncIterator[Asked]:
    print(f"again: OPENBRAIN_VALUES_SEED={SEED}")  # noqa: T201 - in the report of a run that finds nothing, too
    folder = tmp_path_factory.mktemp("values")
    url, settings = f"sqlite+aiosqlite:///{folder}/store.db", scaled(valkey_server.url)
    redis: Any = connect(settings)
    server = {"rate_per_minute": 0, "wrong_keys_per_minute": 0}
    async with open_brain(
        url, folder, tmp_path_factory, server=server, webhooks={"enabled": True, "hosts": ["example.org"]}
    ) as brain:
        key = await brain.key("system", permissions=frozenset(Permission))
        async with http(brain.app(streams=RedisStreams(settings, redis)), key) as client:
            memory = await made(client, "/v1/brain/remember", offer("here before"))
            await brain.settle()
            signal = {"source": "s", "severity": "warning", "title": "t"}
            # A key of the operators' workspace can't create one, so use one made there by an earlier version.
            webhook = Webhook(
                id=uuid7(1),
                workspace_id="system",
                url="https://a.example.org/",
                secret="s",
                created_by="a",
                created_at=1,
            )
            await brain.store.webhooks.add_webhook(webhook, 1)
            ids = {
                "/v1/brain/": memory,
                "/v1/admin/workspaces/": await made(client, "/v1/admin/workspaces", {"id": "w-values"}),
                "/v1/admin/keys/": await made(client, "/v1/admin/keys", {"name": "n", "permissions": ["brain.read"]}),
                "/v1/amygdala/signals/": await made(client, "/v1/amygdala/signals", signal),
                "/v1/amygdala/webhooks/": webhook.id,
            }
            yield Asked(client, random.Random(SEED), ids)
    keys = await redis.keys(f"{settings.prefix}*")
    if keys:
        await redis.delete(*keys)
    await redis.aclose()


@module
@pytest.mark.parametrize("route", BODIES, ids=lambda route: f"{route.method} {route.path}")
async def test_of_bodies(asked: Asked, route: Route) -> None:
    for place, taken in bodies(route):
        for body in drawn(asked.chance, taken, SENT):
            await asked.send(route, place, content=body, headers=JSON)


@module
@pytest.mark.parametrize("route", QUERIES, ids=lambda route: f"{route.method} {route.path}")
async def test_of_queries(asked: Asked, route: Route) -> None:
    content = json.dumps(usual(route)).encode() if route in BODIES else b""
    for name, taken in queries(route):
        for query in drawn(asked.chance, taken, SENT):
            await asked.send(route, name, query=query, content=content, headers=JSON if content else {})


@module
async def test_of_paths_headers_and_forms(asked: Asked) -> None:
    for route in ROUTES:
        calm = "&".join(f"{name}=0" for name in WAITS if name in route.query.model_fields)
        body = json.dumps(usual(route)).encode() if route in BODIES else b""
        content: dict[str, Any] = {"content": body, "headers": JSON} if body else {}
        if "{" in route.path:
            for value in asked.some([each for each in PLAIN if each.strip("./")]):
                steps = ["x" if not step.startswith("{") else quote(value, safe="") for step in route.path.split("/")]
                await asked.answered(route.method, "/".join(steps), "path", query=calm, **content)
        for name in asked.some(sorted({*HEADERS, "last-event-id"} - {"authorization"})):
            for value in asked.some(PLAIN):
                text = value.encode().replace(b"\n", b" ").replace(b"\r", b" ").replace(b"\0", b" ")
                headers = [*content.get("headers", {}).items(), (name, text)]
                await asked.answered(
                    route.method,
                    await asked.path(route),
                    name,
                    query=calm,
                    content=content.get("content"),
                    headers=headers,
                )
        for name in route.form:
            for value in asked.some(PLAIN):
                await asked.send(route, name, data={name.removesuffix("[]"): value})
                files = {"files[]": (value.replace('"', "") or "f", value.encode())}
                await asked.send(route, name, data={"message": value}, files=files)


@module
@pytest.mark.parametrize("whole", [True, False])
async def test_of_lines_of_an_import(asked: Asked, whole: bool) -> None:
    """An unacceptable line is refused by its number, and its neighbours are imported."""
    taken, given = every_line(), Marks()
    assert len(taken) > 200
    workspace = f"w-{uuid.uuid4().hex}"
    await made(asked.client, "/v1/admin/workspaces", {"id": workspace})
    permissions = [each.value for each in Permission if whole or each is not Permission.ADMIN]
    body = {"name": "n", "permissions": permissions, "workspace_id": workspace, "agent_id": "a"}
    key = (await asked.client.post("/v1/admin/keys", json=body)).json()["key"]
    first = {**header(given), "export_id": str(uuid.uuid4()), "part": True}
    neighbour = {**memory_line(given), "content": "a good neighbour", "id": str(uuid.uuid4())}
    file = json.dumps(first).encode() + b"\n" + b"\n".join(taken) + b"\n" + as_file([neighbour])
    headers = {"authorization": f"Bearer {key}", **NDJSON}
    for dry in (True, False, False):
        answer = await asked.client.post("/v1/brain/import", params={"dry_run": dry}, content=file, headers=headers)
        assert answer.status_code == 200, answer.text
        assert answer.json()["complete"]
    listed = await asked.client.get("/v1/brain/search", params={"q": "neighbour"}, headers=headers)
    assert listed.status_code == 200
