"""Streamable HTTP at /mcp: the same keys as the API, which is asked in process."""

import contextlib
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextvars import ContextVar

import httpx
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from openbrain.client import OpenBrain
from openbrain.domain import limits
from openbrain.domain.errors import OpenBrainError, RateLimited, TryLater, Unauthorised
from openbrain_mcp.origins import may_ask
from openbrain_mcp.server import mcp_server

PATH = "/mcp"
CLIENTS = 256
_PEER: ContextVar[tuple[str, int] | None] = ContextVar("openbrain_mcp_peer", default=None)
"""Who sent the request at hand: the API counts wrong keys by address."""
_ONCE = (b"authorization", b"origin")
_NO_STREAM = "post a request: this server keeps no session, so there is nothing to listen to"
_TWICE = "send the headers Authorization and Origin once each"
_FOREIGN = "pages of this origin may not ask: name it in OPENBRAIN_SERVER__ORIGINS"
# The key and the origin are what guards, whatever the server is called from outside.
_ANY_HOST = TransportSecuritySettings(enable_dns_rebinding_protection=False)


def with_mcp(api: Starlette, origins: Sequence[str] = ()) -> Starlette:
    """The app with the tools at /mcp. `origins`: browser origins allowed beside this machine's own."""
    callers = Callers(api)
    server = mcp_server(callers.of)
    tools = server.streamable_http_app(
        streamable_http_path=PATH,
        stateless_http=True,
        json_response=True,
        max_request_body_size=limits.BODY_BYTES,
        transport_security=_ANY_HOST,
    )
    inner = api.router.lifespan_context

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[object]:
        async with inner(app) as state, tools.router.lifespan_context(tools):
            yield state

    api.router.lifespan_context = lifespan  # type: ignore[assignment]
    api.router.routes.insert(0, Route(PATH, Guard(tools, callers, origins)))
    return api


class Callers:
    """A client for each key that was seen lately."""

    def __init__(self, api: ASGIApp) -> None:
        self._api = _asked_by_peer(api)
        self._clients: OrderedDict[str, OpenBrain] = OrderedDict()

    async def of(self, request: Request) -> OpenBrain:
        """The client of whoever sent the request."""
        return self.client(request.headers.get("authorization", ""))

    def client(self, authorization: str) -> OpenBrain:
        """The client of the header's bearer key."""
        found = self._clients.get(authorization)
        if found is None:
            key = authorization.partition(" ")[2].strip()
            found = OpenBrain(
                "http://127.0.0.1", key, transport=httpx.ASGITransport(self._api), attempts=1, breaker_failures=0
            )
            self._clients[authorization] = found
        self._clients.move_to_end(authorization)
        while len(self._clients) > CLIENTS:
            self._clients.popitem(last=False)
        return found

    def forget(self, authorization: str) -> None:
        """That key opens nothing."""
        self._clients.pop(authorization, None)


class Guard:
    """No request without a valid key goes further; the tools ask the API with that same key."""

    def __init__(self, tools: ASGIApp, callers: Callers, origins: Sequence[str]) -> None:
        self._tools = tools
        self._callers = callers
        self._origins = frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if (refusal := self._refusal(scope)) is not None:
            await refusal(scope, receive, send)
            return
        authorization = Request(scope).headers.get("authorization", "")
        _PEER.set(scope.get("client"))
        try:
            await self._callers.client(authorization).whoami()
        except OpenBrainError as error:
            self._callers.forget(authorization)
            await _refused(error)(scope, receive, send)
            return
        await self._tools(scope, receive, _kept_by_nobody(send))

    def _refusal(self, scope: Scope) -> JSONResponse | None:
        """Refusals that need no authentication."""
        names = [name for name, _ in scope["headers"]]
        if any(names.count(name) > 1 for name in _ONCE):
            return _answer(400, "duplicate_header", _TWICE)
        if not may_ask(Request(scope).headers.get("origin"), self._origins):
            return _answer(403, "forbidden", _FOREIGN)
        if scope["method"] != "POST":  # a GET would be a stream on which nothing ever comes
            return _answer(405, "method_not_allowed", _NO_STREAM, {"allow": "POST"})
        return None


def _kept_by_nobody(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = [each for each in message.get("headers", ()) if each[0].lower() != b"cache-control"]
            message = {**message, "headers": [*headers, (b"cache-control", b"no-store")]}
        await send(message)

    return sent


def _asked_by_peer(api: ASGIApp) -> ASGIApp:
    async def asked(scope: Scope, receive: Receive, send: Send) -> None:
        await api({**scope, "client": _PEER.get()}, receive, send)

    return asked


def _refused(error: OpenBrainError) -> JSONResponse:
    status, headers = 403, {}
    match error:
        case Unauthorised():
            status, headers = 401, {"www-authenticate": "Bearer"}
        case RateLimited():
            status, headers = 429, {"retry-after": f"{error.retry_after_s:.0f}"}
        case TryLater():
            status, headers = 503, {"retry-after": "1"}
    return _answer(status, error.code, str(error), headers)


def _answer(status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    kept = {"cache-control": "no-store"}
    return JSONResponse({"error": code, "message": message}, status, {**kept, **(headers or {})})
