"""Workspaces and keys."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from openbrain.contract.admin.access import (
    DeleteWorkspaceQuery,
    KeyAnswer,
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
from openbrain.domain.access.permissions import Permission
from openbrain.domain.errors import Conflict, Invalid, NotFound
from openbrain.domain.memory import MICROSECONDS
from openbrain.domain.times import from_datetime, to_datetime
from openbrain.ports.content import Action
from openbrain.ports.store.tenants import CLOSE, UNLIMITED, Workspace, WorkspaceChange
from openbrain.usecases.auth import OPERATORS, hash_secret, issue, successor
from openbrain.usecases.remember import expiry
from openbrain_api.handlers.admin.operations import accepted, new_operation, operators_only, planned, workspace_of
from openbrain_api.http.parsing import found, page_of, position
from openbrain_api.http.response import Response, respond, respond_page
from openbrain_api.http.route import Call, Nothing, Route


@Route(
    "POST",
    "/v1/admin/workspaces",
    permission=Permission.ADMIN,
    response=WorkspaceAnswer,
    statuses=(201,),
    problems=(409,),
)
async def create_workspace(call: Call[WorkspaceBody, Nothing]) -> Response:
    """Create a workspace."""
    operators_only(call, "workspaces are made and listed with")
    body = call.body
    workspace = Workspace(
        id=body.id,
        name=body.name or body.id,
        created_at=call.api.clock.now(),
        max_memories=body.max_memories,
        max_bytes=body.max_bytes,
        personal_data=body.personal_data or Action.OFF,
    )
    await call.api.store.workspaces.create_workspace(workspace)
    (made,) = await _counted(call, [workspace])
    return respond(made, status=201)


@Route("GET", "/v1/admin/workspaces", permission=Permission.ADMIN, response=WorkspaceList)
async def workspaces(call: Call[Nothing, WorkspacesQuery]) -> Response:
    """List workspaces by id.

    Those with a quota show their usage.
    """
    operators_only(call, "workspaces are made and listed with")
    query = call.query
    rows = await call.api.store.workspaces.workspaces(query.limit + 1, query.cursor or "")
    shown = tuple(await _counted(call, rows[: query.limit]))
    last = shown[-1].id if len(rows) > query.limit else None
    return respond_page(WorkspaceList(workspaces=shown, count=len(shown), next_cursor=last))


@Route("PATCH", "/v1/admin/workspaces/{id}", permission=Permission.ADMIN, response=WorkspaceAnswer, problems=(404,))
async def change_workspace(call: Call[WorkspaceChangeBody, Nothing]) -> Response:
    """Change a workspace's name, quotas, or policy for personal data that is stored in it."""
    operators_only(call, "workspaces are made and listed with")
    body = call.body
    quotas = {
        name: UNLIMITED if getattr(body, name) is None else getattr(body, name)
        for name in ("max_memories", "max_bytes")
        if name in body.model_fields_set
    }
    if not quotas and body.name is None and body.personal_data is None:
        raise Invalid("", "there is nothing to change: give name, max_memories, max_bytes or personal_data")
    changed = await call.api.store.workspaces.change_workspace(
        call.path["id"], WorkspaceChange(name=body.name, personal_data=body.personal_data, **quotas)
    )
    (shown,) = await _counted(call, [changed])
    return respond(shown)


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
    operators_only(call, "workspaces are deleted with")
    workspace_id = call.path["id"]
    counts = dict(await call.api.store.workspaces.workspace_counts(workspace_id))
    plan = {"id": workspace_id, "dry_run": call.query.dry_run, "counts": counts}
    if call.query.dry_run:
        return planned(plan)
    if workspace_id == OPERATORS:
        raise Conflict(f"the workspace {OPERATORS} holds the keys that make all others: it can't be deleted")
    if call.query.confirm != workspace_id:
        raise Invalid("confirm", "must be the workspace's id; dry_run=1 shows what would be deleted")
    operation = new_operation(call, CLOSE, {"workspace": workspace_id}, 2 * counts["memories"])
    queued = await call.api.store.workspaces.close_workspace(workspace_id, operation)
    call.api.keyring.look_again()
    return await accepted(call, plan, queued)


