"""The schedule of ticks and the checks of vaults, from the settings."""

from openbrain.domain.memory import MICROSECONDS
from openbrain.runtime.container import Container
from openbrain.usecases.tick_schedule import TickSchedule
from openbrain.vault.pipeline import Patience
from openbrain_housekeeper.jobs.vault_checks import VaultCheck


def vault_check(container: Container) -> VaultCheck:
    """Of every workspace that has a vault."""
    tick = container.settings.tick
    patience = Patience(
        late=round(tick.tuning.late_s * MICROSECONDS), unheard=round(tick.tuning.unheard_s * MICROSECONDS)
    )
    return VaultCheck(container.store, container.clock, tuple(container.settings.vaults.folders), patience)


def tick_schedule(container: Container) -> TickSchedule:
    """Of every workspace that has a vault."""
    tick = container.settings.tick
    folders = tuple(container.settings.vaults.folders)
    return TickSchedule(container.store.ticks, container.clock, folders, tick.schedule, tick.tuning.extract_at)
