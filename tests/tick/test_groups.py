"""A plan too large for one write: others write in between, and a kill there loses nothing."""

import asyncio
import os
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from openbrain.adapters.sql.store import SqlStore
from openbrain.usecases.vault_lock import vault_writer
from openbrain.vault.files.changes import Change
from openbrain.vault.files.folder import Folder
from openbrain.vault.pages import journal
from openbrain_tick.apply import plan_and_write
from openbrain_tick.apply.plan_and_write import WriteResult
from openbrain_tick.ports import Ports
from openbrain_tick.tick import tick
from openbrain_tick.vaults import Vault
from tests.support.vault.pages import Vault as Pages
from tests.support.vault.pages import page
from tests.support.vault.ticking import DAY, database_url, job, settled, vault_of
from tests.support.waiting import PATIENCE_S

__all__ = ["database_url"]


async def test_a_large_plan_lets_other_writers_in_between(
    ports: Ports, pages: Pages, store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_and_write, "GROUP", 1)
    loop, wrote, order = asyncio.get_running_loop(), plan_and_write._write, list[str]()
    others: list[asyncio.Task[None]] = []

    async def other() -> None:
        async with vault_writer(store.leases, "w1", Folder(pages.root), wait_s=PATIENCE_S):
            order.append("another")

    def writes(vault: Vault, changes: Sequence[Change], done: WriteResult) -> bool:
        order.append("tick")
        if not others:
            loop.call_soon_threadsafe(lambda: others.append(loop.create_task(other())))
        return wrote(vault, changes, done)

    monkeypatch.setattr(plan_and_write, "_write", writes)
    report = await tick(job(), vault_of(pages, wait_s=PATIENCE_S), ports)
    await asyncio.gather(*others)

    assert order.count("tick") == report["changes"]["written"] > 5
    assert order[-1] == "tick"


async def test_a_page_that_is_edited_while_others_take_their_places_is_planned_anew(
    ports: Ports, pages: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, edits = f"{DAY}/a.md", ["\nBy hand.\n"]

    def edited(step: str) -> None:
        if step == f"{path} in place" and edits:
            pages.write(path, pages.read(path) + edits.pop())

    monkeypatch.setattr(plan_and_write, "apply", partial(journal.apply, at_step=edited))
    before = pages.tree()
    report = await tick(job(), vault_of(pages), ports)

    after = pages.tree()
    assert sorted(report["changes"]["paths"]) == sorted(name for name in after if after[name] != before.get(name))
    assert pages.read(path).endswith("By hand.\n")
    assert "heat: 0\n" not in pages.read(path)


@pytest.mark.parametrize("groups", range(1, 9, 2))
async def test_a_tick_killed_between_two_groups_is_done_by_the_next(
    groups: int, ports: Ports, pages: Pages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages.write("raw/inbox/note.md", "---\ntitle: A note\ntags: [reference]\n---\n\nIt moves.\n")
    twin = Pages(tmp_path / "twin")
    for path, data in pages.tree().items():
        twin.write(path, data.decode())
        os.utime(twin.root / path, ns=((pages.root / path).stat().st_mtime_ns,) * 2)
    monkeypatch.setattr(plan_and_write, "GROUP", 1)
    monkeypatch.setattr(plan_and_write, "PAUSE_S", 0)
    wrote, left = plan_and_write._write, [groups]

    def killed(vault: Vault, changes: Sequence[Change], done: WriteResult) -> bool:
        left[0] -= 1
        if left[0] < 0:
            raise asyncio.CancelledError
        return wrote(vault, changes, done)

    monkeypatch.setattr(plan_and_write, "_write", killed)
    with pytest.raises(asyncio.CancelledError):
        await tick(job(), vault_of(pages), ports)
    assert "It moves." in "".join(text.decode() for text in pages.tree().values())
    monkeypatch.undo()
    await tick(job(), vault_of(pages), ports)
    await tick(job(), vault_of(twin), ports)

    assert settled(pages.tree()) == settled(twin.tree())


@pytest.mark.parametrize("groups", range(1, 11))
async def test_a_tick_killed_between_two_groups_leaves_a_page_that_moves(
    groups: int, ports: Ports, pages: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    cold = page("2026-01-02-old", "It graduates.", created="2026-01-02T10:00:00Z")
    pages.write("clusters/2026-01-02/2026-01-02-old.md", cold)
    monkeypatch.setattr(plan_and_write, "GROUP", 1)
    monkeypatch.setattr(plan_and_write, "PAUSE_S", 0)
    wrote, left = plan_and_write._write, [groups]

    def killed(vault: Vault, changes: Sequence[Change], done: WriteResult) -> bool:
        left[0] -= 1
        if left[0] < 0:
            raise asyncio.CancelledError
        return wrote(vault, changes, done)

    monkeypatch.setattr(plan_and_write, "_write", killed)
    with suppress(asyncio.CancelledError):
        await tick(job(), vault_of(pages), ports)

    holding = [path for path, text in pages.tree().items() if b"It graduates." in text]
    assert len(holding) == 1, "never in no folder, and not in two"
    assert holding[0].startswith("left/" if groups == 10 else "clusters/")
