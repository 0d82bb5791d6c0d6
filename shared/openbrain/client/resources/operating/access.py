"""Client methods for workspaces and keys."""

from typing import Unpack

from openbrain.client.arguments import NewKey, WorkspaceSettings
from openbrain.client.wire import Wire, filled, in_path
from openbrain.contract.admin.access import (
    KeyCreated,
    KeyList,
    KeyRevoked,
    KeyRotated,
    Whoami,
    WorkspaceAnswer,
    WorkspaceList,
)

WORKSPACES, KEYS = "/v1/admin/workspaces", "/v1/admin/keys"


class Access:
    """Client methods for workspaces, keys and the caller's identity. Those for workspaces, and for keys of a workspace
    other than the key's own, need an admin key of the workspace `system`."""

    _wire: Wire

    async def create_workspace(
        self, workspace_id: str, name: str = "", **settings: Unpack[WorkspaceSettings]
    ) -> WorkspaceAnswer:
        """Create a workspace."""
        body = {"id": workspace_id, "name": name or workspace_id, **settings}
        return await self._wire.ask(WorkspaceAnswer, "POST", WORKSPACES, body=body, repeat=False)

    async def change_workspace(
        self, workspace_id: str, *, name: str = "", **settings: Unpack[WorkspaceSettings]
    ) -> WorkspaceAnswer:
        """Change a workspace's name, quotas or rule for personal data. None removes a quota; what is left out stays
        unchanged."""
        body = {**filled(name=name), **settings}
        path = f"{WORKSPACES}/{in_path(workspace_id)}"
        return await self._wire.ask(WorkspaceAnswer, "PATCH", path, body=body)

    async def workspaces(self, *, limit: int | None = None, cursor: str | None = None) -> WorkspaceList:
        """Return a page of workspaces, by id."""
        query = {"limit": limit, "cursor": cursor}
        return await self._wire.ask(WorkspaceList, "GET", WORKSPACES, query=query)

    async def create_key(self, **key: Unpack[NewKey]) -> KeyCreated:
        """Create a key. Its secret is only in this response."""
        return await self._wire.ask(KeyCreated, "POST", KEYS, body=dict(key), repeat=False)

    async def rotate_key(self, key_id: str, *, overlap_s: int | None = None, workspace_id: str = "") -> KeyRotated:
        """Replace a key by one with the same rights. Both work for `overlap_s` seconds (default: a day)."""
        return await self._wire.ask(
            KeyRotated,
            "POST",
            f"{KEYS}/{in_path(key_id)}:rotate",
            body={} if overlap_s is None else {"overlap_s": overlap_s},
            query={"workspace_id": workspace_id or None},
            repeat=False,
        )

    async def keys(self, *, workspace_id: str = "", limit: int | None = None, cursor: str | None = None) -> KeyList:
        """Return a page of the workspace's keys, newest first."""
        query = {"workspace_id": workspace_id or None, "limit": limit, "cursor": cursor}
        return await self._wire.ask(KeyList, "GET", KEYS, query=query)

    async def revoke_key(self, key_id: str, *, workspace_id: str = "") -> KeyRevoked:
        """Revoke a key; every process refuses it within seconds."""
        query = {"workspace_id": workspace_id or None}
        return await self._wire.ask(KeyRevoked, "DELETE", f"{KEYS}/{in_path(key_id)}", query=query)

    async def whoami(self) -> Whoami:
        """Return the key's identity and rights."""
        return await self._wire.ask(Whoami, "GET", "/v1/whoami")
