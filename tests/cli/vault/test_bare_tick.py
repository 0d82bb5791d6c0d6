"""A tick of a folder without a server, and the vault that a local brain creates without being asked."""

import asyncio
from pathlib import Path

import pytest

from openbrain.adapters.local.transcript_consent import allow, answer, transcripts_allowed, transcripts_folder
from openbrain.domain.errors import Conflict, NotFound, SetupError
from openbrain.settings import Settings, Vaults
from openbrain.vault.files.folder import Folder
from openbrain.vault.files.lock import FolderLock
from openbrain_cli.vault.bare_tick import tick_folder
from openbrain_cli.vault.new_vault import make_vault, with_vault
from tests.support.vault.pages import Vault as Pages
from tests.support.vault.ticking import pages

__all__ = ["pages"]


async def test_a_bare_folder_is_kept_and_its_feed_copied_without_a_server(pages: Pages, tmp_path: Path) -> None:
    settings, feed = Settings(_env_file=None, data_dir=tmp_path / "data"), tmp_path / "feed"

    async def kept(*, dry_run: bool = False) -> dict[str, object]:
        return await tick_folder(pages.root, feed, settings, ai=False, dry_run=dry_run, extract=False)

    looked = await kept(dry_run=True)
    assert "hot-arcs.md" in str(looked["diff"])
    assert not feed.exists()
    done = await kept()
    again = await kept()

    assert "bans rise" in (feed / "signals.md").read_text()
    assert (feed / "signals.md").read_bytes() == (pages.root / "brain-feed" / "signals.md").read_bytes()
    assert done["problems"] == again["problems"] == []
    assert not (tmp_path / "data").exists()
    with pytest.raises(NotFound, match="openbrain vault init"):
        await tick_folder(tmp_path / "none", None, settings, ai=False, dry_run=False, extract=False)
    own = settings.data_dir / "vault"
    own.mkdir(parents=True)
    with pytest.raises(Conflict, match="without --vault"):
        await tick_folder(own, None, settings, ai=False, dry_run=False, extract=False)
    (tmp_path / "link").symlink_to(own)
    with pytest.raises(Conflict, match="without --vault"):
        await tick_folder(tmp_path / "link", None, settings, ai=False, dry_run=False, extract=False)


async def test_a_folder_for_the_feed_that_has_other_files_is_refused_before_the_tick(
    pages: Pages, tmp_path: Path
) -> None:
    (tmp_path / "feed").mkdir()
    (tmp_path / "feed" / "mine.md").touch()
    before = sorted(pages.root.rglob("*"))
    settings = Settings(_env_file=None, data_dir=tmp_path / "data")
    with pytest.raises(Conflict, match="did not write"):
        await tick_folder(pages.root, tmp_path / "feed", settings, ai=False, dry_run=False, extract=False)

    assert sorted(pages.root.rglob("*")) == before


async def test_a_lock_that_can_not_be_taken_is_told(tmp_path: Path) -> None:
    (tmp_path / ".openbrain" / "lock").mkdir(parents=True)
    with pytest.raises(SetupError, match=r"lock can't be locked \(Is a directory\)"):
        FolderLock(Folder(tmp_path)).acquire()


async def test_two_ticks_of_one_folder_write_one_after_the_other(
    pages: Pages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, waiting = FolderLock(Folder(pages.root)), asyncio.Event()
    assert other.acquire()
    acquire, loop = FolderLock.acquire, asyncio.get_running_loop()

    def asked(self: FolderLock) -> bool:
        got = acquire(self)
        if not got:
            loop.call_soon_threadsafe(waiting.set)
        return got

    monkeypatch.setattr(FolderLock, "acquire", asked)
    settings = Settings(_env_file=None, data_dir=tmp_path / "data")
    ticking = asyncio.create_task(tick_folder(pages.root, None, settings, ai=False, dry_run=False, extract=False))
    await asyncio.wait({ticking, waited := asyncio.create_task(waiting.wait())}, return_when=asyncio.FIRST_COMPLETED)
    assert (waited.done(), (pages.root / "brain-feed" / "signals.md").exists()) == (True, False)

    other.release()
    assert (await ticking)["changes"]["written"] > 0
    assert other.acquire()
    other.release()


def test_a_brain_has_a_vault_unless_the_settings_speak_of_vaults(tmp_path: Path) -> None:
    unasked = with_vault(Settings(_env_file=None, data_dir=tmp_path))
    none = Settings(_env_file=None, data_dir=tmp_path, vaults=Vaults(folders={}))

    assert unasked.vaults.folders == {"default": tmp_path / "vault"}
    assert with_vault(none).vaults.folders == {}
    assert make_vault(tmp_path / "vault")
    assert make_vault(tmp_path / "vault") == []


def test_transcripts_are_read_when_the_user_said_so_and_no_longer(tmp_path: Path) -> None:
    folder = tmp_path / "projects"
    assert (answer(tmp_path), transcripts_allowed(tmp_path), transcripts_folder(tmp_path)) == (None, False, None)

    allow(tmp_path, folder, read=True)
    assert (answer(tmp_path), transcripts_folder(tmp_path)) == (True, None)
    folder.mkdir()
    assert transcripts_folder(tmp_path) == folder
    allow(tmp_path, folder, read=False)
    assert (answer(tmp_path), transcripts_allowed(tmp_path), transcripts_folder(tmp_path)) == (False, False, None)

    (tmp_path / "transcripts.json").write_text("[")
    assert (answer(tmp_path), transcripts_folder(tmp_path)) == (None, None)
