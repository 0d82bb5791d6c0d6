"""Checks before a tool is called: keys, origins, methods."""

import math
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from openbrain.domain.access.toolsets import choice, chosen
from openbrain.domain.errors import OpenBrainError, RateLimited, TryLater, Unauthorised
from openbrain.usecases.auth import Actor
from openbrain_mcp.http.clients import Callers, bearer
from openbrain_mcp.http.in_process import COUNTED, PEER
from openbrain_mcp.server import CHOSEN

_SINGLE_HEADERS = (b"authorization", b"origin")
_NO_STREAM = "post a request: this server keeps no session, so there is nothing to listen to"
_TOOLSETS = "openbrain-toolsets"
_UNKNOWN_TOOLSET = f"OpenBrain-Toolsets names an unknown toolset: use {choice()}"
_DUPLICATE_HEADER = "send the headers Authorization and Origin once each"
_FOREIGN_ORIGIN = "requests from this origin are not allowed: add it to OPENBRAIN_SERVER__ORIGINS"
_LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})

Admit = Callable[[str, tuple[str, int] | None], Awaitable[Actor]]
"""Authenticates an authorization header and counts the request against the key's limits, as the API does. Raises the
API's errors."""


class Guard:
    """Refuses requests without a valid key. The tools call the API with the same key."""

    def __init__(self, tools: ASGIApp, admit: Admit, callers: Callers, origins: Sequence[str]) -> None:
        self._tools = tools
        self._admit = admit
        self._callers = callers
        self._origins = frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if (refusal := self._refusal(scope)) is not None:
            await refusal(scope, receive, send)
            return
        headers = Request(scope).headers
        authorization, named = headers.get("authorization", ""), headers.get(_TOOLSETS, "")
        PEER.set(scope.get("client"))
        try:
            toolsets = chosen(named)
        except ValueError:
            await _answer(400, "unknown_toolset", _UNKNOWN_TOOLSET)(scope, receive, send)
            return
        try:
            actor = await self._admit(bearer(authorization), scope.get("client"))
        except OpenBrainError as error:
            self._callers.forget(authorization)
            await _refused(error)(scope, receive, send)
            return
        COUNTED.set([1])
        CHOSEN.set(toolsets if named else chosen(",".join(actor.toolsets)))
        await self._tools(scope, receive, _uncached(send))

    def _refusal(self, scope: Scope) -> JSONResponse | None:
        """Check what needs no authentication; return the refusal, if any."""
        names = [name for name, _ in scope["headers"]]
        if any(names.count(name) > 1 for name in _SINGLE_HEADERS):
            return _answer(400, "duplicate_header", _DUPLICATE_HEADER)
        if not _origin_allowed(Request(scope).headers.get("origin"), self._origins):
            return _answer(403, "forbidden", _FOREIGN_ORIGIN)
        if scope["method"] != "POST":  # a GET would open a stream on which nothing is ever sent
            return _answer(405, "method_not_allowed", _NO_STREAM, {"allow": "POST"})
        return None


def _origin_allowed(origin: str | None, allowed: Collection[str]) -> bool:
    """True if a page of this origin may call: one of this machine, or listed in the settings. Programs send no origin
    and may call. A page that reaches this host by DNS rebinding has another origin."""
    if origin is None:
        return True
    given = origin.strip().lower()
    if given in {item.strip().lower().rstrip("/") for item in allowed}:
        return True
    try:
        parts = urlsplit(given)
        local = parts.hostname in _LOCAL_HOSTS and (parts.port is None or parts.port > 0)
    except ValueError:
        return False
    origin_only = not (parts.path or parts.query or parts.fragment or parts.username is not None)
    return local and origin_only and parts.scheme in {"http", "https"}


def _uncached(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = [item for item in message.get("headers", ()) if item[0].lower() != b"cache-control"]
            message = {**message, "headers": [*headers, (b"cache-control", b"no-store")]}
        await send(message)

    return sent


def _refused(error: OpenBrainError) -> JSONResponse:
    status, headers = 403, {}
    match error:
        case Unauthorised():
            status, headers = 401, {"www-authenticate": "Bearer"}
        case RateLimited():
            status, headers = 429, {"retry-after": str(max(1, math.ceil(error.retry_after_s)))}
        case TryLater():
            status, headers = 503, {"retry-after": "1"}
    return _answer(status, error.code, str(error), headers)


def _answer(status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    kept = {"cache-control": "no-store"}
    return JSONResponse({"error": code, "message": message}, status, {**kept, **(headers or {})})
