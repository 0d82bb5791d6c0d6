"""API clients for the callers of tools: one per recently used key, calling the API in process."""

from functools import partial

import httpx
from starlette.requests import Request
from starlette.types import ASGIApp

from openbrain.client import OpenBrain
from openbrain.domain.caches import Lru
from openbrain_mcp.http.in_process import InProcessWire

CLIENTS = 256


class Callers:
    """One client per recently used key."""

    def __init__(self, api: ASGIApp) -> None:
        self._wire, self._transport = partial(InProcessWire, api), httpx.ASGITransport(api)
        self._clients: Lru[str, OpenBrain] = Lru(CLIENTS)

    async def client(self, request: Request) -> OpenBrain:
        """The client for the key of the request."""
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
        """Drop the client of a key that was refused."""
        self._clients.pop(authorization, None)


def bearer(authorization: str) -> str:
    """The authorization header in the form that the API expects, whatever its scheme was; '' without a key."""
    key = _key(authorization)
    return f"Bearer {key}" if key else ""


def _key(authorization: str) -> str:
    return authorization.partition(" ")[2].strip()
