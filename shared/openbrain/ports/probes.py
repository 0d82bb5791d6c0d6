"""Whether something that an operator declared holds now: an address answers, a file is there."""

from typing import Protocol


class Prober(Protocol):
    """Asks addresses of the settings, never of a page."""

    async def holds(self, address: str) -> bool:
        """`http(s)://…`: answers with 2xx; `tcp://host:port`: can be connected to; `file:///…`: there is such a file.
        False for whatever does not answer in time."""

    async def close(self) -> None:
        """Release connections."""
