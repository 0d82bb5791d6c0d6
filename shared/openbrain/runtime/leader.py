"""Periodic background jobs, run by one process at a time.

Every replica tries to get the lease. Its holder runs the jobs until it fails to renew the lease in time.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

import structlog

from openbrain.domain.errors import OpenBrainError
from openbrain.domain.tasks import Backoff
from openbrain.ports.store.operations import Leases
from openbrain.ports.streams import Wake
from openbrain.streams.handling.runtime import consumer_name
from openbrain.streams.monitoring.endpoints import failing
from openbrain.streams.redis.outage import Link, absence

LONGEST_PAUSE_S = 5.0
STUCK_AFTER_S = 60.0
LONG_ROUND_S = 600.0
"""`PeriodicJob.round_s` if the length depends on servers, or on how much there is: as long as a batch may take."""
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class PeriodicJob:
    """One round of work, and the wait before the next. `round` returns how much it did, for the log of unusual work."""

    name: str
    round: Callable[[], Awaitable[int]]
    wait: Callable[[int], Awaitable[object]]
    """Called with the return value of the round."""
    pause_s: float = 0.0
    """The longest wait, during which the job is not considered stuck."""
    round_s: float = STUCK_AFTER_S
    """A round that takes longer is considered stuck: /live fails, and the process is restarted."""

    @classmethod
    def every(
        cls,
        seconds: float,
        name: str,
        round_: Callable[[], Awaitable[int]],
        *,
        full: int | None = None,
        round_s: float = STUCK_AFTER_S,
    ) -> "PeriodicJob":
        """Pause after each round, except after one that did `full` work, because more is waiting."""
        return cls(name, round_, lambda done: asyncio.sleep(0 if full and done >= full else seconds), seconds, round_s)


def notifying(wake: Wake, round_: Callable[[], Awaitable[int]]) -> Callable[[], Awaitable[int]]:
    """Wrap a round to wake the relay if it did something, because its events are in the outbox."""

    async def woken() -> int:
        done = await round_()
        if done:
            await wake.notify()
        return done

    return woken


class Leader:
    """Holds the lease, runs its duties, and reports its health (see `streams.health.Watched`)."""

    paused = False

    def __init__(
        self,
        name: str,
        leases: Leases,
        duties: Sequence[PeriodicJob],
        *,
        lease_s: float,
        checks: Mapping[str, Callable[[], Awaitable[object]]],
        close: Callable[[], Awaitable[None]] | None = None,
        measure: Callable[[], Awaitable[None]] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`name`: of the lease, and in health reports. `measure`: updates gauges, also in processes that do not
        lead."""
        self.group = name
        self._leases, self._duties, self._lease_s = leases, duties, lease_s
        self._checks, self._close, self._measure, self._clock = checks, close, measure, clock
        self._holder = consumer_name()
        self._task: asyncio.Task[None] | None = None
        self._stopping = False
        """Needed because Python 3.11 can lose a cancellation that coincides with the end of an inner wait."""
        self._leads_until = 0.0
        self._last_seen: dict[str, float] = {}
        self._truth_down = ""
        self._failing: dict[str, str] = {}
        """Duties whose last round failed, with the error message."""

    @property
    def leading(self) -> bool:
        """True if the lease is ours. Measured from before it was requested, so that it never outlasts the database's
        view."""
        return self._clock() < self._leads_until

    async def start(self) -> None:
        """Start trying to get the lease; also after a stop."""
        self._stopping = False
        self._task = asyncio.create_task(self._run(), name=f"{self.group} lease")

    async def stop(self) -> None:
        """Stop the duties, release the lease, and close resources."""
        self._stopping = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        with contextlib.suppress(OpenBrainError):
            await self._leases.release(self.group, self._holder)
        self._leads_until = 0.0
        if self._close is not None:
            await self._close()

    def stuck(self) -> list[str]:
        """The jobs whose round takes too long, and the loop that renews the lease if it has ended or hangs."""
        if self._task is None:
            return []
        if self._task.done():
            return [f"{self.group} ended"]
        now = self._clock()
        allowed = {duty.name: duty.round_s + duty.pause_s for duty in self._duties}
        return [name for name, seen in self._last_seen.items() if seen + allowed.get(name, STUCK_AFTER_S) < now]

    async def unready(self) -> dict[str, str]:
        """Unavailable dependencies by name, with the reason. A replica that waits for the lease is ready."""
        return await failing(self._checks)

    async def measure(self) -> None:
        """Update gauges that are computed on demand."""
        if self._measure is not None:
            await self._measure()

    async def _run(self) -> None:
        while not self._stopping:
            self._last_seen = {"lease": self._clock()}
            if await self._acquire():
                await self._lead()
            await asyncio.sleep(self._lease_s / 3)

    async def _acquire(self) -> bool:
        sent_at = self._clock()
        try:
            ours = await self._leases.acquire(self.group, self._holder, self._lease_s)
        except Exception as error:  # noqa: BLE001 - whatever a database says while it is restored, the loop outlives it
            if (words := _words(error)) != self._truth_down:
                _log.warning("leader.truth_down", lease=self.group, message=words)
            self._truth_down = words
            return False
        self._truth_down = ""
        if ours:
            self._leads_until = sent_at + self._lease_s
        return ours

    async def _lead(self) -> None:
        """Run the duties until another process has the lease. If the lease lapsed because this process was suspended,
        but was acquired again, continue."""
        _log.info("leader.leads", lease=self.group, holder=self._holder)
        over = asyncio.Event()
        self._failing.clear()
        tasks = [asyncio.create_task(self._repeat(duty, over), name=duty.name) for duty in self._duties]
        try:
            while self.leading and not self._stopping:
                await asyncio.sleep(self._lease_s / 3)
                self._last_seen["lease"] = self._clock()
                await self._acquire()
        finally:
            over.set()  # cancellations of the tasks can be lost too
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            _log.info("leader.leads_no_more", lease=self.group, holder=self._holder)

    async def _repeat(self, duty: PeriodicJob, over: asyncio.Event) -> None:
        backoff, link = Backoff(0.1, LONGEST_PAUSE_S), Link(f"{self.group} {duty.name}")
        while not over.is_set():
            self._last_seen[duty.name] = self._clock()
            if not self.leading:
                await asyncio.sleep(0.05)
                continue
            try:
                done = await duty.round()
                backoff.reset()
                link.answered()
                self._failing.pop(duty.name, None)
                if not over.is_set():  # a round that lost its cancellation must not start a long pause
                    await duty.wait(done)
            except Exception as error:  # noqa: BLE001 - one duty's trouble must end neither it nor the others
                if (away := absence(error)) is not None:
                    link.failed(away)
                else:
                    self._tell(duty.name, _words(error))
                await asyncio.sleep(backoff.next())

    def _tell(self, duty: str, words: str) -> None:
        """Log an error once until it is resolved, because several duties usually have the same one."""
        if words not in self._failing.values():
            _log.warning("leader.duty_failed", lease=self.group, duty=duty, message=words)
        self._failing[duty] = words


def _words(error: Exception) -> str:
    """Our own message; foreign messages may contain content."""
    return str(error) if isinstance(error, OpenBrainError) else type(error).__name__
