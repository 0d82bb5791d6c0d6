"""The lifecycle port on a database."""

from collections.abc import Collection, Mapping, Sequence

from sqlalchemy import select

from openbrain.adapters.sql.engine.database import TimedPart
from openbrain.adapters.sql.schema.lifecycle_tables import operation_changes as changes
from openbrain.adapters.sql.schema.lifecycle_tables import without_hold
from openbrain.adapters.sql.tenants.lifecycle import applying, dry_run, partitions, subjects, undoing
from openbrain.domain.memory import Memory
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


class SqlLifecycle(TimedPart):
    """`ports.lifecycle.Lifecycle`."""

    async def count(self, selection: Selection) -> int:
        return await self._read(subjects.count, selection)

    async def page(self, selection: Selection, limit: int, after: Place | None) -> Sequence[Subject]:
        return await self._read(subjects.page, selection, limit, after)

    async def partitions(self, selection: Selection, after: Partition | None) -> Sequence[tuple[Partition, int]]:
        return await self._read(partitions.partitions, selection, after)

    async def members(
        self, selection: Selection, first: Partition, last: Partition, limit: int, after: Place | None
    ) -> Sequence[Memory]:
        return await self._read(partitions.members, selection, first, last, limit, after)

    async def look(
        self, selection: Selection, groups: Sequence[Sequence[str]], decide: Decide
    ) -> Sequence[GroupResult]:
        return await self._read(dry_run.look, selection, groups, decide, self._clock.now())

    async def apply(
        self, operation: Operation, selection: Selection, ids: Sequence[str], decide: Decide
    ) -> GroupResult:
        return await self._claim(applying.apply, operation, selection, ids, decide, self._clock.now())

    async def orgs(self, workspace_id: str, projects: Collection[str]) -> Mapping[str, Collection[str]]:
        return await self._read(subjects.orgs, workspace_id, projects)

    async def counts(self, operation_id: str) -> Mapping[Action, int]:
        return await self._read(applying.counts, operation_id)

    async def first(self, operation_id: str, limit: int) -> Sequence[Change]:
        return await self._read(applying.first, operation_id, limit)

    async def undo(
        self, operation: Operation, of: str, limit: int, after: ChangePlace | None = None
    ) -> ChangePlace | None:
        return await self._claim(undoing.undo, operation, of, limit, after, self._clock.now())

    async def undone(self, of: str) -> Mapping[Undone, int]:
        return await self._read(undoing.undone, of)

    async def purge_changes(self, before: int, limit: int) -> int:
        past = changes.c.at < before, without_hold(changes.c.workspace_id)
        return await self._remove(changes, select(changes.c.id).where(*past).limit(limit))
