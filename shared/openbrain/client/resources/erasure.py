"""Client methods for erasure, and for the operations that it starts."""

from collections.abc import AsyncGenerator, Sequence
from typing import Unpack

from openbrain.client.arguments import SubjectFilters
from openbrain.client.wire import Wire, filled, in_path, refuse_empty, write_headers
from openbrain.contract.admin.access import WorkspaceDeleted
from openbrain.contract.admin.operations import OperationAnswer, OperationList
from openbrain.contract.brain.memories import BulkEnded, Ended

LOOK_S = 10
"""Seconds that one request waits for an operation to change."""


class Erasures:
    """Client methods that erase memories, end many of them or a workspace, and watch operations."""

    _wire: Wire
    org: str

    async def erase(
        self, memory_id: str, *, reason: str = "", session_id: str = "", wait: int = 0, if_match: str = ""
    ) -> Ended:
        """Erase one memory: only the proof of the erasure remains. `wait`: wait up to this many seconds until its
        traces are gone. `if_match`: raise `Outdated` if its entity tag is no longer this one."""
        return await self._wire.ask(
            Ended,
            "DELETE",
            f"/v1/brain/memories/{in_path(memory_id)}",
            body={"reason": reason} if reason else None,
            query={"erase": "1", "session_id": session_id or None},
            headers=write_headers(wait=wait, if_match=if_match),
        )

    async def forget_matching(
        self,
        *,
        reason: str = "",
        erase: bool = False,
        dry_run: bool = True,
        whole: bool = False,
        merged: bool = False,
        **filters: Unpack[SubjectFilters],
    ) -> BulkEnded:
        """End all memories that match the filters (at least one is needed). By default a dry run. `whole`: include
        every agent's memories and those that have ended (needs an admin key, and `erase` or a dry run). `merged`:
        erase also what dedupe or consolidate merged the matches into."""
        refuse_empty(filters)
        if filters and self.org:
            filters.setdefault("org", self.org)  # never the only filter, which would match the complete org
        author = filters.pop("author", None)
        body: dict[str, object] = {**filters, "dry_run": dry_run, "erase": erase}
        body |= filled(agent_id=author, reason=reason, whole=whole, merged=merged)
        path = "/v1/brain/forget"
        return await self._wire.ask(BulkEnded, "POST", path, body=body, repeat=dry_run, well=(200, 202))

    async def delete_workspace(self, workspace_id: str, *, dry_run: bool = False) -> WorkspaceDeleted:
        """Delete a workspace and everything in it (needs an admin key of the workspace `system`)."""
        return await self._wire.ask(
            WorkspaceDeleted,
            "DELETE",
            f"/v1/admin/workspaces/{in_path(workspace_id)}",
            query={"dry_run": "1"} if dry_run else {"confirm": workspace_id},
            repeat=dry_run,
            well=(200, 202),
        )

    async def operations(
        self,
        *,
        kind: Sequence[str] = (),
        status: Sequence[str] = (),
        limit: int | None = None,
        cursor: str | None = None,
        workspace_id: str = "",
    ) -> OperationList:
        """Return a page of operations, newest first; `cursor`: the previous `next_cursor` (needs an admin key)."""
        query = {"kind": kind, "status": status, "limit": limit, "cursor": cursor, "workspace_id": workspace_id or None}
        return await self._wire.ask(OperationList, "GET", "/v1/admin/operations", query=query)

    async def operation(
        self, operation_id: str, *, wait: int = 0, seen: str | None = None, workspace_id: str = ""
    ) -> OperationAnswer:
        """Return one operation. With `wait`: when it differs from the state with the mark `seen`, or after this many
        seconds."""
        query = {"wait": wait or None, "seen": seen, "workspace_id": workspace_id or None}
        return await self._wire.ask(OperationAnswer, "GET", _operation(operation_id), query=query)

    async def watch(self, operation_id: str, *, workspace_id: str = "") -> AsyncGenerator[OperationAnswer, None]:
        """Yield each state of an operation, until it has ended."""
        seen = await self.operation(operation_id, workspace_id=workspace_id)
        yield seen
        while not seen.status.ended:
            after = await self.operation(operation_id, wait=LOOK_S, seen=seen.mark, workspace_id=workspace_id)
            if after.mark != seen.mark:
                yield after
            seen = after

    async def cancel(self, operation_id: str, *, workspace_id: str = "") -> OperationAnswer:
        """Cancel an operation; what it has done by then stays done."""
        query = {"workspace_id": workspace_id or None}
        return await self._wire.ask(OperationAnswer, "POST", f"{_operation(operation_id)}:cancel", query=query)


def _operation(operation_id: str) -> str:
    return f"/v1/admin/operations/{in_path(operation_id)}"
