"""The store on one database: its parts share the database and the clock, and don't know each other."""

from collections.abc import Mapping
from pathlib import Path

from sqlalchemy import URL

from openbrain.adapters.sql.agents.matches import SqlMatches
from openbrain.adapters.sql.agents.messages import SqlMessages
from openbrain.adapters.sql.agents.query_webhooks import SqlQueryWebhooks
from openbrain.adapters.sql.agents.replays import SqlReplays
from openbrain.adapters.sql.agents.sessions import SqlSessions
from openbrain.adapters.sql.agents.standing_queries import SqlStandingQueries
from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.engine.opening import open_database
from openbrain.adapters.sql.engine.statements import read_now
from openbrain.adapters.sql.indexes.generations import SqlGenerations
from openbrain.adapters.sql.indexes.index_entries import SqlExpectedEntries
from openbrain.adapters.sql.indexes.index_marks import SqlIndexMarks
from openbrain.adapters.sql.indexes.vectors import SqlVectors
from openbrain.adapters.sql.indexes.writers import SqlIndexWriters
from openbrain.adapters.sql.memories.feedback import SqlUsage
from openbrain.adapters.sql.memories.reading import DEGRADED_SCAN, SqlMemories
from openbrain.adapters.sql.memories.rows import RecentRows
from openbrain.adapters.sql.outbox.relay import SqlOutbox
from openbrain.adapters.sql.signals.broadcasts import SqlBroadcasts
from openbrain.adapters.sql.signals.reading import SqlHalts, SqlSignals
from openbrain.adapters.sql.signals.webhooks import SqlWebhookLetters, SqlWebhooks
from openbrain.adapters.sql.tenants.api_keys import SqlApiKeys
from openbrain.adapters.sql.tenants.cleaning import SqlCleansing
from openbrain.adapters.sql.tenants.lifecycle.lifecycle import SqlLifecycle
from openbrain.adapters.sql.tenants.lifecycle.policies import SqlPolicies
from openbrain.adapters.sql.tenants.lifecycle.retention import SqlRetention
from openbrain.adapters.sql.tenants.transferring import SqlTransfer
from openbrain.adapters.sql.tenants.workspaces import SqlWorkspaces
from openbrain.adapters.sql.vault.memories import SqlVault
from openbrain.adapters.sql.vault.ticks import SqlTicks
from openbrain.adapters.sql.work.groups import SqlGroups
from openbrain.adapters.sql.work.leases import SqlLeases
from openbrain.adapters.sql.work.operations import SqlOperations
from openbrain.adapters.sql.writes.quotas import Quotas
from openbrain.adapters.sql.writes.writing import SqlMemoryWrites
from openbrain.domain.signals.rules import SignalTimes
from openbrain.ports.agents import Messages, Sessions
from openbrain.ports.cleaning import Cleansing
from openbrain.ports.clock import Clock, Follower
from openbrain.ports.lifecycle import Lifecycle, Policies
from openbrain.ports.retention import Retention
from openbrain.ports.store.generations import Generations, IndexWriters
from openbrain.ports.store.index_entries import ExpectedEntries, IndexMarks, Vectors
from openbrain.ports.store.memories import Memories, Past, Usage
from openbrain.ports.store.operations import AllLeases, Operations
from openbrain.ports.store.outbox import Outbox
from openbrain.ports.store.signals import Broadcasts, Halts, Signals
from openbrain.ports.store.tenants import ApiKeys, Workspaces
from openbrain.ports.store.transfer import Transfer
from openbrain.ports.store.vault import Ticks, Vault
from openbrain.ports.store.webhooks import WebhookLetters, Webhooks
from openbrain.ports.store.writes import MemoryWrites
from openbrain.ports.streams import Groups
from openbrain.ports.subscriptions import Matches, QueryWebhooks, Replays, StandingQueries
from openbrain.settings import Truth

EMBEDDED = "embedded"
FILE = "truth.sqlite3"


