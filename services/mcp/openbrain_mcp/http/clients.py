"""In-process API clients for the callers of tools: one for each recently used key."""

from functools import partial

import httpx
from starlette.requests import Request
from starlette.types import ASGIApp

from openbrain.client import OpenBrain
from openbrain.domain.caches import Lru
from openbrain_mcp.http.in_process import InProcessWire

CLIENTS = 256


class Callers:
    """LRU cache of clients by authorization header."""

    def __init__(self, api: ASGIApp) -> None:
        self._wire, self._transport = partial(InProcessWire, api), httpx.ASGITransport(api)
        self._clients: Lru[str, OpenBrain] = Lru(CLIENTS)

    async def client(self, request: Request) -> OpenBrain:
        """Return the client for the request's key."""
        authorization = request.headers.get("authorization", "")
        client = self._clients.recent(authorization)
        if client is None:
            client = OpenBrain(
                "http://127.0.0.1",
                _key(authorization),
                breaker_failures=0,
                transport=self._transport,
                wire=self._wire,
            )
            self._clients[authorization] = client
        return client

    def forget(self, authorization: str) -> None:
        """Forget a refused key."""
        self._clients.pop(authorization, None)


def bearer(authorization: str) -> str:
    """The header with the scheme that the API expects, whatever scheme was sent."""
    key = _key(authorization)
    return f"Bearer {key}" if key else ""


def _key(authorization: str) -> str:
    return authorization.partition(" ")[2].strip()
