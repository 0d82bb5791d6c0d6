"""API keys of tenants."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import orjson
from sqlalchemy import Connection, RowMapping, bindparam, func, select, update

from openbrain.adapters.sql.engine.database import TimedPart
from openbrain.adapters.sql.engine.statements import among, first_of, insert_missing, older_than
from openbrain.adapters.sql.schema.memory_rows import json_text
from openbrain.adapters.sql.schema.tables import OF_OPEN_WORKSPACE, OPEN_WORKSPACE, api_keys, valid_key, workspaces
from openbrain.domain import limits
from openbrain.domain.access.toolsets import Toolset
from openbrain.domain.errors import Conflict, NotFound
from openbrain.ports.store.tenants import ApiKey

_KEY = tuple(column for column in api_keys.c if column.name != "secret_hash")
# Built once: keys are looked up about once a second per active agent, and building the query costs more than running
# it.
_BY_HASH = select(*_KEY).where(api_keys.c.secret_hash == bindparam("asked"), OF_OPEN_WORKSPACE)


class SqlApiKeys(TimedPart):
    """`ports.tenants.ApiKeys`."""

    async def create_key(self, key: ApiKey, secret_hash: str) -> None:
        """Create a key. `NotFound` if the workspace is unknown."""
        await self._write(_create_key, key, secret_hash)

    async def key_by_hash(self, secret_hash: str) -> ApiKey | None:
        """Return the key in any state; None if its workspace is being deleted."""
        asked = {"asked": secret_hash}
        row = await self._database.read(lambda connection: connection.execute(_BY_HASH, asked).mappings().one_or_none())
        return None if row is None else _key(row)

    async def open_keys(self, ids: Sequence[str], now: int) -> frozenset[str]:
        return await self._read(_open_keys, ids, now)

    async def key(self, workspace_id: str, key_id: str) -> ApiKey | None:
        """Return the key in any state."""
        return await self._read(_one_key, workspace_id, key_id)

    async def full_expiry(self, workspace_id: str, key_id: str) -> int | None:
        return await self._read(_full_expiry, workspace_id, key_id)

    async def replace_key(self, key: ApiKey, secret_hash: str, ends_at: int) -> ApiKey:
        return await self._write(_replace, key, secret_hash, ends_at, self._clock.now())

    async def keys(
        self, workspace_id: str, limit: int | None = None, before: tuple[int, str] | None = None
    ) -> Sequence[ApiKey]:
        table = api_keys.c
        following = table.workspace_id == workspace_id, older_than(before, table.created_at, table.id)
        newest = select(*_KEY).where(*following).order_by(table.created_at.desc(), table.id.desc()).limit(limit)
        return [_key(row) for row in await self._rows(newest)]

    async def revoke_key(self, workspace_id: str, key_id: str) -> bool:
        """Revoke a key. Revoking it again returns True and keeps the first time."""
        revoked = func.coalesce(api_keys.c.revoked_at, self._clock.now())
        this = api_keys.c.workspace_id == workspace_id, api_keys.c.id == key_id
        return await self._change(update(api_keys).where(*this).values(revoked_at=revoked)) == 1


def _open_keys(connection: Connection, ids: Sequence[str], now: int) -> frozenset[str]:
    query = select(api_keys.c.id).where(valid_key(now), OF_OPEN_WORKSPACE)
    return frozenset(row.id for row in among(connection, query, api_keys.c.id, ids))


def _one_key(connection: Connection, workspace_id: str, key_id: str, *, lock: bool = False) -> ApiKey | None:
    query = select(*_KEY).where(api_keys.c.workspace_id == workspace_id, api_keys.c.id == key_id)
    return first_of(connection, query.with_for_update() if lock else query, _key)


def _full_expiry(connection: Connection, workspace_id: str, key_id: str) -> int | None:
    """The expiry of its last successor, revoked or not: a rotation shortens that of the replaced key alone."""
    table = api_keys.c
    expires_at = None
    query = select(table.id, table.expires_at).where(table.workspace_id == workspace_id)
    row = connection.execute(query.where(table.id == key_id)).one_or_none()
    while row is not None:
        expires_at = row.expires_at
        following = query.where(table.replaces_id == row.id).order_by(table.created_at, table.id).limit(1)
        row = connection.execute(following).one_or_none()
    return expires_at


def _replace(connection: Connection, key: ApiKey, secret_hash: str, ends_at: int, now: int) -> ApiKey:
    old = _one_key(connection, key.workspace_id, key.replaces_id or "", lock=True)
    if old is None:
        raise NotFound("no key with this id")
    # A retry after a lost response finds its own row; the old key may have ended by it.
    own = select(api_keys.c.id).where(api_keys.c.id == key.id, api_keys.c.secret_hash == secret_hash)
    if connection.execute(own).one_or_none() is not None:
        return old
    successor = select(api_keys.c.id).where(
        api_keys.c.workspace_id == key.workspace_id,
        api_keys.c.replaces_id == old.id,
        api_keys.c.revoked_at.is_(None),
    )
    other = connection.execute(successor).scalar()
    if other is not None:
        raise Conflict(f"{other} replaces this key already: rotate that one, or revoke it first")
    if old.revoked_at is not None or (old.expires_at is not None and old.expires_at <= now):
        raise Conflict("this key has ended: make a new one")
    _create_key(connection, key, secret_hash)
    ends_at = ends_at if old.expires_at is None else min(ends_at, old.expires_at)
    connection.execute(update(api_keys).where(api_keys.c.id == old.id).values(expires_at=ends_at))
    return replace(old, expires_at=ends_at)


def _create_key(connection: Connection, key: ApiKey, secret_hash: str) -> None:
    known = select(workspaces.c.id).where(workspaces.c.id == key.workspace_id, OPEN_WORKSPACE).with_for_update()
    if connection.execute(known).one_or_none() is None:
        raise NotFound("no workspace with this id: create it first")
    connection.execute(insert_missing(connection, api_keys), _row(key, secret_hash))
    # A retry after a lost response finds its own row.
    stored = select(api_keys.c.id).where(api_keys.c.secret_hash == secret_hash)
    if connection.execute(stored).scalar_one_or_none() != key.id:
        raise Conflict("a key with this id or secret exists: make another")
    own = select(func.count()).where(api_keys.c.workspace_id == key.workspace_id, valid_key(key.created_at))
    if connection.execute(own).scalar_one() > limits.KEYS:
        raise Conflict(f"a workspace may have {limits.KEYS} keys at once: revoke some that nobody uses")


def _row(key: ApiKey, secret_hash: str) -> dict[str, Any]:
    return {
        **asdict(key),
        "secret_hash": secret_hash,
        "permissions": json_text(sorted(key.permissions)),
        "orgs": None if key.orgs is None else json_text(key.orgs),
        "act_as": json_text(key.act_as),
        "toolsets": json_text(key.toolsets) if key.toolsets else None,
    }


def _key(row: RowMapping) -> ApiKey:
    values: dict[str, Any] = {
        **row,
        "permissions": frozenset(orjson.loads(row["permissions"])),
        "orgs": None if row["orgs"] is None else tuple(orjson.loads(row["orgs"])),
        "act_as": tuple(orjson.loads(row["act_as"])),
        # Ignore toolsets of later versions.
        "toolsets": tuple(Toolset(name) for name in orjson.loads(row["toolsets"] or "[]") if name in set(Toolset)),
    }
    return ApiKey(**values)
