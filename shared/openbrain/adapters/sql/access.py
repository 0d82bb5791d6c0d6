"""Tenants and their credentials."""

from collections.abc import Sequence
from typing import Any

import orjson
from sqlalchemy import Connection, RowMapping, exists, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from openbrain.adapters.sql.database import Database
from openbrain.adapters.sql.rows import json_text
from openbrain.adapters.sql.statements import insert_missing
from openbrain.adapters.sql.tables import api_keys, workspaces
from openbrain.errors import Conflict, NotFound
from openbrain.ports.access import ApiKey, Workspace
from openbrain.ports.clock import Clock

_WORKSPACE = (workspaces.c.id, workspaces.c.name, workspaces.c.created_at)
_OPEN = workspaces.c.deleted_at.is_(None)
_CLOSED = exists().where(workspaces.c.id == api_keys.c.workspace_id, ~_OPEN)
_KEY = tuple(column for column in api_keys.c if column.name != "secret_hash")


class SqlAccess:
    """`ports.truth.Access`."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def create_workspace(self, workspace: Workspace) -> Workspace:
        """`Conflict` where the id is taken."""
        return await self._database.write(lambda connection: _create_workspace(connection, workspace))

    async def workspaces(self) -> Sequence[Workspace]:
        """All, by id."""
        statement = select(*_WORKSPACE).where(_OPEN).order_by(workspaces.c.id)
        return await self._database.read(
            lambda connection: [Workspace(**row) for row in connection.execute(statement).mappings()]
        )

    async def create_key(self, key: ApiKey, secret_hash: str) -> None:
        """`NotFound` where the workspace is unknown."""
        await self._database.write(lambda connection: _create_key(connection, key, secret_hash))

    async def key_by_hash(self, secret_hash: str) -> ApiKey | None:
        """Whatever its state; none of a workspace that is being deleted."""
        statement = select(*_KEY).where(api_keys.c.secret_hash == secret_hash, ~_CLOSED)
        row = await self._database.read(lambda connection: connection.execute(statement).mappings().one_or_none())
        return None if row is None else _key(row)

    async def keys(self, workspace_id: str) -> Sequence[ApiKey]:
        """Newest first."""
        newest = (api_keys.c.created_at.desc(), api_keys.c.id.desc())
        statement = select(*_KEY).where(api_keys.c.workspace_id == workspace_id).order_by(*newest)
        return await self._database.read(
            lambda connection: [_key(row) for row in connection.execute(statement).mappings()]
        )

    async def revoke_key(self, workspace_id: str, key_id: str) -> bool:
        """Again: True, and the first time stays."""
        now = self._clock.now()
        return await self._database.write(lambda connection: _revoke(connection, workspace_id, key_id, now))


def _create_workspace(connection: Connection, workspace: Workspace) -> Workspace:
    row = {"id": workspace.id, "name": workspace.name, "created_at": workspace.created_at}
    try:
        connection.execute(insert(workspaces), row)
    except IntegrityError:
        raise Conflict("a workspace with this id exists: choose another id") from None
    return workspace


def _create_key(connection: Connection, key: ApiKey, secret_hash: str) -> None:
    known = select(workspaces.c.id).where(workspaces.c.id == key.workspace_id, _OPEN)
    if connection.execute(known).one_or_none() is None:
        raise NotFound("no workspace with this id: create it first")
    connection.execute(insert_missing(connection.dialect, api_keys), _row(key, secret_hash))
    # The same call again, after an answer that was lost, finds its own row.
    stored = select(api_keys.c.id).where(api_keys.c.secret_hash == secret_hash)
    if connection.execute(stored).scalar_one_or_none() != key.id:
        raise Conflict("a key with this id or secret exists: make another")


def _revoke(connection: Connection, workspace_id: str, key_id: str, now: int) -> bool:
    this = update(api_keys).where(api_keys.c.workspace_id == workspace_id, api_keys.c.id == key_id)
    return connection.execute(this.values(revoked_at=func.coalesce(api_keys.c.revoked_at, now))).rowcount == 1


def _row(key: ApiKey, secret_hash: str) -> dict[str, Any]:
    return {
        "id": key.id,
        "workspace_id": key.workspace_id,
        "name": key.name,
        "secret_hash": secret_hash,
        "agent_id": key.agent_id,
        "permissions": json_text(sorted(key.permissions)),
        "orgs": None if key.orgs is None else json_text(key.orgs),
        "without_org": key.without_org,
        "act_as": json_text(key.act_as),
        "created_at": key.created_at,
        "expires_at": key.expires_at,
        "revoked_at": key.revoked_at,
        "rate_limit": key.rate_limit,
        "replaces_id": key.replaces_id,
    }


def _key(row: RowMapping) -> ApiKey:
    return ApiKey(
        id=row["id"],
        workspace_id=row["workspace_id"],
        name=row["name"],
        agent_id=row["agent_id"],
        permissions=frozenset(orjson.loads(row["permissions"])),
        orgs=None if row["orgs"] is None else tuple(orjson.loads(row["orgs"])),
        without_org=row["without_org"],
        act_as=tuple(orjson.loads(row["act_as"])),
        created_at=row["created_at"],
        expires_at=row["expires_at"],
        revoked_at=row["revoked_at"],
        rate_limit=row["rate_limit"],
        replaces_id=row["replaces_id"],
    )