class SqlStore:
    """`ports.store.Store`."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        degraded_scan: int = DEGRADED_SCAN,
        times: SignalTimes = SignalTimes(),  # noqa: B008 - frozen
    ) -> None:
        quotas, recent = Quotas(clock), RecentRows()
        self._database, self._clock = database, clock
        memories = SqlMemories(database, degraded_scan, recent)
        self.memories: Memories = memories
        self.past: Past = memories
        self.writes: MemoryWrites = SqlMemoryWrites(database, clock, quotas, recent)
        self.vectors: Vectors = SqlVectors(database, clock)
        self.generations: Generations = SqlGenerations(database, clock)
        self.index_writers: IndexWriters = SqlIndexWriters(database)
        self.index_marks: IndexMarks = SqlIndexMarks(database, clock)
        self.expected_entries: ExpectedEntries = SqlExpectedEntries(database)
        self.outbox: Outbox = SqlOutbox(database, clock)
        self.signals: Signals = SqlSignals(database, clock, times)
        self.halts: Halts = SqlHalts(database, clock, times)
        self.broadcasts: Broadcasts = SqlBroadcasts(database, clock, times)
        self.webhooks: Webhooks = SqlWebhooks(database, clock)
        self.webhook_letters: WebhookLetters = SqlWebhookLetters(database)
        self.workspaces: Workspaces = SqlWorkspaces(database, clock, quotas)
        self.api_keys: ApiKeys = SqlApiKeys(database, clock)
        self.operations: Operations = SqlOperations(database, clock)
        self.lifecycle: Lifecycle = SqlLifecycle(database, clock)
        self.policies: Policies = SqlPolicies(database, clock)
        self.cleansing: Cleansing = SqlCleansing(database, clock)
        self.retention: Retention = SqlRetention(database, clock)
        self.leases: AllLeases = SqlLeases(database)
        self.groups: Groups = SqlGroups(database, clock)
        self.vault: Vault = SqlVault(database, clock)
        self.ticks: Ticks = SqlTicks(database, clock)
        self.transfer: Transfer = SqlTransfer(database, clock)
        self.usage: Usage = SqlUsage(database, clock)
        self.messages: Messages = SqlMessages(database, clock)
        self.sessions: Sessions = SqlSessions(database, clock)
        self.standing_queries: StandingQueries = SqlStandingQueries(database, clock)
        self.query_webhooks: QueryWebhooks = SqlQueryWebhooks(database)
        self.matches: Matches = SqlMatches(database)
        self.replays: Replays = SqlReplays(database)

    async def time(self) -> int:
        """Return the time of the database's clock."""
        return await self._database.read(read_now)

    async def scrub(self) -> Mapping[str, object]:
        return await self._database.scrub()

    async def check(self) -> tuple[str, str, tuple[str, ...]]:
        """Return product, version and problems. `TryLater` while the database can't be reached."""
        # Imports the migrations, which a running service needs nowhere else.
        from openbrain.adapters.sql.schema.commands import checked

        return await self._database.read(checked)

    async def close(self) -> None:
        await self._database.close()


def open_store(
    settings: Truth,
    data_dir: Path,
    clock: Clock,
    *,
    follower: Follower | None = None,
    degraded_scan: int = DEGRADED_SCAN,
    times: SignalTimes = SignalTimes(),  # noqa: B008 - frozen
) -> SqlStore:
    """Open the store without connecting. `SetupError` if the URL is of an unsupported database. `follower` gets the
    database server's time."""
    address = store_url(settings.url, data_dir)
    database = open_database(address, pool=settings.pool, lock_wait_s=settings.tuning.lock_wait_s, clock=follower)
    return SqlStore(database, clock, degraded_scan, times)


def store_url(url: str, data_dir: Path) -> str:
    """Return the database's own URL: `embedded` is a file in the data folder."""
    if url != EMBEDDED:
        return url
    return URL.create("sqlite+aiosqlite", database=str(data_dir / FILE)).render_as_string()
