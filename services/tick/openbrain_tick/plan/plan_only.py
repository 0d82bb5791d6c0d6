"""Makes a plan from the current vault, without writing."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from openbrain.domain.tasks import in_thread
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
            # Without links: what is read is written next, and a link never is.
            read = partial(folder.read, links=False)
            plan = begin(scan or vault.index.scan(vault.folder), read, now_us, vault.thresholds)
            result = make(plan)
            return Planned(plan, result, plan.changes())

    return await in_thread(made)
