"""A hint that there is something to do: losing one costs a poll, never a memory."""

from typing import Protocol


class Wake(Protocol):
    """Between the process that commits and the relay that publishes."""

    async def notify(self) -> None:
        """Wake whoever waits. Never raises and never waits long: it is a hint."""

    async def wait(self, timeout: float) -> bool:
        """Return True once notified (at once if notified since the last wait), False after `timeout` seconds."""
