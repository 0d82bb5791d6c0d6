"""Tenants and keys."""

from typing import Any

from openbrain.auth import OPERATORS, hash_secret, issue
from openbrain.errors import Forbidden, NotFound
from openbrain.ports.access import Workspace
from openbrain.remembering import expiry
from openbrain.times import from_datetime
from openbrain_api.admin_requests import KeyBody, WorkspaceBody, WorkspaceQuery
from openbrain_api.rendering import key_json, workspace_json
from openbrain_api.reply import Reply, answer
from openbrain_api.route import Call, Nothing


async def create_workspace(call: Call[WorkspaceBody, Nothing]) -> Reply:
    """Make a tenant."""
    _operators_only(call)
    workspace = Workspace(id=call.body.id, name=call.body.name or call.body.id, created_at=call.api.clock.now())
    made = workspace_json(await call.api.truth.create_workspace(workspace))
    return answer(made, made, status=201)


async def workspaces(call: Call[Nothing, Nothing]) -> Reply:
    """All tenants."""
    _operators_only(call)
    found = [workspace_json(each) for each in await call.api.truth.workspaces()]
    data = {"workspaces": found, "count": len(found)}
    return answer(data, data)


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
    )
    await call.api.truth.create_key(key, hash_secret(secret))
    made = {**key_json(key), "key": secret}
    return answer(made, made, status=201)


async def keys(call: Call[Nothing, WorkspaceQuery]) -> Reply:
    """The workspace's keys, without their secrets."""
    found = [key_json(each) for each in await call.api.truth.keys(_workspace(call, call.query.workspace_id))]
    data = {"keys": found, "count": len(found)}
    return answer(data, data)


async def revoke_key(call: Call[Nothing, WorkspaceQuery]) -> Reply:
    """End a key."""
    key_id = call.path["id"]
    if not await call.api.truth.revoke_key(_workspace(call, call.query.workspace_id), key_id):
        raise NotFound("no key with this id")
    call.api.keyring.forget_all()
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
