"""The slots of the tick schedule: each is requested once, and the last one also if it was missed."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

import structlog
from cronsim import CronSim, CronSimError

from openbrain.domain.errors import Invalid, NotFound
from openbrain.domain.ids import uuid7
from openbrain.domain.memory import MICROSECONDS
from openbrain.domain.times import from_datetime, to_datetime
from openbrain.ports.clock import Clock
from openbrain.ports.store.vault import Tick, TickJob, Ticks, TickState

LOOK_BACK = 100
IDLE_S = 60
"""A requested tick without activity for this long is announced again."""
ROUND = 100
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_log = structlog.get_logger(__name__)


def last_slot(schedule: str, now_us: int) -> datetime | None:
    """Return the last scheduled minute up to now; None if there is none."""
    behind = to_datetime(now_us).replace(second=0, microsecond=0) + timedelta(minutes=1)
    return next(CronSim(schedule, behind, reverse=True), None)


def refuse_schedule(field: str, schedule: str) -> None:
    """Raise `Invalid` if cron would reject the schedule or it never occurs."""
    try:
        if next(CronSim(schedule, _EPOCH), None) is not None:
            return
    except CronSimError:
        pass
    raise Invalid(field, "must be a cron expression of five fields that occurs at some time, as in `30 3 * * *`")


def extraction_is_due(ticks: Iterable[Tick], slot: datetime, extract_at: str) -> bool:
    """True if no extraction was requested since the last `extract_at` (HH:MM) before the slot. Pending and running ones
    count, failed ones and dry runs do not."""
    hour, minute = map(int, extract_at.split(":"))
    since = slot.replace(hour=hour, minute=minute)
    since -= timedelta(days=since > slot)
    begins = from_datetime(since)
    return not any(
        tick.job.extract and not tick.job.dry_run and tick.state is not TickState.FAILED and tick.requested_at >= begins
        for tick in ticks
    )


class TickSchedule:
    """Requests the ticks of the workspaces that have a vault."""

    def __init__(self, ticks: Ticks, clock: Clock, workspaces: Sequence[str], schedule: str, extract_at: str) -> None:
        self._ticks, self._clock = ticks, clock
        self._workspaces, self._schedule, self._extract_at = workspaces, schedule, extract_at
        self._asked: dict[str, datetime] = {}

    async def round(self) -> int:
        """Request due ticks, and announce lost ones again. Return how many of both."""
        now = self._clock.now()
        slot = last_slot(self._schedule, now) if self._schedule else None
        count = 0
        for workspace in self._workspaces if slot else ():
            if slot is not None and self._asked.get(workspace) != slot:
                count += await self._ask(workspace, slot, now)
                self._asked[workspace] = slot
        return count + await self._ticks.announce_ticks(now - IDLE_S * MICROSECONDS, ROUND)

    async def _ask(self, workspace: str, slot: datetime, now: int) -> bool:
        try:
            known = await self._ticks.ticks(workspace, LOOK_BACK)
            job = TickJob(
                id=uuid7(now),
                workspace_id=workspace,
                slot=f"cron:{slot:%Y-%m-%dT%H:%MZ}",
                actor="schedule",
                extract=extraction_is_due(known, slot, self._extract_at),
            )
            return (await self._ticks.request_tick(job)).job.id == job.id
        except NotFound:
            _log.warning("schedule.no_workspace", workspace=workspace)
            return False
