"""Jobs that go through memories, and the way back."""

from collections.abc import Mapping
from typing import Unpack

from openbrain.client.arguments import Backfilled, CleanedWhat, Consolidated, Lifecycled, Pruned, Refiled
from openbrain.client.wire import Wire, in_path
from openbrain.contract.admin.lifecycle import LifecycleStarted
from openbrain.contract.admin.policies import PoliciesAnswer, RetentionAnswer


class Lifecycles:
    """Methods of the client for the admins of a workspace."""

    _wire: Wire

    async def prune(self, *, dry_run: bool = True, **how: Unpack[Pruned]) -> LifecycleStarted:
        """Archive what meets every limit given (at least one is needed); by default only find out what that would be.
        `watch` the operation: its result has the report."""
        return await self._started("prune", {**how, "dry_run": dry_run})

    async def dedupe(self, *, dry_run: bool = True, **which: Unpack[Lifecycled]) -> LifecycleStarted:
        """Archive what says the same as another memory of its place, which stays; by default only find out what."""
        return await self._started("dedupe", {**which, "dry_run": dry_run})

    async def consolidate(self, *, dry_run: bool = True, **how: Unpack[Consolidated]) -> LifecycleStarted:
        """Merge memories about the same into the surest of them; by default only find out which."""
        return await self._started("consolidate", {**how, "dry_run": dry_run})

    async def refile(self, *, dry_run: bool = True, **how: Unpack[Refiled]) -> LifecycleStarted:
        """File what matches elsewhere; by default only find out what that would be."""
        return await self._started("refile", {**how, "dry_run": dry_run})

    async def backfill_org(self, *, dry_run: bool = True, **how: Unpack[Backfilled]) -> LifecycleStarted:
        """Give memories of a project and no org the org of the project; by default only find out which."""
        return await self._started("backfill-org", {**how, "dry_run": dry_run})

    async def clean(self, *, dry_run: bool = True, **how: Unpack[CleanedWhat]) -> LifecycleStarted:
        """Put right what is stored (at least one of `strip_pii`, `strip_secrets`, `normalise`); by default only find
        out what that would be. Can't be undone."""
        body: dict[str, object] = {**how, "dry_run": dry_run}
        return await self._wire.ask(LifecycleStarted, "POST", "/v1/admin/lifecycle:clean", body=body, well=(202,))

    async def undo(self, operation_id: str) -> LifecycleStarted:
        """Put back what a lifecycle operation archived or rewrote within the last 30 days. `Conflict` where that can't
        be."""
        path = f"/v1/admin/operations/{in_path(operation_id)}:undo"
        return await self._wire.ask(LifecycleStarted, "POST", path, well=(202,))

    async def policies(self) -> PoliciesAnswer:
        """The workspace's policies on the life of its memories."""
        return await self._wire.ask(PoliciesAnswer, "GET", "/v1/admin/lifecycle")

    async def set_policies(self, document: Mapping[str, object]) -> PoliciesAnswer:
        """Decide anew: `policies` that run by themselves, `legal_hold`; the document before is gone."""
        return await self._wire.ask(PoliciesAnswer, "PUT", "/v1/admin/lifecycle", body=document)

    async def retention(self) -> RetentionAnswer:
        """The workspace's days of retention."""
        return await self._wire.ask(RetentionAnswer, "GET", "/v1/admin/retention")

    async def _started(self, job: str, body: dict[str, object]) -> LifecycleStarted:
        path, dry_run = f"/v1/admin/lifecycle:{job}", bool(body["dry_run"])
        return await self._wire.ask(LifecycleStarted, "POST", path, body=body, repeat=dry_run, well=(202,))
