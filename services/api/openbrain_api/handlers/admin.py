"""Tenants and keys."""

from collections.abc import Sequence
from typing import Any

from openbrain.domain.errors import Forbidden, Invalid, NotFound
from openbrain.domain.memory import MICROSECONDS
from openbrain.domain.times import from_datetime
from openbrain.ports.access import UNLIMITED, Workspace, WorkspaceChange
from openbrain.usecases.auth import OPERATORS, hash_secret, issue, successor
from openbrain.usecases.remember import expiry
from openbrain_api.http.reading import position
from openbrain_api.http.reply import Reply, answer
from openbrain_api.http.route import Call, Nothing
from openbrain_api.rendering import Json, key_json, to_iso, workspace_json
from openbrain_api.requests.admin import (
    KeyBody,
    KeysQuery,
    RotateBody,
    WorkspaceBody,
    WorkspaceChangeBody,
    WorkspaceQuery,
    WorkspacesQuery,
)


async def create_workspace(call: Call[WorkspaceBody, Nothing]) -> Reply:
    """Make a tenant."""
    _operators_only(call)
    body = call.body
    workspace = Workspace(
        id=body.id,
        name=body.name or body.id,
        created_at=call.api.clock.now(),
        max_memories=body.max_memories,
        max_bytes=body.max_bytes,
    )
    await call.api.truth.create_workspace(workspace)
    (made,) = await _counted(call, [workspace])
    return answer(made, made, status=201)


async def workspaces(call: Call[Nothing, WorkspacesQuery]) -> Reply:
    """Tenants by id, with what those with a quota hold."""
    _operators_only(call)
    query = call.query
    found = await _counted(call, await call.api.truth.workspaces(query.limit, query.cursor or ""))
    last = found[-1]["id"] if len(found) == query.limit else None
    data = {"workspaces": found, "count": len(found)}
    return answer({**data, "next_cursor": last}, data)


async def change_workspace(call: Call[WorkspaceChangeBody, Nothing]) -> Reply:
    """Another name, other quotas."""
    _operators_only(call)
    body = call.body
    quotas = {
        name: UNLIMITED if getattr(body, name) is None else getattr(body, name)
        for name in ("max_memories", "max_bytes")
        if name in body.model_fields_set
    }
    if not quotas and body.name is None:
        raise Invalid("", "there is nothing to change: give name, max_memories or max_bytes")
    changed = await call.api.truth.change_workspace(call.path["id"], WorkspaceChange(name=body.name, **quotas))
    (told,) = await _counted(call, [changed])
    return answer(told, told)


async def _counted(call: Call[Any, Any], found: Sequence[Workspace]) -> list[Json]:
    limited = [each.id for each in found if each.max_memories is not None or each.max_bytes is not None]
    usage = await call.api.truth.usage(limited) if limited else {}
    return [workspace_json(each, usage.get(each.id)) for each in found]


async def create_key(call: Call[KeyBody, Nothing]) -> Reply:
    """Make a key; the secret is in this answer only."""
    body, now = call.body, call.api.clock.now()
    at = None if body.expires_at is None else from_datetime(body.expires_at)
    key, secret = issue(
        workspace_id=_workspace(call, body.workspace_id),
        name=body.name,
        permissions=frozenset(body.permissions),
        now=now,
        agent_id=body.agent_id or "",
        orgs=body.orgs,
        without_org=body.without_org,
        act_as=body.act_as,
        expires_at=expiry(now, body.expires_in, at),
        rate_limit=_rate(call, body.rate_limit),
    )
    await call.api.truth.create_key(key, hash_secret(secret))
    made = {**key_json(key), "key": secret}
    return answer(made, made, status=201)


def _rate(call: Call[Any, Any], asked: int | None) -> int | None:
    """Operators say how much a workspace may ask for: its own admins give no key more than theirs has."""
    own, usual = call.actor.rate_limit, call.api.settings.server.rate_per_minute
    most = own or usual
    if call.actor.workspace_id == OPERATORS or not most:
        return asked
    if asked is not None and asked > most:
        raise Invalid("rate_limit", f"must be at most {most}, as this key's own is: ask an operator for more")
    if asked is None and own is not None and (not usual or own < usual):
        return own  # the setting would be more
    return asked


async def keys(call: Call[Nothing, KeysQuery]) -> Reply:
    """The workspace's keys, without their secrets."""
    query = call.query
    workspace_id = _workspace(call, query.workspace_id)
    found = await call.api.truth.keys(workspace_id, query.limit, position(query.cursor))
    last = found[-1] if len(found) == query.limit else None
    data = {"keys": [key_json(each) for each in found], "count": len(found)}
    return answer({**data, "next_cursor": last and f"{last.created_at}.{last.id}"}, data)


async def rotate_key(call: Call[RotateBody, WorkspaceQuery]) -> Reply:
    """A successor that may the same; its secret is in this answer only. The old key ends after the overlap."""
    workspace_id, now = _workspace(call, call.query.workspace_id), call.api.clock.now()
    old = await call.api.truth.key(workspace_id, call.path["id"])
    if old is None:
        raise NotFound("no key with this id")
    key, secret = successor(old, now)
    ends_at = now + call.body.overlap_s * MICROSECONDS
    replaced = await call.api.truth.replace_key(key, hash_secret(secret), ends_at)
    call.api.keyring.look_again()
    told = {**key_json(key), "key": secret, "replaced_expires_at": to_iso(replaced.expires_at or ends_at)}
    return answer(told, told, status=201)


async def revoke_key(call: Call[Nothing, WorkspaceQuery]) -> Reply:
    """End a key."""
    key_id = call.path["id"]
    if not await call.api.truth.revoke_key(_workspace(call, call.query.workspace_id), key_id):
        raise NotFound("no key with this id")
    call.api.keyring.look_again()
    data = {"id": key_id, "revoked": True}
    return answer(data, data)


def _operators_only(call: Call[Any, Any]) -> None:
    if call.actor.workspace_id != OPERATORS:
        raise Forbidden(f"workspaces are made and listed with an admin key of the workspace {OPERATORS}")


def _workspace(call: Call[Any, Any], named: str | None) -> str:
    own = call.actor.workspace_id
    if named and own not in (named, OPERATORS):
        raise Forbidden(f"keys of another workspace need an admin key of the workspace {OPERATORS}")
    return named or own
