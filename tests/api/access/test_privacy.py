"""No log, metric, span, output or process title contains what a caller sends: every route, every failure."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
import structlog
from starlette.applications import Starlette

from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.access.permissions import Permission
from openbrain.domain.errors import TryLater
from openbrain.observability import metrics
from openbrain.ports.store.tenants import Rates, WorkspaceChange
from openbrain_api.handlers import ROUTES, system
from tests.support.api.brain import Brain, http, remembered, unknown_id
from tests.support.api.routes.marked_requests import Request, of_every_kind, well_formed
from tests.support.forms import long_form
from tests.support.processes.overhearing import Ear, listening

pytestmark = pytest.mark.timeout(300)
ABOUT_THE_MODEL = "/v1/admin/models"
"""Routes that can't answer without the model."""


@pytest.fixture
def ear(capfd: pytest.CaptureFixture[str]) -> Iterator[Ear]:
    with listening(lambda: "".join(capfd.readouterr())) as heard:
        yield heard


class Breaking:
    """A part of which every call except those in `well` fails unexpectedly, with a message that quotes all its
    arguments. Real parts can't be made to fail that way at will."""

    def __init__(self, real: Any, *, well: Iterable[str] = (), foreseen: bool = False) -> None:
        self._real, self._well, self._foreseen = real, frozenset(well), foreseen

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._real, name)
        if isinstance(self._real, SqlStore) and not callable(found):
            return Breaking(found, well=self._well, foreseen=self._foreseen)
        if not callable(found) or name in self._well:
            return found

        async def broken(*given: Any, **named: Any) -> Any:
            if self._foreseen:
                raise TryLater("down for the test: wait")
            raise RuntimeError(f"{name} {given} {named}")

        return broken


class Caller:
    """Sends requests with its secret key, and counts the answers. It calls the app as a server does: thousands of
    requests are sent, and an HTTP client would take as long again as the app."""

    def __init__(self, app: Starlette, secret: str) -> None:
        self._app, self._secret = app, secret
        self.statuses: Counter[int] = Counter()
        self.failed: set[str] = set()
        """The paths that were answered with 500."""

    async def send(self, requests: Iterable[Request]) -> None:
        for request in requests:
            status = await self._sent(request)
            self.statuses[status] += 1
            if status == 500:
                self.failed.add(request.path)

    async def _sent(self, request: Request) -> int:
        headers = {"host": "brain", "content-length": str(len(request.content))}
        if self._secret:
            headers["authorization"] = f"Bearer {self._secret}"
        scope = {
            "type": "http",
            "http_version": "1.1",
            "scheme": "http",
            "method": request.method,
            "path": request.path,
            "raw_path": request.path.encode(),
            "query_string": urlencode(request.params, doseq=True).encode(),
            "headers": [(name.encode(), value.encode()) for name, value in {**headers, **request.headers}.items()],
            "client": ("127.0.0.1", 123),
            "server": ("brain", 80),
        }
        body = [{"type": "http.request", "body": request.content, "more_body": False}]
        answered, statuses = asyncio.Event(), list[int]()

        async def receive() -> MutableMapping[str, Any]:
            if body:
                return body.pop()
            await answered.wait()
            return {"type": "http.disconnect"}

        async def send(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])
            elif not message.get("more_body"):
                answered.set()

        await self._app(scope, receive, send)
        (status,) = statuses
        return status


async def ids(brain: Brain, client: httpx.AsyncClient) -> Mapping[str, str]:
    """One id of each kind, for the paths that contain one."""
    (memory,) = await remembered(client, "here before")
    key = (await client.post("/v1/admin/keys", json={"name": "k", "permissions": ["brain.read"]})).json()["id"]
    await brain.workspace("spare")
    return {"/v1/brain": memory, "/v1/admin/keys": key, "/v1/admin/workspaces": "spare", "/v1/admin": unknown_id()}


@pytest.fixture
async def secret(brain: Brain) -> str:
    return await brain.key("system", permissions=frozenset(Permission), act_as=("*",))


def nothing_told(ear: Ear, *secrets: str) -> None:
    told = ear.told()
    assert ear.marks.found(told) == []
    for source, text in told.items():
        assert not [secret for secret in secrets if secret in text], source


