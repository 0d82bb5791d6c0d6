"""A plan made of a vault as it stands, and nothing written."""

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
    """The plan, what making it gave, and what it changes: of one that is written all that was, by earlier tries too."""

    plan: Plan
    made: T
    changes: tuple[Change, ...]


async def plan_only(vault: Vault, now_us: int, make: Callable[[Plan], T], scan: Scan | None = None) -> Planned[T]:
    """Planned, and nothing written; over `scan` where it was just made."""

    def made() -> Planned[T]:
        with vault.folder.held() as folder:
            plan = begin(scan or vault.index.scan(vault.folder), folder.read, now_us, vault.thresholds)
            result = make(plan)
            return Planned(plan, result, plan.changes())

    return await in_thread(made)


async def in_thread(work: Callable[[], T]) -> T:
    """In a thread, and to its end also where this task is cancelled: nobody else must write meanwhile."""
    task = asyncio.create_task(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.gather(task, return_exceptions=True)
        raise
