"""Listeners, saved for many at once."""

import asyncio
import contextlib

from openbrain.domain.errors import OpenBrainError
from openbrain.domain.signals.values import Subscriber
from openbrain.domain.tasks import cancel
from openbrain.ports.store.signals import Broadcasts


class Presence:
    """Keeps the latest of each agent, and writes what has gathered: a fleet that comes back costs a few transactions.

    Losing some to a crash costs nothing: whoever listens says so again with the next heartbeat.
    """

    def __init__(self, broadcasts: Broadcasts, every_s: float = 0.5) -> None:
        self._broadcasts = broadcasts
        self._every_s = every_s
        self._seen: dict[tuple[str, str], Subscriber] = {}
        self._writing: asyncio.Task[None] | None = None

    def note(self, subscriber: Subscriber) -> None:
        """Note a subscriber that is present."""
        self._seen[subscriber.workspace_id, subscriber.agent_id] = subscriber
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write())

    async def close(self) -> None:
        """Write what is left."""
        await cancel(self._writing)
        await self.flush()

    async def _write(self) -> None:
        while self._seen:
            await asyncio.sleep(self._every_s)
            await self.flush()

    async def flush(self) -> None:
        """Write what has gathered."""
        seen, self._seen = self._seen, {}
        if not seen:
            return
        with contextlib.suppress(OpenBrainError):
            await self._broadcasts.record_presence(list(seen.values()))
