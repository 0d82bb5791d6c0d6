"""The lifecycle port, on a database."""

from collections.abc import Collection, Mapping, Sequence

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.tenants.lifecycle import applying, foreseeing, partitions, subjects, undoing
from openbrain.domain.memory import Memory
from openbrain.ports.clock import Clock
from openbrain.ports.lifecycle import (
    Action,
    Change,
    ChangePlace,
    Decide,
    GroupResult,
    Partition,
    Place,
    Selection,
    Subject,
    Undone,
)
from openbrain.ports.store.operations import Operation


class SqlLifecycle:
    """`ports.lifecycle.Lifecycle`."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database, self._clock = database, clock

    async def count(self, selection: Selection) -> int:
        return await self._database.read(lambda connection: subjects.count(connection, selection))

    async def page(self, selection: Selection, limit: int, after: Place | None) -> Sequence[Subject]:
        return await self._database.read(lambda connection: subjects.page(connection, selection, limit, after))

    async def partitions(self, selection: Selection, after: Partition | None) -> Sequence[tuple[Partition, int]]:
        return await self._database.read(lambda connection: partitions.partitions(connection, selection, after))

    async def members(
        self, selection: Selection, first: Partition, last: Partition, limit: int, after: Place | None
    ) -> Sequence[Memory]:
        return await self._database.read(
            lambda connection: partitions.members(connection, selection, first, last, limit, after)
        )

    async def look(
        self, selection: Selection, groups: Sequence[Sequence[str]], decide: Decide
    ) -> Sequence[GroupResult]:
        now = self._clock.now()
        return await self._database.read(lambda connection: foreseeing.look(connection, selection, groups, decide, now))

    async def apply(
        self, operation: Operation, selection: Selection, ids: Sequence[str], decide: Decide
    ) -> GroupResult:
        now = self._clock.now()
        return await self._database.write(
            lambda connection: applying.apply(connection, operation, selection, ids, decide, now)
        )

    async def orgs(self, workspace_id: str, projects: Collection[str]) -> Mapping[str, Collection[str]]:
        return await self._database.read(lambda connection: subjects.orgs(connection, workspace_id, projects))

    async def counts(self, operation_id: str) -> Mapping[Action, int]:
        return await self._database.read(lambda connection: applying.counts(connection, operation_id))

    async def first(self, operation_id: str, limit: int) -> Sequence[Change]:
        return await self._database.read(lambda connection: applying.first(connection, operation_id, limit))

    async def undo(
        self, operation: Operation, of: str, limit: int, after: ChangePlace | None = None
    ) -> ChangePlace | None:
        now = self._clock.now()
        return await self._database.write(lambda connection: undoing.undo(connection, operation, of, limit, after, now))

    async def undone(self, of: str) -> Mapping[Undone, int]:
        return await self._database.read(lambda connection: undoing.undone(connection, of))

    async def purge_changes(self, before: int, limit: int) -> int:
        return await self._database.write(lambda connection: undoing.purge_changes(connection, before, limit))
