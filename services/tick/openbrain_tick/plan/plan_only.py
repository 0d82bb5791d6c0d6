"""Makes a plan from the current vault, without writing."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from openbrain.vault.files.changes import Change
from openbrain.vault.pages.index import Scan
from openbrain_tick.plan.plan import Plan, begin
from openbrain_tick.vaults import Vault

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Planned(Generic[T]):
    """The plan, the result of `make`, and the changes. If it was written: all changes written, also by earlier
    tries."""

    plan: Plan
    made: T
    changes: tuple[Change, ...]


async def plan_only(vault: Vault, now_us: int, make: Callable[[Plan], T], scan: Scan | None = None) -> Planned[T]:
    """Make a plan without writing. `scan`: a recent scan to use."""

    def made() -> Planned[T]:
        with vault.folder.held() as folder:
            plan = begin(scan or vault.index.scan(vault.folder), folder.read, now_us, vault.thresholds)
            result = make(plan)
            return Planned(plan, result, plan.changes())

    return await in_thread(made)


async def in_thread(work: Callable[[], T]) -> T:
    """Run `work` in a thread, and wait for its end even if this task is cancelled: nobody else may write meanwhile."""
    task = asyncio.create_task(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.gather(task, return_exceptions=True)
        raise
