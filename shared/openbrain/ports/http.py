"""HTTP to other servers: webhooks are posted, and addresses that vault pages name are probed."""

from typing import Protocol


class Address(Protocol):
    """The URL to post to, and the secret that signs the bodies."""

    @property
    def id(self) -> str: ...

    @property
    def url(self) -> str: ...

    @property
    def secret(self) -> str: ...


class Poster(Protocol):
    async def post(self, webhook: Address, seq: int, body: bytes) -> None:
        """Post a body. Raise `TryLater` if the receiver did not accept it and may later, `NeverRetry` if our own rules
        refuse the address. The message gives the reason without body, secret or response."""


class Prober(Protocol):
    """Probes addresses from the settings, never from a page."""

    async def check(self, address: str) -> bool:
        """True if the address responds: `http(s)://…` with 2xx, `tcp://host:port` accepts a connection, `file:///…`
        exists. False if it does not respond in time."""

    async def close(self) -> None: ...
