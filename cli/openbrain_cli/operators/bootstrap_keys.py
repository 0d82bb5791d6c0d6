"""The first keys of a new system: one with all permissions in `default`, one that can create workspaces."""

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
"""Workspace -> permissions of its first key."""


async def ensure_workspace(workspaces: Workspaces, clock: Clock, workspace: str) -> bool:
    """Create a missing workspace; True if it was missing. Raise `Conflict` while one of that name is being deleted."""
    if workspace in {known.id for known in await workspaces.workspaces()}:
        return False
    await workspaces.create_workspace(Workspace(id=workspace, name=workspace, created_at=clock.now()))
    return True


async def bootstrap_key(api_keys: ApiKeys, clock: Clock, workspace: str) -> str:
    """Create a key for the workspace that may act as any agent. Return its secret, which is stored nowhere."""
    key, secret = issue(
        workspace_id=workspace,
        name="first-start",
        permissions=PERMISSIONS[workspace],
        now=clock.now(),
        act_as=("*",),
    )
    await api_keys.create_key(key, hash_secret(secret))
    return secret
