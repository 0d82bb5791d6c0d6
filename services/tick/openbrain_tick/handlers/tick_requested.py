"""Handles each request for a tick once: the tick's row records who works on it and its result."""

import asyncio
import contextlib
import traceback
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import structlog

from openbrain.domain.errors import OpenBrainError, TryLater
from openbrain.domain.events.data import TickRequested
from openbrain.domain.events.envelope import CloudEvent
from openbrain.domain.memory import MICROSECONDS
from openbrain.domain.tasks import cancel
from openbrain.observability.metrics import TICK_SECONDS, TICKS
from openbrain.ports.clock import Clock
from openbrain.ports.store.vault import TickJob, Ticks

HOLD_S = 45.0
"""Shorter than the lease of a stream entry: when a dead process's entry is redelivered, its hold has already ended.
`openbrain up` ends both at its start."""
RETRY_FOR_S = 3600.0
"""How long temporary failures are retried. The pauses double, so there are at most seven tries."""
_NAMES = uuid.UUID("6f70656e-6272-6169-6e2e-7469636b0000")
_log = structlog.get_logger(__name__)

Work = Callable[[TickJob], Awaitable[dict[str, Any]]]
"""Runs one tick and returns its report."""


class Requested(Protocol):
    """A stream entry with a request for a tick."""

    @property
    def event(self) -> CloudEvent[TickRequested]: ...


async def handle_all(
    batch: Sequence[Requested], handle_one: Callable[[CloudEvent[TickRequested]], Awaitable[None]]
) -> list[Exception | None]:
    """Handle requests of different workspaces concurrently, those of one workspace in sequence."""
    locks: dict[str, asyncio.Lock] = {}

    async def one(delivery: Requested) -> Exception | None:
        async with locks.setdefault(delivery.event.data.workspace_id, asyncio.Lock()):
            try:
                await handle_one(delivery.event)
            except OpenBrainError as error:
                return error
            return None

    return list(await asyncio.gather(*(one(delivery) for delivery in batch)))


async def handle(
    event: CloudEvent[TickRequested], *, ticks: Ticks, clock: Clock, work: Work, holder: str, hold_s: float = HOLD_S
) -> None:
    """Run a tick, unless it has ended or another process has it. A failure is recorded; a temporary one postpones
    the tick for up to RETRY_FOR_S. The entry is delivered again only if the database fails."""
    job = (await ticks.request_tick(job_of(event), announce=False)).job
    held = await ticks.hold_tick(job.id, holder, hold_s)
    if held is None:
        return
    with TICK_SECONDS.time():
        async with _holding(ticks, job.id, holder, hold_s):
            report, failure = await _outcome(work, job)
    begun_s = (clock.now() - (held.started_at or held.requested_at)) / MICROSECONDS
    # A dry run is not postponed: whoever requested it waits for it.
    if isinstance(failure, TryLater) and not job.dry_run and begun_s < RETRY_FOR_S:
        outcome = "put_off"
        _log.info("tick.put_off", workspace=job.workspace_id, tick=job.id, message=str(failure))
        ours = await ticks.put_off_tick(job.id, holder, begun_s, str(failure))
    else:
        outcome = "failed" if failure else "dry_run" if job.dry_run else "completed"
        ours = await ticks.finish_tick(job.id, holder, report, _reason(failure, job) if failure else "")
    TICKS.labels(outcome=outcome).inc()
    if not ours:
        _log.warning("tick.lost", workspace=job.workspace_id, tick=job.id)


def job_of(event: CloudEvent[TickRequested]) -> TickJob:
    """The job of an event. Without a job id, the id is derived from the event's, so that it is the same at each
    delivery."""
    data = event.data
    return TickJob(
        id=data.job_id or str(uuid.uuid5(_NAMES, f"{event.source} {event.id}")),
        workspace_id=data.workspace_id,
        slot=None if data.dry_run else data.slot,
        actor="stream",
        extract=data.extract,
        ai=data.ai and data.reason,
        dry_run=data.dry_run,
    )


async def _outcome(work: Work, job: TickJob) -> tuple[dict[str, Any], Exception | None]:
    """The report, or the error."""
    try:
        return await work(job), None
    except Exception as error:  # noqa: BLE001 - otherwise the entry would be redelivered for ever
        return {}, error


def _reason(failure: Exception, job: TickJob) -> str:
    """Log the failure; the reason to store, without contents of pages."""
    if isinstance(failure, OpenBrainError):
        _log.warning("tick.failed", workspace=job.workspace_id, tick=job.id, message=str(failure))
        return str(failure) or type(failure).__name__
    last = traceback.extract_tb(failure.__traceback__)[-1]
    place, kind = f"{Path(last.filename).name}:{last.lineno}", type(failure).__name__
    _log.error("tick.broke", workspace=job.workspace_id, tick=job.id, error=kind, place=place)
    return f"internal error ({kind} at {place}): report it to the maintainers of OpenBrain"


@contextlib.asynccontextmanager
async def _holding(ticks: Ticks, tick_id: str, holder: str, hold_s: float) -> AsyncIterator[None]:
    """Renew the hold meanwhile. If it is lost the work continues: its writes are checked against hashes."""

    async def keep() -> None:
        while True:
            await asyncio.sleep(hold_s / 3)
            with contextlib.suppress(TryLater):
                await ticks.keep_tick(tick_id, holder, hold_s)

    keeping = asyncio.create_task(keep())
    try:
        yield
    finally:
        await cancel(keeping)
