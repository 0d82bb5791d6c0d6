"""The database as a port: one part for each kind of data.

Every method of a part is one transaction. It may be repeated after `TryLater` (the database is down, or a lock timed
out) without doubling its effect. Events are committed in the same transaction, into the outbox.
"""

from collections.abc import Mapping
from typing import Protocol

from openbrain.ports.agents import Messages, Sessions
from openbrain.ports.cleaning import Cleansing
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


class Store(Protocol):
    """All parts together. A function that needs one part asks for that part."""

    memories: Memories
    past: Past
    writes: MemoryWrites
    vectors: Vectors
    generations: Generations
    index_writers: IndexWriters
    index_marks: IndexMarks
    expected_entries: ExpectedEntries
    outbox: Outbox
    signals: Signals
    halts: Halts
    broadcasts: Broadcasts
    webhooks: Webhooks
    webhook_letters: WebhookLetters
    workspaces: Workspaces
    api_keys: ApiKeys
    operations: Operations
    lifecycle: Lifecycle
    policies: Policies
    cleansing: Cleansing
    retention: Retention
    leases: AllLeases
    groups: Groups
    vault: Vault
    ticks: Ticks
    transfer: Transfer
    usage: Usage
    messages: Messages
    sessions: Sessions
    standing_queries: StandingQueries
    query_webhooks: QueryWebhooks
    matches: Matches
    replays: Replays

    async def time(self) -> int:
        """Return the database's time in microseconds. Irreversible steps must not depend on a host's clock."""

    async def scrub(self) -> Mapping[str, object]:
        """Remove deleted rows from the database's files as far as possible. Return what was done. Raise `TryLater`
        while readers prevent it."""

    async def check(self) -> tuple[str, str, tuple[str, ...]]:
        """Product, version, problems."""

    async def close(self) -> None: ...
