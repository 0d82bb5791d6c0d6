"""Back-pressure: whether writes can be accepted. Measured once a second, not on each write."""

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
"""Measure again after this time, concurrently with writes."""
STALE_S = 10.0
"""An older measurement is not trusted: a write waits for the next."""
PATIENCE_S = 0.25
"""Maximum wait of a write for a measurement."""
SPARING = 20
"""Pause after a measurement, relative to its duration: measuring takes at most a twentieth of the database's time."""
REMEMBERED_S = 60.0
"""How long a failed write is reported if no other write follows."""
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory of the stream server, in bytes."""

    used: int
    limit: int
    """The stream server's own limit, or the setting that overrides it."""


Ask = Callable[[], Awaitable[Memory]]
"""Raises `OpenBrainError` if the server does not respond."""


class Pressure:
    """Refuses writes while too much work is queued behind them. Reads are not affected.

    outbox_limit: unpublished events allowed. memory_share: allowed share of the stream server's memory, 0..1. memory:
    None if the stream server is not monitored. disk: returns why a disk used by embedded parts is full, or ''.
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
        """Time and reason of the last failed write, if none succeeded since."""
        self._answers: bool | None = None
        """True if the stream server responded to the last measurement."""
        self._full: dict[str, str] = {}
        """The reasons for refusal, by resource."""
        self._again_at = self._believed_until = float("-inf")
        self._looking: asyncio.Task[None] | None = None

    async def admit(self) -> None:
        """Raise `Backlogged` if a write has to wait."""
        await self._look()
        for why in self._full.values():
            raise Backlogged(why)

    async def admit_events(self) -> None:
        """Like `admit`, for consumers of streams: the stream server's memory does not count, because consuming frees
        it."""
        await self._look()
        if why := self._full.get("disk") or self._full.get("outbox"):
            raise Backlogged(why)

    async def refusal(self) -> str | None:
        """Why writes are refused now; None if they are accepted."""
        await self._look()
        return "; ".join(self._full.values()) or self._last_failure()

    def streams_answer(self) -> bool | None:
        """True if the stream server responded to the last measurement; None if it is not monitored."""
        return self._answers

    def failed(self, why: str) -> None:
        """Record that an admitted write failed in a dependency. Reported until a write succeeds, because nothing else
        may notice."""
        self._failed = (self._clock(), why)

    def succeeded(self) -> None:
        self._failed = None

    def _last_failure(self) -> str | None:
        if self._failed is None or self._clock() - self._failed[0] > REMEMBERED_S:
            return None
        return f"the last write failed: {self._failed[1]}"

    async def close(self) -> None:
        """Cancel a running measurement and close its resources."""
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
            return self._full.get("outbox", "")  # without the database no write succeeds anyway
        metrics.OUTBOX_WAITING.set(waiting)
        if waiting < self._outbox_limit:
            return ""
        return f"{self._outbox_limit} events or more wait to be published, which is the limit"

    async def _streams(self) -> str:
        if self._memory is None:
            return ""
        try:
            memory = await self._memory()
        except OpenBrainError:
            self._answers = False
            return ""  # events it can't take wait in the outbox, up to its limit
        self._answers = True
        share = memory.used / memory.limit
        metrics.STREAM_MEMORY_SHARE.set(share)
        if share < self._memory_share:
            return ""
        return f"the stream server uses {share:.0%} of its memory; the limit is {self._memory_share:.0%}"

    def _tell(self, full: dict[str, str]) -> None:
        for name in full.keys() - self._full.keys():
            _log.error("backlog.full", what=name, message=full[name])
        for name in self._full.keys() - full.keys():
            _log.info("backlog.room_again", what=name)
        self._full = full
        metrics.BACKLOG_FULL.set(bool(full))
