"""The pipeline check of workspaces with a vault. Each finding is a signal, raised once and resolved when it ends."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from openbrain.domain.access.visibility import Viewer
from openbrain.domain.errors import Conflict, NotFound
from openbrain.domain.memory import MICROSECONDS
from openbrain.domain.signals.values import OPEN_STATES, UNHEARD_STATES, Raise, Severity, Signal, Step
from openbrain.observability.metrics import TICK_COMPLETED
from openbrain.ports.clock import Clock
from openbrain.ports.store.signals import RaiseStatus, SignalChange, SignalFilter
from openbrain.ports.store.store import Store
from openbrain.ports.store.vault import TickState
from openbrain.vault.pipeline import SOURCE, Finding, Patience, findings

ACTOR: Final = "housekeeper"
TICKS: Final = 50
MOST: Final = 1000
GRACE: Final = 900 * MICROSECONDS
"""Time after the start of the process during which nothing counts as late."""


@dataclass(slots=True)
class VaultCheck:
    """Checks all `workspaces`. `since`: when this process started, microseconds; None: the time of the first check,
    since the clock is right only after the database was asked."""

    store: Store
    clock: Clock
    workspaces: Collection[str]
    patience: Patience
    since: int | None = None

    async def round(self) -> int:
        """The number of signals raised or resolved."""
        if not self.workspaces:
            return 0
        created = {workspace.id: workspace.created_at for workspace in await self.store.workspaces.workspaces()}
        return sum(
            [await self._check(workspace, created[workspace]) for workspace in self.workspaces if workspace in created]
        )

    async def found(self, workspace_id: str, created_at: int) -> list[Finding]:
        ticks = [tick for tick in await self.store.ticks.ticks(workspace_id, TICKS) if not tick.job.dry_run]
        done = [
            tick.finished_at for tick in ticks if tick.state is TickState.COMPLETED and tick.finished_at is not None
        ]
        filter_ = SignalFilter(states=UNHEARD_STATES, min_severity=Severity.CRITICAL)
        grave = await self.store.signals.signals(_viewer(workspace_id), filter_, MOST)
        completed = TICK_COMPLETED.labels(workspace_id)
        if done:
            completed.set(max(done) / MICROSECONDS)
        # If there was no tick yet, nothing says since when the workspace has a vault.
        since = max(created_at, self._began())
        requested = [tick.requested_at for tick in ticks]
        return findings(self.clock.now(), since, requested, done, grave, self.patience)

    def _began(self) -> int:
        if self.since is None:
            self.since = self.clock.now()
        return self.since

    async def _check(self, workspace_id: str, created_at: int) -> int:
        current = await self.found(workspace_id, created_at)
        # A machine that slept first runs the ticks that it missed: nothing counts as late until they had time.
        young = self.clock.now() - self._began() < GRACE
        due = [item for item in current if item.check == "signal" or not young]
        outcomes = await self.store.signals.raise_signals([self._raise(workspace_id, item) for item in due])
        raised = sum(outcome.status is not RaiseStatus.DUPLICATE for outcome in outcomes)
        return raised + await self._resolve(workspace_id, {item.key for item in current})

    async def _resolve(self, workspace_id: str, keys: Collection[str]) -> int:
        filter_ = SignalFilter(states=OPEN_STATES, source=SOURCE)
        over = [
            signal
            for signal in await self.store.signals.signals(_viewer(workspace_id), filter_, MOST)
            if signal.dedup_key not in keys
        ]
        return sum([await self._end(item) for item in over])

    async def _end(self, signal: Signal) -> int:
        change = SignalChange(
            workspace_id=signal.workspace_id,
            step=Step.RESOLVED,
            viewer=_viewer(signal.workspace_id),
            actor=ACTOR,
            signal_id=signal.id,
            note="it runs again",
        )
        try:
            await self.store.signals.change_signal(change)
        except (NotFound, Conflict):
            return 0
        return 1

    def _raise(self, workspace_id: str, finding: Finding) -> Raise:
        return Raise(
            workspace_id=workspace_id,
            source=SOURCE,
            severity=Severity.WARNING,
            title=finding.title,
            content=f"{finding.title}. `openbrain doctor` and GET /health/pipeline say more.",
            actor=ACTOR,
            at=self.clock.now(),
            dedup_key=finding.key,
            key=f"{SOURCE}:{finding.key}",
        )


def _viewer(workspace_id: str) -> Viewer:
    return Viewer(workspace_id=workspace_id, agent_id="")
