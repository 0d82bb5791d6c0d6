"""Presence of listeners, written in batches."""

import asyncio
import contextlib

from openbrain.domain.errors import OpenBrainError
from openbrain.domain.signals.values import Subscriber
from openbrain.domain.tasks import cancel
from openbrain.ports.store.signals import Broadcasts

EVERY_S = 0.5


class Presence:
    """Keeps the latest presence of each agent and writes them in batches: a fleet that reconnects costs a few
    transactions.

    A crash may lose some: each listener is noted again with its next heartbeat.
    """

    def __init__(self, broadcasts: Broadcasts) -> None:
        self._broadcasts = broadcasts
        self._seen: dict[tuple[str, str], Subscriber] = {}
        self._writing: asyncio.Task[None] | None = None

    def note(self, subscriber: Subscriber) -> None:
        """Note a subscriber that is present."""
        self._seen[subscriber.workspace_id, subscriber.agent_id] = subscriber
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write())

    async def close(self) -> None:
        """Stop the task and write what is left."""
        await cancel(self._writing)
        await self.flush()

    async def _write(self) -> None:
        while self._seen:
            await asyncio.sleep(EVERY_S)
            await self.flush()

    async def flush(self) -> None:
        """Write what is waiting."""
        seen, self._seen = self._seen, {}
        if not seen:
            return
        with contextlib.suppress(OpenBrainError):
            await self._broadcasts.record_presence(list(seen.values()))