async def test_the_ear_hears_what_leaks(ear: Ear) -> None:
    """Without this the tests below would prove nothing."""
    structlog.get_logger("openbrain.test").debug("test.leak", content=ear.marks("a log"))
    with metrics.tracer().start_as_current_span("s", attributes={"q": ear.marks("a span")}):
        print(ear.marks("the terminal"))  # noqa: T201 - a leak

    assert [leak.split(":")[0] for leak in ear.marks.found(ear.told())] == [
        "a log in logs",
        "a span in spans",
        "the terminal in output",
    ]


@pytest.mark.slow("some thousand requests, and all that they leave behind is read")
async def test_every_route_field_and_header(
    brain: Brain, ear: Ear, secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The ear reads the metrics once, at the end; rendering them at each request for them would take seconds.
    monkeypatch.setattr(system, "generate_latest", lambda _: b"")
    server = brain.settings.server.model_copy(update={"rate_per_minute": 0})
    app = brain.app(settings=brain.settings.model_copy(update={"server": server}))
    async with http(app, secret) as client:
        caller = Caller(app, secret)
        await caller.send(of_every_kind(ear.marks, await ids(brain, client)))
        await brain.settle()
        await caller.send(well_formed(ear.marks, await ids(brain, client)))

    nothing_told(ear, secret)
    assert {200, 201, 204, 400, 404, 405, 415, 422} <= caller.statuses.keys()
    assert {f"{route.method} {route.path}" for route in ROUTES} <= ear.spans()


PARTS = [["store"], ["text"], ["vectors"], ["embedder"], ["text", "vectors"], ["rates"]]
# The store fails both ways, the other parts one way each; in the long form all fail both ways.
WAYS = [
    pytest.param(parts, foreseen, id=f"{'-'.join(parts)}-{'down' if foreseen else 'broken'}")
    for number, parts in enumerate(PARTS)
    for foreseen in (True, False)
    if parts == ["store"] or foreseen is (number % 2 == 1) or long_form()
]


@pytest.mark.parametrize(("parts", "foreseen"), WAYS)
async def test_every_route_while_a_part_fails(
    brain: Brain, ear: Ear, secret: str, parts: list[str], foreseen: bool
) -> None:
    async with http(brain.app(), secret) as client:
        known = await ids(brain, client)
    await brain.settle()
    real = {name: getattr(brain, name, None) or _Rates() for name in parts}
    failing = {name: Breaking(each, well=["key_by_hash", "note"], foreseen=foreseen) for name, each in real.items()}
    caller = Caller(brain.app(**failing), secret)
    await caller.send(well_formed(ear.marks, known))

    nothing_told(ear, secret)
    if parts == ["store"]:
        assert caller.statuses[503 if foreseen else 500] > 10
        assert ("api.request_failed" in ear.events()) is not foreseen
    elif parts != ["rates"]:
        assert {path for path in caller.failed if not path.startswith(ABOUT_THE_MODEL)} == set()
        assert "api.index_did_not_answer" in ear.events()


class _Rates:
    """An interface to break: any call of it fails."""

    take = Rates.take


async def test_who_may_not_ask_too_often_or_has_no_room(brain: Brain, ear: Ear, secret: str) -> None:
    """Answers 401, 403, 429, and a full workspace."""
    # More wrong keys than an address may send per minute, so that the other cases are reached too.
    server = brain.settings.server.model_copy(update={"wrong_keys_per_minute": 0})
    app = brain.app(settings=brain.settings.model_copy(update={"server": server}))
    async with http(app, secret) as client:
        known = await ids(brain, client)
    unknown = ear.marks("an unknown key")
    keys = {
        "nobody": "",
        "an unknown key": unknown,
        "one that reads nothing": await brain.key("system", permissions=frozenset({Permission.ADMIN})),
        "another tenant": await brain.key("w2"),
        "one in a hurry": await brain.key("system", rate_limit=1),
        "one without room": await brain.key("w3", permissions=frozenset(Permission)),
    }
    await brain.store.workspaces.change_workspace("w3", WorkspaceChange(max_memories=0))
    statuses: Counter[int] = Counter()
    for key in keys.values():
        caller = Caller(app, key)
        await caller.send(well_formed(ear.marks, known))
        statuses += caller.statuses

    nothing_told(ear, secret, *filter(None, keys.values()))
    assert {401, 403, 404, 422, 429} <= statuses.keys()
