"""Request the ticks that are due: called by the cron job of Kubernetes."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openbrain.settings import Settings


async def request_due_ticks(settings: "Settings") -> int:
    """Ask the database for the last slot of the schedule, once for each workspace with a vault, however often this
    runs and whoever else asks; how many ticks are on their way to the service now."""
    from openbrain.domain.errors import SetupError
    from openbrain.runtime.container import Container
    from openbrain.usecases.tick_schedule import TickSchedule

    if not settings.tick.schedule or not settings.vaults.folders:
        raise SetupError("no tick is ever due: set OPENBRAIN_TICK__SCHEDULE and OPENBRAIN_VAULTS__FOLDERS")
    async with Container(settings, shared=True) as container:
        schedule = TickSchedule(
            container.store.ticks,
            container.clock,
            tuple(settings.vaults.folders),
            settings.tick.schedule,
            settings.tick.tuning.extract_at,
        )
        return await schedule.round()
