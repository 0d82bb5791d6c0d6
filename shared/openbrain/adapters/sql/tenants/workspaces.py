"""Workspaces, the tenants."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from secrets import token_hex
from typing import Any

from sqlalchemy import Connection, RowMapping, and_, insert, select, update
from sqlalchemy.exc import IntegrityError

from openbrain.adapters.sql.engine.database import Database, TimedPart
from openbrain.adapters.sql.engine.statements import first_of
from openbrain.adapters.sql.schema.tables import OPEN_WORKSPACE, workspaces
from openbrain.adapters.sql.tenants import closing
from openbrain.adapters.sql.writes import quotas
from openbrain.adapters.sql.writes.quotas import Quotas
from openbrain.domain.errors import Conflict, NotFound
from openbrain.ports.clock import Clock
from openbrain.ports.content import Action, PersonalDataRule, PersonalDataRules
from openbrain.ports.store.operations import Operation
from openbrain.ports.store.tenants import UNLIMITED, Dropped, Usage, Workspace, WorkspaceChange
from openbrain.ports.store.writes import Ended

_WORKSPACE = tuple(workspaces.c[field.name] for field in fields(Workspace))


class SqlWorkspaces(TimedPart):
    """`ports.tenants.Workspaces`."""

    def __init__(self, database: Database, clock: Clock, quotas: Quotas) -> None:
        super().__init__(database, clock)
        self._quotas = quotas

    async def create_workspace(self, workspace: Workspace) -> Workspace:
        """Create a workspace. This process applies its quotas at once."""
        created = await self._write(_create_workspace, workspace)
        self._quotas.forget()
        return created

    async def workspaces(self, limit: int | None = None, after: str = "") -> Sequence[Workspace]:
        following = (OPEN_WORKSPACE, workspaces.c.id > after)
        statement = select(*_WORKSPACE).where(*following).order_by(workspaces.c.id).limit(limit)
        return [_workspace(row) for row in await self._rows(statement)]

    async def change_workspace(self, workspace_id: str, change: WorkspaceChange) -> Workspace:
        """Change a workspace. This process applies its quotas at once."""
        changed = await self._write(_change_workspace, workspace_id, change, self._clock.now())
        self._quotas.forget()
        return changed

    async def personal_data_rules(self) -> PersonalDataRules:
        columns = (workspaces.c.id, workspaces.c.personal_data, workspaces.c.personal_data_key)
        rows = await self._rows(select(*columns).where(workspaces.c.personal_data.is_not(None)))
        return {row["id"]: PersonalDataRule(Action(row["personal_data"]), row["personal_data_key"]) for row in rows}

    async def usage(self, ids: Sequence[str]) -> Mapping[str, Usage]:
        """Return the usage as last counted."""
        return await self._read(quotas.usages, ids)

    async def workspace_counts(self, workspace_id: str) -> Mapping[str, int]:
        return await self._read(closing.counts, workspace_id)

    async def close_workspace(self, workspace_id: str, operation: Operation) -> Operation:
        return await self._write(closing.close, workspace_id, operation, self._clock.now())

    async def erase_all(self, workspace_id: str, limit: int, since: int | None = None) -> Ended:
        return await self._write(closing.erase_all, workspace_id, limit, since, self._clock.now())

    async def drop_rows(self, workspace_id: str, limit: int) -> Dropped:
        """Delete vectors first: their passages identify them, also for a run that continues after a crash."""
        return await closing.drop_rows(self._database, workspace_id, limit)

    async def drop_workspace(self, workspace_id: str, keep: str) -> Mapping[str, int]:
        """Use one transaction per part; after an interruption the next call continues."""
        return await closing.drop_workspace(self._database, workspace_id, keep)


def _workspace(row: Mapping[str, Any] | RowMapping) -> Workspace:
    own = {field.name: row[field.name] for field in fields(Workspace)}
    return Workspace(**{**own, "personal_data": Action(own["personal_data"] or Action.OFF)})


def _rule(action: Action) -> dict[str, str | None]:
    """Return the columns of a rule. Each change sets a new random key, so that outsiders can't test guessed values."""
    if action is Action.OFF:
        return {"personal_data": None, "personal_data_key": None}
    return {"personal_data": str(action), "personal_data_key": token_hex(32)}


def _create_workspace(connection: Connection, workspace: Workspace) -> Workspace:
    try:
        connection.execute(insert(workspaces), {**asdict(workspace), **_rule(workspace.personal_data)})
    except IntegrityError:
        # A retry after a lost response finds its own row.
        own = select(*_WORKSPACE).where(workspaces.c.id == workspace.id, OPEN_WORKSPACE)
        if first_of(connection, own, _workspace) == workspace:
            return workspace
        raise Conflict("a workspace with this id exists: choose another id") from None
    if workspace.max_memories is not None or workspace.max_bytes is not None:
        quotas.begin(connection, workspace.id, Usage(0, 0), workspace.created_at)
    return workspace


def _change_workspace(connection: Connection, workspace_id: str, change: WorkspaceChange, now: int) -> Workspace:
    this = and_(workspaces.c.id == workspace_id, OPEN_WORKSPACE)
    row = connection.execute(select(*_WORKSPACE).where(this).with_for_update()).mappings().one_or_none()
    if row is None:
        raise NotFound("no workspace with this id")
    values: dict[str, Any] = {} if change.name is None else {"name": change.name}
    for name, value in (("max_memories", change.max_memories), ("max_bytes", change.max_bytes)):
        if value is not None:
            values[name] = None if value == UNLIMITED else value
    if change.personal_data is not None and change.personal_data != _workspace(row).personal_data:
        values |= _rule(change.personal_data)
    changed = _workspace({**row, **values})
    if values:
        connection.execute(update(workspaces).where(this).values(values))
    if changed.max_memories is None and changed.max_bytes is None:
        quotas.stop(connection, workspace_id)
    else:
        quotas.begin(connection, workspace_id, quotas.count(connection, workspace_id), now)
    return changed
