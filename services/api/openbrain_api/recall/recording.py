"""Records answered recalls in the database in the background: an answer never waits for its record."""

import asyncio
from collections import deque
from contextlib import suppress

import structlog

from openbrain.domain.errors import TryLater
from openbrain.observability import metrics
from openbrain.ports.store.memories import Memories, RecallRecord
from openbrain.ports.streams import Wake

BATCH = 200
PATIENCE_S = 2.0
KEPT = 10_000
"""Most waiting records; beyond that the oldest are dropped and counted."""
_log = structlog.get_logger(__name__)


class Recorder:
    """Writes records in batches."""

    def __init__(self, memories: Memories, wake: Wake, *, pause_s: float = 0.25) -> None:
        self._memories = memories
        self._wake = wake
        self._pause_s = pause_s
        self._waiting: deque[RecallRecord] = deque()
        self._added = self._under_way = 0
        """Numbers of all records so far, and of those that are being written."""
        self._progress = asyncio.Event()
        """Set, and replaced, when a batch was written."""
        self._work: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()

    def add(self, record: RecallRecord) -> None:
        """Queue a record, without waiting."""
        if len(self._waiting) >= KEPT:
            self._waiting.popleft()
            metrics.RECALLS_UNRECORDED.inc()
        self._waiting.append(record)
        self._added += 1
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._write(), name="recalls")

    async def written(self) -> None:
        """Wait until the records queued so far are in the database. Raise `TryLater` if that takes more than
        `PATIENCE_S`."""
        added = self._added
        try:
            async with asyncio.timeout(PATIENCE_S):
                while self._added - len(self._waiting) - self._under_way < added:
                    await self._progress.wait()
        except TimeoutError:
            raise TryLater("recalls can't be recorded right now: give the feedback later") from None

    async def close(self) -> None:
        """Write the queued records, once; drop them if the database fails."""
        self._closing.set()
        if self._work is not None:
            await self._work

    async def _write(self) -> None:
        while self._waiting:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), self._pause_s)
            batch = [self._waiting.popleft() for _ in range(min(BATCH, len(self._waiting)))]
            self._under_way = len(batch)
            try:
                await self._memories.record_recalls(batch)
                await self._wake.notify()
            except Exception as error:  # noqa: BLE001 - a failed record must not stop the app or later records
                if self._closing.is_set():
                    metrics.RECALLS_UNRECORDED.inc(len(batch) + len(self._waiting))
                    return
                _log.warning("api.recalls_not_recorded", error=type(error).__name__, waiting=len(batch))
                self._waiting.extendleft(reversed(batch))
                self._under_way = 0
                await asyncio.sleep(self._pause_s * 4)
            else:
                self._under_way = 0
                self._progress.set()
                self._progress = asyncio.Event()
