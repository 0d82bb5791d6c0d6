"""Makes a plan and writes it as the vault's only writer. The lease is held only while writing."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

import structlog

from openbrain.domain.errors import Conflict, TryLater
from openbrain.domain.tasks import in_thread
from openbrain.ports.store.operations import Leases
from openbrain.usecases.vault_lock import vault_writer
from openbrain.vault.files.changes import Change
from openbrain.vault.files.folder import Entry, Seen
from openbrain.vault.pages.index import Scan
from openbrain.vault.pages.journal import JOURNAL, apply, recover
from openbrain_tick.plan.plan import Plan
from openbrain_tick.plan.plan_only import Planned, plan_only
from openbrain_tick.vaults import Vault

TRIES = 5
GROUP, PAUSE_S = 1000, 0.15
"""Files written under one lease (about a second), and the pause after it, in which others who poll for the lease every
50 ms can take it."""
_log = structlog.get_logger(__name__)
T = TypeVar("T")


@dataclass(slots=True)
class WriteResult:
    """All changes that one call has written, and the entries of their files. `seen`: states of the scanned files."""

    seen: Mapping[str, Seen] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    laid: dict[str, Entry] = field(default_factory=dict)


async def plan_and_write(
    vault: Vault, leases: Leases, now_us: int, make: Callable[[Plan], T], scan: Scan | None = None
) -> Planned[T]:
    """Plan by `make`, which is called in a thread, and write. Plan again if a page was changed meanwhile or an earlier
    writer was killed. `TryLater` after too many tries, `VaultBusy` if another writer takes too long. `scan`: a recent
    scan to use for the first try."""
    done = WriteResult()
    for _ in range(TRIES):
        planned = await plan_only(vault, now_us, make, scan)
        scan = None
        # Without changes there is nothing to do, unless a killed writer has left its journal.
        if not planned.changes and await asyncio.to_thread(vault.folder.digest, JOURNAL) is None:
            return replace(planned, changes=tuple(done.changes))
        try:
            done.seen = planned.plan.scan.seen
            if await _written(vault, leases, planned.changes, done):
                await in_thread(partial(_index_pages, vault, planned, done.laid))
                return replace(planned, changes=tuple(done.changes))
        except Conflict:
            _log.info("tick.planned_anew", workspace=vault.workspace_id)
    raise TryLater("pages of the vault change faster than they can be written: try again later")


async def _written(vault: Vault, leases: Leases, wanted: Sequence[Change], done: WriteResult) -> bool:
    """Write the changes, group by group. False if the plan is outdated."""
    for number, group in enumerate(_groups(wanted)):
        if number:
            await asyncio.sleep(PAUSE_S)
        async with vault_writer(leases, vault.workspace_id, vault.folder, wait_s=vault.wait_s):
            if not await in_thread(partial(_write, vault, group, done)):
                return False
    return True


def _groups(wanted: Sequence[Change]) -> list[list[Change]]:
    """The changes in the order of writing, at least one group. Removals come last, so that a writer killed between two
    groups leaves duplicates of pages rather than losing some, and the next tick does the rest. Those of moved pages
    stand beside the new file, in the same group."""
    moved = {change.time_of: change.path for change in wanted if change.before is None and change.time_of}

    def place(change: Change) -> tuple[bool, str]:
        return change.after is None and change.path not in moved, moved.get(change.path, change.path)

    groups: list[list[Change]] = [[]]
    for change in sorted(wanted, key=place):
        if len(groups[-1]) >= GROUP and place(change) != place(groups[-1][-1]):
            groups.append([])
        groups[-1].append(change)
    return groups


def _write(vault: Vault, changes: Sequence[Change], done: WriteResult) -> bool:
    """Write one group and add it to `done`. False if the plan is outdated: a killed writer's changes had to be
    completed first, or somebody edited a page during the writing."""
    left = recover(vault.folder)
    if left.written or left.removed or left.edited:
        _log.warning("tick.recovered", workspace=vault.workspace_id, written=left.written, edited=len(left.edited))
        return False
    applied = apply(vault.folder, changes, seen=done.seen)
    done.changes.extend(change for change in changes if change.path not in applied.edited)
    done.laid.update(applied.laid)
    return not applied.edited


def _index_pages(vault: Vault, planned: Planned[T], laid: Mapping[str, Entry]) -> None:
    """Record the written pages in the index. This needs no lease: a later change of a page gives it another mtime."""
    pages = planned.plan.pages
    vault.index.written(
        (pages[change.path], laid[change.path], change.digest)
        for change in planned.changes
        if change.digest is not None and change.path in pages and change.path in laid
    )
