"""Back-pressure: whether there is room for what a write causes. A look once a second, not a count for each write."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import structlog

from openbrain.domain.errors import Backlogged, OpenBrainError
from openbrain.domain.tasks import cancel
from openbrain.observability import metrics
from openbrain.ports.store.outbox import Outbox

FRESH_S = 1.0
"""The age at which a measurement is taken again, beside the writes."""
STALE_S = 10.0
"""An older one is not believed: the write waits for the next."""
PATIENCE_S = 0.25
"""So long at most."""
SPARING = 20
"""A look that takes long is taken so much more seldom: it costs the database a twentieth at most."""
REMEMBERED_S = 60.0
"""Seconds for which a failed write counts, where none follows."""
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Memory:
    """Of the stream server, in bytes."""

    used: int
    limit: int
    """The stream server's own limit, or the one that the settings put in its place."""


Ask = Callable[[], Awaitable[Memory]]
"""An `OpenBrainError` while it does not answer."""


class Pressure:
    """Refuses writes while too much waits behind them. Reading never asks here.

    outbox_limit: events that may wait to be published. memory_share: of the stream server's memory, 0..1.
    memory: None where nobody looks at the stream server. disk: why a disk of
    embedded parts has no room, or ''.
    """

    def __init__(
        self,
        backlog: Outbox,
        memory: Ask | None,
        *,
        outbox_limit: int,
        memory_share: float,
        disk: Callable[[], str] | None = None,
        close: Callable[[], Awaitable[None]] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._backlog, self._memory, self._clock, self._close = backlog, memory, clock, close
        self._outbox_limit, self._memory_share, self._disk = outbox_limit, memory_share, disk
        self._failed: tuple[float, str] | None = None
        """The time and the reason of the last failed write, with none that succeeded since."""
        self._answers: bool | None = None
        """Whether the stream server did at the last look."""
        self._full: dict[str, str] = {}
        """Full parts, with their measured values."""
        self._again_at = self._believed_until = float("-inf")
        self._looking: asyncio.Task[None] | None = None

    async def admit(self) -> None:
        """`Backlogged` while a write has to wait."""
        await self._look()
        for why in self._full.values():
            raise Backlogged(why)

    async def admit_events(self) -> None:
        """Admit what takes its input from the streams: the stream server's memory does not count, for reading
        on is what empties it."""
        await self._look()
        if why := self._full.get("disk") or self._full.get("outbox"):
            raise Backlogged(why)

    async def refusal(self) -> str | None:
        """The reason why writes are refused now; None while they are taken."""
        await self._look()
        return "; ".join(self._full.values()) or self._last_failure()

    def streams_answer(self) -> bool | None:
        """Whether the stream server answered at the last look; None where nobody looks."""
        return self._answers

    def failed(self, why: str) -> None:
        """A write was let in, and what it needs refused it: said until one succeeds, for nothing else may notice."""
        self._failed = (self._clock(), why)

    def succeeded(self) -> None:
        self._failed = None

    def _last_failure(self) -> str | None:
        if self._failed is None or self._clock() - self._failed[0] > REMEMBERED_S:
            return None
        return f"the last write failed: {self._failed[1]}"

    async def close(self) -> None:
        """End a look that is under way, and close what was opened for it."""
        await cancel(self._looking)
        if self._close is not None:
            await self._close()

    async def _look(self) -> None:
        now = self._clock()
        if now < self._again_at:
            return
        if self._looking is None:
            self._looking = asyncio.create_task(self._measure())
        if now >= self._believed_until:
            await asyncio.wait([self._looking], timeout=PATIENCE_S)

    async def _measure(self) -> None:
        started = self._clock()
        try:
            outbox, memory = await asyncio.gather(self._outbox(), self._streams())
        finally:
            ended = self._clock()
            self._again_at = ended + max(FRESH_S, SPARING * (ended - started))
            self._believed_until = self._again_at + STALE_S
            self._looking = None
        disk = "" if self._disk is None else self._disk()
        reasons = (("disk", disk), ("outbox", outbox), ("streams", memory))
        self._tell({name: why for name, why in reasons if why})

    async def _outbox(self) -> str:
        try:
            waiting = await self._backlog.waiting(self._outbox_limit)
        except OpenBrainError:
            return self._full.get("outbox", "")  # without the truth nothing is written anyway
        metrics.OUTBOX_WAITING.set(waiting)
        if waiting < self._outbox_limit:
            return ""
        return f"{self._outbox_limit} events or more wait to be published, which is all that may"

    async def _streams(self) -> str:
        if self._memory is None:
            return ""
        try:
            memory = await self._memory()
        except OpenBrainError:
            self._answers = False
            return ""  # what it can't be given waits in the outbox, as far as that reaches
        self._answers = True
        share = memory.used / memory.limit
        metrics.STREAM_MEMORY_SHARE.set(share)
        if share < self._memory_share:
            return ""
        return f"the stream server uses {share:.0%} of its memory, and {self._memory_share:.0%} may be used"

    def _tell(self, full: dict[str, str]) -> None:
        for name in full.keys() - self._full.keys():
            _log.error("backlog.full", what=name, message=full[name])
        for name in self._full.keys() - full.keys():
            _log.info("backlog.room_again", what=name)
        self._full = full
        metrics.BACKLOG_FULL.set(bool(full))
