"""API clients of the callers of tools: one for each key that was seen lately, asked in process."""

from functools import partial

import httpx
from starlette.requests import Request
from starlette.types import ASGIApp

from openbrain.client import OpenBrain
from openbrain.domain.caches import Lru
from openbrain_mcp.http.in_process import InProcessWire

CLIENTS = 256


class Callers:
    """A client for each key that was seen lately."""

    def __init__(self, api: ASGIApp) -> None:
        self._wire, self._transport = partial(InProcessWire, api), httpx.ASGITransport(api)
        self._clients: Lru[str, OpenBrain] = Lru(CLIENTS)

    async def client(self, request: Request) -> OpenBrain:
        """The client with the key of the request."""
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
        """Forget a key that opens nothing."""
        self._clients.pop(authorization, None)


def bearer(authorization: str) -> str:
    """The header as the API takes it, whatever the scheme was."""
    key = _key(authorization)
    return f"Bearer {key}" if key else ""


def _key(authorization: str) -> str:
    return authorization.partition(" ")[2].strip()
