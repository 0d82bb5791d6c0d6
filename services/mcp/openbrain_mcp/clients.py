"""API clients of the callers of tools: one for each key that was seen lately, asked in process."""

from contextvars import ContextVar

import httpx
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from openbrain.client import OpenBrain
from openbrain.domain.caches import Lru

CLIENTS = 256
PEER: ContextVar[tuple[str, int] | None] = ContextVar("openbrain_mcp_peer", default=None)
"""Who sent the request at hand: the API counts wrong keys by address."""


class Callers:
    """A client for each key that was seen lately."""

    def __init__(self, api: ASGIApp) -> None:
        self._api = _asked_by_peer(api)
        self._clients: Lru[str, OpenBrain] = Lru(CLIENTS)

    async def of(self, request: Request) -> OpenBrain:
        """The client of whoever sent the request."""
        return self.client(request.headers.get("authorization", ""))

    def client(self, authorization: str) -> OpenBrain:
        """The client of the header's bearer key."""
        found = self._clients.recent(authorization)
        if found is None:
            key = authorization.partition(" ")[2].strip()
            found = OpenBrain(
                "http://127.0.0.1", key, transport=httpx.ASGITransport(self._api), attempts=1, breaker_failures=0
            )
            self._clients[authorization] = found
        return found

    def forget(self, authorization: str) -> None:
        """That key opens nothing."""
        self._clients.pop(authorization, None)


def _asked_by_peer(api: ASGIApp) -> ASGIApp:
    async def asked(scope: Scope, receive: Receive, send: Send) -> None:
        await api({**scope, "client": PEER.get()}, receive, send)

    return asked
