"""`ports.webhooks.Poster` over HTTP, to checked addresses only.

A name is resolved once and all its addresses are checked. The connection then uses such an address directly. The name
is not resolved again, so a name that changes after the check can't redirect the request. TLS still verifies the name.
Redirects and proxies are not followed.
"""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from urllib.parse import SplitResult

import httpx

from openbrain.domain.errors import NeverRetry, TryLater
from openbrain.domain.memory import MICROSECONDS
from openbrain.domain.signals.webhook_rules import checked_url, is_public, named, signature
from openbrain.ports.clock import Clock
from openbrain.ports.http import Address
from openbrain.settings.webhooks import Webhooks

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""(host, port) -> its IP addresses; raises `OSError` if it has none."""
_PORTS = {"https": 443, "http": 80}


async def system_resolve(host: str, port: int) -> Sequence[str]:
    """Resolve a name with the system's resolver."""
    addresses = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in addresses]


class HttpPoster:
    """Connects on the first post."""

    def __init__(
        self,
        settings: Webhooks,
        clock: Clock,
        resolve: Resolve = system_resolve,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        """`trust`: the trusted certificates; None for the system's."""
        self._settings, self._clock, self._resolve, self._trust = settings, clock, resolve, trust
        self._client: httpx.AsyncClient | None = None

    async def post(self, webhook: Address, seq: int, body: bytes) -> None:
        parts = checked_url(webhook.url, self._settings.hosts, self._settings.private_hosts)
        try:
            async with asyncio.timeout(self._settings.tuning.timeout_s):
                addresses = await self._addresses(parts)
                status = await self._send([self._request(webhook, seq, body, parts, address) for address in addresses])
        except TimeoutError:
            raise TryLater(f"the webhook did not answer within {self._settings.tuning.timeout_s:g} s") from None
        except httpx.HTTPError as error:
            raise TryLater(f"the webhook could not be reached ({type(error).__name__})") from None
        if not 200 <= status < 300:
            raise TryLater(f"the webhook answered {status}")

    async def close(self) -> None:
        """Close its connections."""
        if self._client is not None:
            await self._client.aclose()

    async def _addresses(self, parts: SplitResult) -> Sequence[str]:
        """Resolve a host to its addresses. Raise `NeverRetry` if one of them must not be connected to."""
        host = parts.hostname or ""
        try:
            addresses = await self._resolve(host, parts.port or _PORTS[parts.scheme])
        except (OSError, UnicodeError):  # the latter for a label that is empty or too long
            addresses = ()
        if not addresses:
            raise TryLater("the webhook's host has no address now")
        if not named(host, self._settings.private_hosts) and not all(is_public(address) for address in addresses):
            raise NeverRetry(
                "the webhook's host has a private address: an operator may allow it (OPENBRAIN_WEBHOOKS__PRIVATE_HOSTS)"
            )
        return addresses

    def _request(self, webhook: Address, seq: int, body: bytes, parts: SplitResult, address: str) -> httpx.Request:
        message, seconds = f"{webhook.id}-{seq}", self._clock.now() // MICROSECONDS
        headers = {
            "Host": parts.netloc,
            "Content-Type": "application/cloudevents+json",
            "User-Agent": "openbrain",
            "webhook-id": message,
            "webhook-timestamp": str(seconds),
            "webhook-signature": signature(webhook.secret, message, seconds, body),
        }
        url = httpx.URL(
            scheme=parts.scheme,
            host=address,
            port=parts.port,
            raw_path=(parts.path or "/").encode() + (b"?" + parts.query.encode() if parts.query else b""),
        )
        return httpx.Request("POST", url, headers=headers, content=body, extensions={"sni_hostname": parts.hostname})

    async def _send(self, requests: Sequence[httpx.Request]) -> int:
        """Send to the first reachable address and return its status; the body is not read."""
        if self._client is None:
            # Keep no connection: reusing one to an earlier address would bypass the check.
            limits = httpx.Limits(max_keepalive_connections=0)
            trust = self._trust or True
            self._client = httpx.AsyncClient(verify=trust, trust_env=False, follow_redirects=False, limits=limits)
        *others, last = requests
        for request in others:
            # An address that does not answer must leave time for the others.
            request.extensions["timeout"] = {"connect": self._settings.tuning.timeout_s / (len(requests) + 1)}
            with contextlib.suppress(httpx.ConnectError, httpx.ConnectTimeout):
                return await self._status(self._client, request)
        return await self._status(self._client, last)

    async def _status(self, client: httpx.AsyncClient, request: httpx.Request) -> int:
        response = await client.send(request, stream=True)
        await response.aclose()
        return response.status_code
