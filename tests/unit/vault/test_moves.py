"""Pages that a plan moves unchanged are renamed, and no concurrent edit is lost."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from openbrain.domain.errors import Conflict
from openbrain.vault.files.changes import Change, sha256
from openbrain.vault.files.folder import Folder
from openbrain.vault.pages import journal
from openbrain.vault.pages.journal import Applied, apply, recover
from tests.support.vault.files import FILES, lay, tree

MOVED = {**{path: data for path, data in FILES.items() if path != "d.md"}, "left/far/d.md": b"four"}
LONG_AGO = 1_000_000_000_000_000_000


class Killed(BaseException):
    """Simulates the end of the process: no handler of ours may catch it."""


def laid(root: Path) -> Folder:
    """Write all files with an old time, so that their times show every edit."""
    folder = lay(root, FILES)
    for path in FILES:
        os.utime(root / path, ns=(LONG_AGO + 1, LONG_AGO + 1))
    return folder


def changes() -> list[Change]:
    return [Change("d.md", sha256(b"four"), None), Change("left/far/d.md", None, b"four", "d.md")]


def test_a_page_that_goes_elsewhere_is_the_same_file(tmp_path: Path) -> None:
    folder = laid(tmp_path)
    before = (tmp_path / "d.md").stat()

    applied = apply(folder, changes())

    after = (tmp_path / "left/far/d.md").stat()
    assert applied == Applied(written=1, removed=1)
    assert (after.st_ino, after.st_mtime_ns, after.st_mode) == (before.st_ino, before.st_mtime_ns, before.st_mode)
    assert applied.laid["left/far/d.md"] == ("left/far/d.md", before.st_mtime_ns, 4)
    assert tree(tmp_path) == MOVED


@pytest.mark.parametrize("step", ["left/far/d.md in place", "done"])
@pytest.mark.parametrize("again", [False, True])
def test_a_kill_around_a_move_is_recovered_from(tmp_path: Path, step: str, again: bool) -> None:
    def killed(told: str) -> None:
        if told == step:
            raise Killed

    folder = laid(tmp_path)
    with pytest.raises(Killed):
        apply(folder, changes(), at_step=killed)
    if again:
        with pytest.raises(Killed):
            recover(folder, at_step=killed)

    assert recover(folder) == Applied(written=1, removed=1)
    assert tree(tmp_path) == MOVED
    assert recover(folder) == Applied()


@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.parametrize(
    ("path", "left"), [("d.md", {"d.md": b"mine"}), ("left/far/d.md", {"d.md": b"four", "left/far/d.md": b"mine"})]
)
def test_what_somebody_edits_or_puts_there_meanwhile_stays(
    tmp_path: Path, path: str, left: dict[str, bytes], killed: bool
) -> None:
    def edited(step: str) -> None:
        if step == "left/far/d.md in place":
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_bytes(b"mine")
            if killed:
                raise Killed

    folder = laid(tmp_path)
    try:
        applied = apply(folder, changes(), at_step=edited)
    except Killed:
        applied = recover(folder)

    assert applied.edited == ("d.md", "left/far/d.md")
    assert tree(tmp_path) == {**{name: data for name, data in FILES.items() if name != "d.md"}, **left}


def test_an_edit_that_keeps_size_and_time_is_noticed_to_the_last_moment(tmp_path: Path) -> None:
    def edited(step: str) -> None:
        if step == "journal":
            for path in ("a.md", "d.md"):
                (tmp_path / path).write_bytes(b"mine"[: len(FILES[path])])
                os.utime(tmp_path / path, ns=(LONG_AGO + 1, LONG_AGO + 1))

    wanted = [*changes(), Change("a.md", sha256(b"one"), b"ONE")]
    assert apply(laid(tmp_path), wanted, at_step=edited).edited == ("d.md", "left/far/d.md", "a.md")
    assert tree(tmp_path) == {**FILES, "a.md": b"min", "d.md": b"mine"}


def test_a_move_over_what_is_there_or_of_what_has_changed_does_nothing(tmp_path: Path) -> None:
    folder = laid(tmp_path)
    with pytest.raises(Conflict):
        apply(folder, [Change("d.md", sha256(b"4"), None), Change("left/d.md", None, b"4", "d.md")])
    with pytest.raises(Conflict):
        apply(folder, [Change("d.md", sha256(b"four"), None), Change("a.md", None, b"four", "d.md")])
    assert tree(tmp_path) == FILES


def test_between_two_file_systems_a_page_is_copied_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, renamed = laid(tmp_path), os.rename

    def refuses(source: str, target: str, **more: Any) -> None:
        if source == "d.md":
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        renamed(source, target, **more)

    monkeypatch.setattr(os, "rename", refuses)
    assert apply(folder, changes()) == Applied(written=1, removed=1)
    assert tree(tmp_path) == MOVED
    assert folder.digest(journal.JOURNAL) is None


def test_between_two_file_systems_a_page_that_appears_meanwhile_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, renamed = laid(tmp_path), os.rename

    def refuses(source: str, target: str, **more: Any) -> None:
        if source == "d.md":
            (tmp_path / "left/far/d.md").write_bytes(b"mine")
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        renamed(source, target, **more)

    monkeypatch.setattr(os, "rename", refuses)
    assert apply(folder, changes()).edited == ("d.md", "left/far/d.md")
    assert tree(tmp_path) == {**FILES, "left/far/d.md": b"mine"}
