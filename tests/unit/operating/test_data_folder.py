"""Stored files are readable by their owner only, also in a folder made by an earlier version or by hand."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from openbrain.adapters.local.data_folder import DataFolder, holder
from openbrain.domain.errors import SetupError
from openbrain_cli.profile import Profile

MODES = (0o755, 0o750, 0o705, 0o777, 0o2770, 0o701)


def rights(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.mark.parametrize("mode", MODES, ids=oct)
def test_an_open_folder_is_closed_with_all_that_is_in_it(tmp_path: Path, mode: int) -> None:
    folder, outside = tmp_path / "data", tmp_path / "outside"
    (folder / "vectors" / "first").mkdir(parents=True)
    outside.write_text("not ours to change")
    files = [folder / "truth.sqlite3", folder / "key", folder / "vectors" / "first" / "page"]
    for file in files:
        file.write_text("secret")
    (folder / "link").symlink_to(outside)
    for path in (*files, outside, folder / "vectors" / "first", folder / "vectors", folder):
        path.chmod(mode)
    with capture_logs() as said, DataFolder(folder):
        assert {rights(path) & 0o077 for path in (folder, *folder.rglob("*")) if not path.is_symlink()} == {0}
        assert all(rights(file) & 0o700 == mode & 0o700 for file in files), "the owner keeps its rights"
        assert rights(outside) == mode & 0o777
    assert [each["event"] for each in said] == ["start.folder_closed"]
    with capture_logs() as again, DataFolder(folder):
        pass
    assert again == [], "reported once"


def test_a_vault_in_it_keeps_its_rights(tmp_path: Path) -> None:
    page = tmp_path / "data" / "vault" / "left" / "a.md"
    page.parent.mkdir(parents=True)
    page.write_text("a page")
    page.chmod(0o644)
    with DataFolder(tmp_path / "data", leave=[tmp_path / "data" / "vault"]):
        assert rights(tmp_path / "data") == 0o700
    assert rights(page) == 0o644


def test_a_folder_of_someone_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(SetupError, match=r"belongs to another user.*--data"):
        DataFolder(tmp_path).open()


def test_a_file_system_without_rights_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o755)
    monkeypatch.setattr(Path, "chmod", lambda *_: None)  # as on a mounted FAT file system
    with pytest.raises(SetupError, match="has no permissions"):
        DataFolder(tmp_path).open()


@contextmanager
def shut(folder: Path) -> Iterator[None]:
    """Let the folder be another user's, who has closed it."""
    folder.chmod(0)
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)
        folder.chmod(0o700)


def test_a_folder_that_is_closed_to_this_user_is_told(tmp_path: Path) -> None:
    """Else `openbrain stop` would say that nothing runs, and every other command to start it."""
    folder = tmp_path / "brain"
    folder.mkdir()
    for look in (lambda: holder(folder), lambda: Profile(data_dir=folder, environment={}).url):
        with shut(folder), pytest.raises(SetupError, match=r"brain is closed to this user: ask its owner for a key"):
            look()
    assert Profile(data_dir=folder, environment={"OPENBRAIN_URL": "http://localhost:1"}).url == "http://localhost:1"
