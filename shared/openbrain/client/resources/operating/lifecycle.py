"""Client methods for lifecycle jobs on memories, and their undo."""

from collections.abc import Mapping
from typing import Unpack

from openbrain.client.arguments import Backfilled, CleanedWhat, Consolidated, Lifecycled, Pruned, Refiled
from openbrain.client.wire import Wire, in_path, refuse_empty, write_headers
from openbrain.contract.admin.lifecycle import LifecycleStarted
from openbrain.contract.admin.policies import PoliciesAnswer, RetentionAnswer


class Lifecycles:
    """Client methods for the admins of a workspace. Jobs are dry runs by default."""

    _wire: Wire

    async def prune(self, *, dry_run: bool = True, **how: Unpack[Pruned]) -> LifecycleStarted:
        """Archive the memories that meet every limit given (at least one is needed). By default a dry run. `watch` the
        operation: its result has the report."""
        return await self._started("prune", {**how, "dry_run": dry_run})

    async def dedupe(self, *, dry_run: bool = True, **which: Unpack[Lifecycled]) -> LifecycleStarted:
        """Archive duplicates: memories that say the same as another one, which stays. By default a dry run."""
        return await self._started("dedupe", {**which, "dry_run": dry_run})

    async def consolidate(self, *, dry_run: bool = True, **how: Unpack[Consolidated]) -> LifecycleStarted:
        """Merge memories about the same thing into the most confident of them. By default a dry run."""
        return await self._started("consolidate", {**how, "dry_run": dry_run})

    async def refile(self, *, dry_run: bool = True, **how: Unpack[Refiled]) -> LifecycleStarted:
        """Move matching memories to another org, project, scope or agent. By default a dry run."""
        return await self._started("refile", {**how, "dry_run": dry_run})

    async def backfill_org(self, *, dry_run: bool = True, **how: Unpack[Backfilled]) -> LifecycleStarted:
        """Give memories that have a project and no org the org of the project. By default a dry run."""
        return await self._started("backfill-org", {**how, "dry_run": dry_run})

    async def clean(self, *, dry_run: bool = True, **how: Unpack[CleanedWhat]) -> LifecycleStarted:
        """Correct stored memories (at least one of `strip_pii`, `strip_secrets`, `normalise`). By default a dry run.
        Can't be undone."""
        return await self._started("clean", {**how, "dry_run": dry_run})

    async def undo(self, operation_id: str) -> LifecycleStarted:
        """Undo what a lifecycle operation archived or rewrote within the last 30 days. `Conflict` if that is not
        possible."""
        path = f"/v1/admin/operations/{in_path(operation_id)}:undo"
        return await self._wire.ask(LifecycleStarted, "POST", path, repeat=False, well=(202,))

    async def policies(self) -> PoliciesAnswer:
        """Return the workspace's lifecycle policies."""
        return await self._wire.ask(PoliciesAnswer, "GET", "/v1/admin/lifecycle")

    async def set_policies(self, document: Mapping[str, object], *, if_match: str = "") -> PoliciesAnswer:
        """Replace the workspace's policies document: `policies` (scheduled jobs), `legal_hold`, `retention`.
        `if_match`: raise `Outdated` if its entity tag (its `edition` in quotes) is no longer this one."""
        headers = write_headers(if_match=if_match)
        return await self._wire.ask(PoliciesAnswer, "PUT", "/v1/admin/lifecycle", body=document, headers=headers)

    async def retention(self) -> RetentionAnswer:
        """Return the workspace's retention, in days."""
        return await self._wire.ask(RetentionAnswer, "GET", "/v1/admin/retention")

    async def _started(self, job: str, body: dict[str, object]) -> LifecycleStarted:
        refuse_empty({name: body[name] for name in Lifecycled.__annotations__ if name in body})
        path, dry_run = f"/v1/admin/lifecycle:{job}", bool(body["dry_run"])
        return await self._wire.ask(LifecycleStarted, "POST", path, body=body, repeat=dry_run, well=(202,))
