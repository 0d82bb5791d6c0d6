"""The keys that a new system starts with: one for everything in `default`, one that makes workspaces."""

from collections.abc import Mapping

from openbrain.domain.access.permissions import Permission
from openbrain.ports.clock import Clock
from openbrain.ports.store.tenants import ApiKeys, Workspace, Workspaces
from openbrain.usecases.auth import OPERATORS, hash_secret, issue

WORKSPACE = "default"
PERMISSIONS: Mapping[str, frozenset[str]] = {
    WORKSPACE: frozenset(Permission),
    OPERATORS: frozenset({Permission.ADMIN}),
}
"""Workspace -> what its first key may."""


async def ensure_workspace(workspaces: Workspaces, clock: Clock, workspace: str) -> bool:
    """Make the tenant where it is missing; whether it was. `Conflict` while one of that name is being deleted."""
    if workspace in {known.id for known in await workspaces.workspaces()}:
        return False
    await workspaces.create_workspace(Workspace(id=workspace, name=workspace, created_at=clock.now()))
    return True


async def bootstrap_key(api_keys: ApiKeys, clock: Clock, workspace: str) -> str:
    """A key for that workspace; it may speak for every agent. Its secret is nowhere else."""
    key, secret = issue(
        workspace_id=workspace,
        name="first-start",
        permissions=PERMISSIONS[workspace],
        now=clock.now(),
        act_as=("*",),
    )
    await api_keys.create_key(key, hash_secret(secret))
    return secret