async def _counted(call: Call[Any, Any], rows: Sequence[Workspace]) -> list[WorkspaceAnswer]:
    limited = [row.id for row in rows if row.max_memories is not None or row.max_bytes is not None]
    usage = await call.api.store.workspaces.usage(limited) if limited else {}
    nothing = dict.fromkeys(("memories", "bytes"))
    return [WorkspaceAnswer.of(row, **(asdict(usage[row.id]) if row.id in usage else nothing)) for row in rows]


@Route("POST", "/v1/admin/keys", permission=Permission.ADMIN, response=KeyCreated, statuses=(201,), problems=(404, 409))
async def create_key(call: Call[KeyBody, Nothing]) -> Response:
    """Create a key; its secret is in this answer only."""
    body, now = call.body, call.api.clock.now()
    at = None if body.expires_at is None else from_datetime(body.expires_at)
    key, secret = issue(
        workspace_id=workspace_of(call, body.workspace_id, "keys"),
        name=body.name,
        permissions=frozenset(body.permissions),
        now=now,
        agent_id=body.agent_id or "",
        orgs=body.orgs,
        without_org=body.without_org,
        act_as=body.act_as,
        expires_at=expiry(now, body.expires_in, at),
        rate_limit=_rate(call, body.rate_limit),
        toolsets=body.toolsets,
    )
    await call.api.store.api_keys.create_key(key, hash_secret(secret))
    return respond(KeyCreated.of(key, key=secret, permissions=sorted(key.permissions)), status=201)


def _rate(call: Call[Any, Any], requested: int | None) -> int | None:
    """The rate of a new key. Operators set how much a workspace may ask: its admins give no key more than their own."""
    own, usual = call.actor.rate_limit, call.api.settings.server.rate_per_minute
    most = own or usual
    if call.actor.workspace_id == OPERATORS or not most:
        return requested
    if requested is not None and requested > most:
        raise Invalid("rate_limit", f"must be at most {most}, as this key's own is: ask an operator for more")
    if requested is None and own is not None and (not usual or own < usual):
        return own  # the default would be more
    return requested


@Route("GET", "/v1/admin/keys", permission=Permission.ADMIN, response=KeyList)
async def keys(call: Call[Nothing, KeysQuery]) -> Response:
    """List the workspace's keys, newest first."""
    query = call.query
    workspace_id = workspace_of(call, query.workspace_id, "keys")
    rows = await call.api.store.api_keys.keys(workspace_id, query.limit + 1, position(query.cursor))
    rows, following = page_of(rows, query.limit)
    shown = tuple(KeyAnswer.of(key, permissions=sorted(key.permissions)) for key in rows)
    return respond_page(KeyList(keys=shown, count=len(shown), next_cursor=following))


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

    The new key has the same permissions. The old key ends after the overlap.
    """
    workspace_id, now = workspace_of(call, call.query.workspace_id, "keys"), call.api.clock.now()
    old = found(await call.api.store.api_keys.key(workspace_id, call.path["id"]), "key")
    key, secret = successor(old, now, await call.api.store.api_keys.full_expiry(workspace_id, old.id))
    ends_at = now + call.body.overlap_s * MICROSECONDS
    replaced = await call.api.store.api_keys.replace_key(key, hash_secret(secret), ends_at)
    call.api.keyring.look_again()
    ends_at = replaced.expires_at or ends_at
    shown = KeyRotated.of(
        key, key=secret, permissions=sorted(key.permissions), replaced_expires_at=to_datetime(ends_at)
    )
    return respond(shown, status=201)


@Route("DELETE", "/v1/admin/keys/{id}", permission=Permission.ADMIN, response=KeyRevoked, problems=(404,))
async def revoke_key(call: Call[Nothing, WorkspaceQuery]) -> Response:
    """Revoke a key."""
    workspace_id, key_id = workspace_of(call, call.query.workspace_id, "keys"), call.path["id"]
    if not await call.api.store.api_keys.revoke_key(workspace_id, key_id):
        raise NotFound("no key with this id")
    call.api.keyring.look_again()
    return respond(KeyRevoked(id=key_id, revoked=True))
