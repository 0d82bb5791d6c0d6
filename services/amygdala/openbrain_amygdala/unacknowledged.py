"""Gauge of severe signals that nobody has acknowledged, counted when metrics are read."""

import asyncio
import time

from openbrain.domain.errors import OpenBrainError
from openbrain.observability.metrics import SIGNALS_UNACKNOWLEDGED
from openbrain.ports.store.signals import Signals

FRESH_S = 5.0
PATIENCE_S = 3.0
MOST = 1000
"""Maximum number of workspaces in the gauge."""


class Unacknowledged:
    """The gauge per workspace. Every replica asks the database, so that none shows stale values from when it was the
    leader."""

    def __init__(self, signals: Signals) -> None:
        self._signals = signals
        self._lock = asyncio.Lock()
        self._at = float("-inf")
        self._shown: set[str] = set()

    async def measure(self) -> None:
        """Update the gauge, unless it was updated less than `FRESH_S` ago. If the query fails, keep the last values."""
        async with self._lock:
            if time.monotonic() - self._at < FRESH_S:
                return
            self._at = time.monotonic()
            try:
                async with asyncio.timeout(PATIENCE_S):
                    counts = await self._signals.unacknowledged(MOST)
            except (OpenBrainError, TimeoutError):
                return
        for workspace_id in self._shown - counts.keys():
            SIGNALS_UNACKNOWLEDGED.remove(workspace_id)
        for workspace_id, count in counts.items():
            SIGNALS_UNACKNOWLEDGED.labels(workspace_id).set(count)
        self._shown = set(counts)
