"""Addresses elsewhere: webhooks are posted to, vaults' pages name some that are probed."""

from typing import Protocol


class Address(Protocol):
    """The address to post to, and the secret that bodies are signed with."""

    @property
    def id(self) -> str: ...

    @property
    def url(self) -> str: ...

    @property
    def secret(self) -> str: ...


class Poster(Protocol):
    async def post(self, webhook: Address, seq: int, body: bytes) -> None:
        """`TryLater` where it was not taken and may be later; `NeverRetry` where the address is refused by our own
        rules. The message says why and holds nothing of body, secret or answer."""


class Prober(Protocol):
    """Asks addresses of the settings, never of a page."""

    async def check(self, address: str) -> bool:
        """`http(s)://…`: answers with 2xx; `tcp://host:port`: can be connected to; `file:///…`: there is such a file.
        False for whatever does not answer in time."""

    async def close(self) -> None: ...
