"""Wake-ups within one process."""

import asyncio


class LocalWake:
    """`openbrain.ports.streams.Wake` for services that share an event loop."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    async def notify(self) -> None:
        """Wake the waiting service."""
        self._event.set()

    async def wait(self, timeout: float) -> bool:
        """True once notified, also if that was before the call; False after `timeout` seconds."""
        try:
            async with asyncio.timeout(timeout):
                await self._event.wait()
        except TimeoutError:
            return False
        self._event.clear()
        return True
