"""Calls the API in process instead of over HTTP, whose overhead exceeds the cost of most answers."""

import asyncio
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any
from urllib.parse import unquote

import httpx
from starlette.types import ASGIApp, Message

from openbrain.client.wire import Params, Wire
from openbrain.domain.errors import ServerFailed

PEER: ContextVar[tuple[str, int] | None] = ContextVar("openbrain_mcp_peer", default=None)
"""The client address of the current request: the API counts wrong keys by address."""
COUNTED: ContextVar[list[int] | None] = ContextVar("openbrain_mcp_counted", default=None)
"""Tokens that the current request has taken from its key's rate limit, as a list of one number. The first call of the
API removes the number, and costs that much less."""
_CONNECTION_HEADERS = frozenset({b"connection", b"user-agent"})


class InProcessWire(Wire):
    """Sends the requests of one key to an API in this process. Requests are not retried."""

    def __init__(self, api: ASGIApp, url: str, key: str, **options: Any) -> None:
        super().__init__(url, key, **options)
        self._api = api
        fields = ((name.lower(), value) for name, value in self._http.headers.raw)
        self._headers = [(name, value) for name, value in fields if name not in _CONNECTION_HEADERS]

    async def _exchange(
        self,
        method: str,
        path: str,
        content: bytes | None,
        params: Params,
        headers: Mapping[str, str],
        _well: tuple[int, ...],
        _repeat: bool,
    ) -> tuple[int, bytes, bool]:
        body = content or b""
        fields = [(name.encode("latin-1"), value.encode()) for name, value in headers.items()]
        exchange = _Exchange(body)
        counted = COUNTED.get()
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": str(httpx.QueryParams(params)).encode() if params else b"",
            "root_path": "",
            "headers": [*self._headers, *fields, (b"content-length", b"%d" % len(body))],
            "client": PEER.get(),
            "openbrain.counted": counted.pop() if counted else 0,
        }
        try:
            await self._api(scope, exchange.receive, exchange.send)
        finally:
            exchange.ended.set()
        if not exchange.status:
            raise ServerFailed("the API did not answer: look at its log, then try again")
        return exchange.status, b"".join(exchange.parts), False


class _Exchange:
    """One request and its answer, as an ASGI application receives and sends them."""

    def __init__(self, body: bytes) -> None:
        self._unread: bytes | None = body
        self.ended = asyncio.Event()
        self.status = 0
        self.parts: list[bytes] = []

    async def receive(self) -> Message:
        if self._unread is None:
            await self.ended.wait()
            return {"type": "http.disconnect"}
        body, self._unread = self._unread, None
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            return
        self.parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            self.ended.set()
