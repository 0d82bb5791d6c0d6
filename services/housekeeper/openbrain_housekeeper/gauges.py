"""Gauges of the housekeeper, updated when metrics are read."""

import asyncio

from openbrain.domain.errors import OpenBrainError
from openbrain.domain.memory import MICROSECONDS
from openbrain.observability.metrics import OUTBOX_OLDEST_SECONDS, STREAM_DEAD_LETTERS_FILLED
from openbrain.ports.clock import Clock
from openbrain.ports.store.outbox import Outbox

PATIENCE_S = 3.0


async def measure(outbox: Outbox, clock: Clock, *, leading: bool) -> None:
    """Update the gauges. Every replica measures the outbox, so that its age is known also while none leads."""
    if not leading:
        STREAM_DEAD_LETTERS_FILLED.clear()  # the leader measures it; a former one must show no old value
    try:
        async with asyncio.timeout(PATIENCE_S):
            oldest = await outbox.unpublished_since()
    except (OpenBrainError, TimeoutError):
        return  # keep the last value
    OUTBOX_OLDEST_SECONDS.set(0 if oldest is None else max(0, clock.now() - oldest) / MICROSECONDS)
