"""Workspaces and keys."""

from collections.abc import Sequence
from typing import Any

from openbrain.contract.admin.access import (
    DeleteWorkspaceQuery,
    KeyBody,
    KeyCreated,
    KeyList,
    KeyRevoked,
    KeyRotated,
    KeysQuery,
    RotateBody,
    WorkspaceAnswer,
    WorkspaceBody,
    WorkspaceChangeBody,
    WorkspaceDeleted,
    WorkspaceList,
    WorkspacesQuery,
)
from openbrain.contract.base import WorkspaceQuery
from openbrain.domain.errors import Conflict, Forbidden, Invalid, NotFound
from openbrain.domain.ids import uuid7
from openbrain.domain.memory import MICROSECONDS
from openbrain.domain.permissions import Permission
from openbrain.domain.times import from_datetime
from openbrain.ports.operations import Operation
from openbrain.ports.tenants import CLOSE, UNLIMITED, Workspace, WorkspaceChange
from openbrain.usecases.auth import OPERATORS, hash_secret, issue, successor
from openbrain.usecases.remember import expiry
from openbrain_api.handlers.admin.operations import accepted
from openbrain_api.http.parsing import position
from openbrain_api.http.response import Response, answer
from openbrain_api.http.route import Call, Nothing, Route
from openbrain_api.rendering import Json, key_json, to_iso, workspace_json


@Route(
    "POST",
    "/v1/admin/workspaces",
    permission=Permission.ADMIN,
    response=WorkspaceAnswer,
    statuses=(201,),
    problems=(409,),
)
async def create_workspace(call: Call[WorkspaceBody, Nothing]) -> Response:
    """Make a workspace."""
    _operators_only(call)
    body = call.body
    workspace = Workspace(
        id=body.id,
        name=body.name or body.id,
        created_at=call.api.clock.now(),
        max_memories=body.max_memories,
        max_bytes=body.max_bytes,
    )
    await call.api.store.workspaces.create_workspace(workspace)
    (made,) = await _counted(call, [workspace])
    return answer(made, made, status=201)


@Route("GET", "/v1/admin/workspaces", permission=Permission.ADMIN, response=WorkspaceList)
async def workspaces(call: Call[Nothing, WorkspacesQuery]) -> Response:
    """Workspaces, by id.

    Those with a quota tell what they hold.
    """
    _operators_only(call)
    query = call.query
    found = await _counted(call, await call.api.store.workspaces.workspaces(query.limit, query.cursor or ""))
    last = found[-1]["id"] if len(found) == query.limit else None
    data = {"workspaces": found, "count": len(found)}
    return answer({**data, "next_cursor": last}, data)


@Route("PATCH", "/v1/admin/workspaces/{id}", permission=Permission.ADMIN, response=WorkspaceAnswer, problems=(404,))
async def change_workspace(call: Call[WorkspaceChangeBody, Nothing]) -> Response:
    """Change a workspace's name or quotas."""
    _operators_only(call)
    body = call.body
    quotas = {
        name: UNLIMITED if getattr(body, name) is None else getattr(body, name)
        for name in ("max_memories", "max_bytes")
        if name in body.model_fields_set
    }
    if not quotas and body.name is None:
        raise Invalid("", "there is nothing to change: give name, max_memories or max_bytes")
    changed = await call.api.store.workspaces.change_workspace(
        call.path["id"], WorkspaceChange(name=body.name, **quotas)
    )
    (told,) = await _counted(call, [changed])
    return answer(told, told)


@Route(
    "DELETE",
    "/v1/admin/workspaces/{id}",
    permission=Permission.ADMIN,
    response=WorkspaceDeleted,
    statuses=(200, 202),
    problems=(404, 409),
    waits=True,
)
async def delete_workspace(call: Call[Nothing, DeleteWorkspaceQuery]) -> Response:
    """Delete a workspace with everything in it."""
    if call.actor.workspace_id != OPERATORS:
        raise Forbidden(f"workspaces are deleted with an admin key of the workspace {OPERATORS}")
    workspace_id, now = call.path["id"], call.api.clock.now()
    counts = dict(await call.api.store.workspaces.workspace_counts(workspace_id))
    told = {"id": workspace_id, "dry_run": call.query.dry_run, "counts": counts}
    if call.query.dry_run:
        return answer({**told, "operation": None}, told)
    if workspace_id == OPERATORS:
        raise Conflict(f"the workspace {OPERATORS} holds the keys that make all others: it can't be deleted")
    if call.query.confirm != workspace_id:
        raise Invalid("confirm", "must be the workspace's id; dry_run=1 tells what would be deleted")
    operation = Operation(
        id=uuid7(now),
        workspace_id=OPERATORS,
        kind=CLOSE,
        actor=call.actor.label,
        request={"workspace": workspace_id},
        total=2 * counts["memories"],
    )
    queued = await call.api.store.workspaces.close_workspace(workspace_id, operation)
    call.api.keyring.look_again()
    return await accepted(call, told, queued)


async def _counted(call: Call[Any, Any], found: Sequence[Workspace]) -> list[Json]:
    limited = [each.id for each in found if each.max_memories is not None or each.max_bytes is not None]
    usage = await call.api.store.workspaces.usage(limited) if limited else {}
    return [workspace_json(each, usage.get(each.id)) for each in found]


@Route("POST", "/v1/admin/keys", permission=Permission.ADMIN, response=KeyCreated, statuses=(201,), problems=(404, 409))
async def create_key(call: Call[KeyBody, Nothing]) -> Response:
    """Make a key; its secret is in this answer only."""
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
    await call.api.store.api_keys.create_key(key, hash_secret(secret))
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


@Route("GET", "/v1/admin/keys", permission=Permission.ADMIN, response=KeyList)
async def keys(call: Call[Nothing, KeysQuery]) -> Response:
    """The workspace's keys, newest first."""
    query = call.query
    workspace_id = _workspace(call, query.workspace_id)
    found = await call.api.store.api_keys.keys(workspace_id, query.limit, position(query.cursor))
    last = found[-1] if len(found) == query.limit else None
    data = {"keys": [key_json(each) for each in found], "count": len(found)}
    return answer({**data, "next_cursor": last and f"{last.created_at}.{last.id}"}, data)


@Route(
    "POST",
    "/v1/admin/keys/{id}:rotate",
    permission=Permission.ADMIN,
    response=KeyRotated,
    statuses=(201,),
    problems=(404, 409),
)
async def rotate_key(call: Call[RotateBody, WorkspaceQuery]) -> Response:
    """Replace a key by a new one; its secret is in this answer only.

    The successor may do the same. The old key ends after the overlap.
    """
    workspace_id, now = _workspace(call, call.query.workspace_id), call.api.clock.now()
    old = await call.api.store.api_keys.key(workspace_id, call.path["id"])
    if old is None:
        raise NotFound("no key with this id")
    key, secret = successor(old, now)
    ends_at = now + call.body.overlap_s * MICROSECONDS
    replaced = await call.api.store.api_keys.replace_key(key, hash_secret(secret), ends_at)
    call.api.keyring.look_again()
    told = {**key_json(key), "key": secret, "replaced_expires_at": to_iso(replaced.expires_at or ends_at)}
    return answer(told, told, status=201)


@Route("DELETE", "/v1/admin/keys/{id}", permission=Permission.ADMIN, response=KeyRevoked, problems=(404,))
async def revoke_key(call: Call[Nothing, WorkspaceQuery]) -> Response:
    """Revoke a key."""
    key_id = call.path["id"]
    if not await call.api.store.api_keys.revoke_key(_workspace(call, call.query.workspace_id), key_id):
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
