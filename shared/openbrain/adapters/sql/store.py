"""The truth whole: every port on one database."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from sqlalchemy import URL

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.indexes.generations import SqlGenerations
from openbrain.adapters.sql.indexes.index_marks import SqlProjecting
from openbrain.adapters.sql.indexes.reconciling import SqlReconciling
from openbrain.adapters.sql.indexes.reindexing import SqlReindexing
from openbrain.adapters.sql.indexes.vectors import SqlVectors
from openbrain.adapters.sql.indexes.writers import SqlIndexWriters
from openbrain.adapters.sql.memories.reading import DEGRADED_SCAN, SqlReading
from openbrain.adapters.sql.memories.recalls import SqlRecalls
from openbrain.adapters.sql.memories.recent_rows import RecentRows, indexable
from openbrain.adapters.sql.outbox.relay import SqlOutbox
from openbrain.adapters.sql.signals.changing import SqlSignalChanges
from openbrain.adapters.sql.signals.listeners import SqlSubscribers
from openbrain.adapters.sql.signals.raising import SqlRaising
from openbrain.adapters.sql.signals.reading import SqlSignalReading
from openbrain.adapters.sql.signals.sweeping import SqlSignalSweeping
from openbrain.adapters.sql.signals.webhooks import SqlWebhooks
from openbrain.adapters.sql.tenants.access import SqlAccess
from openbrain.adapters.sql.tenants.closing import SqlClosing
from openbrain.adapters.sql.tenants.purging import SqlPurging
from openbrain.adapters.sql.tenants.transferring import SqlTransfer
from openbrain.adapters.sql.vault.memories import SqlVaultMemories
from openbrain.adapters.sql.vault.ticks import SqlTicks
from openbrain.adapters.sql.vault.writes import SqlVaultWrites
from openbrain.adapters.sql.work.groups import SqlGroups
from openbrain.adapters.sql.work.leases import SqlLeases
from openbrain.adapters.sql.work.operations import SqlOperations
from openbrain.adapters.sql.writes.erasing import SqlErasing
from openbrain.adapters.sql.writes.expiry import SqlUpkeep
from openbrain.adapters.sql.writes.writing import SqlWriting
from openbrain.domain.ids import is_uuid
from openbrain.domain.memory import Memory
from openbrain.domain.signals.rules import SignalTimes
from openbrain.ports.access import Workspace, WorkspaceChange
from openbrain.ports.clock import Clock, Follower
from openbrain.ports.store import Outcome, Status, Write
from openbrain.settings import Truth

EMBEDDED = "embedded"
FILE = "truth.sqlite3"


class SqlTruth(
    SqlWriting,
    SqlReading,
    SqlProjecting,
    SqlVectors,
    SqlOutbox,
    SqlLeases,
    SqlUpkeep,
    SqlGenerations,
    SqlIndexWriters,
    SqlAccess,
    SqlOperations,
    SqlErasing,
    SqlPurging,
    SqlClosing,
    SqlTransfer,
    SqlRecalls,
    SqlGroups,
    SqlReconciling,
    SqlReindexing,
    SqlRaising,
    SqlSignalChanges,
    SqlSignalReading,
    SqlSignalSweeping,
    SqlSubscribers,
    SqlWebhooks,
    SqlVaultMemories,
    SqlVaultWrites,
    SqlTicks,
):
    """`ports.truth.Truth`: the ports together, because they need the same database and clock and nothing of each
    other."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        degraded_scan: int = DEGRADED_SCAN,
        times: SignalTimes = SignalTimes(),  # noqa: B008 - frozen
    ) -> None:
        super().__init__(database, clock)
        self._times = times
        SqlReading.__init__(self, database, degraded_scan)
        self._recent = RecentRows()

    async def remember(self, writes: Sequence[Write]) -> Sequence[Outcome]:
        """As in the port; what is new is known to the projectors of this process."""
        outcomes = await super().remember(writes)
        self._recent.keep(each.memory for each in outcomes if each.status is Status.CREATED and each.memory)
        return outcomes

    async def indexable(self, ids: Sequence[str]) -> Mapping[str, Memory]:
        """As in the port."""
        kept = self._recent.among(ids)
        if not kept:
            return await self.rows(ids)
        known = sorted({each for each in ids if is_uuid(each)})
        found = await self._database.read(lambda connection: indexable(connection, known, kept))
        self._recent.settle(kept, found)
        return found

    async def create_workspace(self, workspace: Workspace) -> Workspace:
        """As in the port; this process knows its quotas at once."""
        created = await super().create_workspace(workspace)
        self._quotas.forget()
        return created

    async def change_workspace(self, workspace_id: str, change: WorkspaceChange) -> Workspace:
        """The same."""
        changed = await super().change_workspace(workspace_id, change)
        self._quotas.forget()
        return changed

    async def check(self) -> tuple[str, str, tuple[str, ...]]:
        """Product, version, and what is wrong with it. `TryLater` while it can't be reached."""
        # Brings the migrations with it, which nothing else of a running service needs.
        from openbrain.adapters.sql.schema.commands import checked

        return await self._database.read(checked)

    async def close(self) -> None:
        """Release connections."""
        await self._database.close()


def open_truth(
    settings: Truth,
    data_dir: Path,
    clock: Clock,
    *,
    follower: Follower | None = None,
    degraded_scan: int = DEGRADED_SCAN,
    times: SignalTimes = SignalTimes(),  # noqa: B008 - frozen
) -> SqlTruth:
    """Connects to nothing yet. `SetupError` where the URL is of no database that we know. `follower`: is told the
    database server's time."""
    address = truth_url(settings.url, data_dir)
    database = Database.open(address, pool=settings.pool, lock_wait_s=settings.tuning.lock_wait_s, clock=follower)
    return SqlTruth(database, clock, degraded_scan, times)


def truth_url(url: str, data_dir: Path) -> str:
    """The database's own URL: `embedded` is a file in the data folder."""
    if url != EMBEDDED:
        return url
    return URL.create("sqlite+aiosqlite", database=str(data_dir / FILE)).render_as_string()
