"""Nothing outside a vault's folder is read or written, whatever its paths and links say."""

import errno
import os
from pathlib import Path
from typing import NamedTuple, cast

import pytest

from openbrain.domain.errors import Invalid, NotFound, TryLater
from openbrain.domain.limits import PATH_CHARS
from openbrain.domain.times import to_datetime
from openbrain.vault import limits
from openbrain.vault.files.folder import Entry, Folder
from openbrain.vault.markers import atomic_writes
from openbrain.vault.values import Problem


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    root = tmp_path / "vault"
    (root / "left" / "deep").mkdir(parents=True)
    (root / "left" / "deep" / "a.md").write_text("inside", encoding="utf-8")
    (tmp_path / "secret.md").write_text("outside", encoding="utf-8")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "b.md").write_text("outside", encoding="utf-8")
    return root


BAD_PATHS = [
    "",
    "/etc/passwd",
    "../secret.md",
    "left/../../secret.md",
    "left//a.md",
    "./left",
    "left/.",
    "a\\b",
    "a\0b",
]
BAD_PATHS += ["a\nb", "left/", "x" * (PATH_CHARS + 1), ".."]


@pytest.mark.parametrize("path", BAD_PATHS)
def test_a_path_that_leaves_the_vault_is_refused(vault: Path, path: str) -> None:
    folder = Folder(vault)
    for door in (folder.read, folder.stat, folder.digest, lambda path: atomic_writes.write(folder, path, b"x")):
        with pytest.raises(Invalid):
            door(path)
    assert (vault.parent / "secret.md").read_text(encoding="utf-8") == "outside"


def test_a_file_is_read_with_its_line_breaks(vault: Path) -> None:
    (vault / "crlf.md").write_bytes(b"a\r\nb\rc\n")

    assert Folder(vault).read("crlf.md") == "a\r\nb\rc\n"
    assert Folder(vault).read("left/deep/a.md") == "inside"
    assert Folder(vault).stat("left/deep/a.md").size == 6
    assert Folder(vault).digest("left/none.md") is None
    for missing in ("left/none.md", "none/a.md", "left/deep/a.md/b.md"):
        with pytest.raises(NotFound):
            Folder(vault).read(missing)


def test_links_out_of_the_vault_are_refused_and_told(vault: Path) -> None:
    (vault / "file.md").symlink_to(vault.parent / "secret.md")
    (vault / "up.md").symlink_to("../secret.md")
    (vault / "folder").symlink_to(vault.parent / "other")
    (vault / "dead.md").symlink_to("nowhere.md")
    (vault / "round.md").symlink_to("round.md")
    folder = Folder(vault)
    for path in ("file.md", "up.md", "folder/b.md"):
        with pytest.raises(Invalid, match="out of the vault"):
            folder.read(path)
    for path in ("dead.md", "round.md"):
        with pytest.raises((NotFound, Invalid)):
            folder.read(path)
    problems: list[Problem] = []

    assert [entry.path for entry in folder.walk("", problems)] == ["left/deep/a.md"]
    assert [problem.path for problem in problems] == ["dead.md", "file.md", "folder", "round.md", "up.md"]
    assert list(folder.walk("folder", problems)) == []


def test_links_inside_the_vault_are_read_and_never_written(vault: Path) -> None:
    (vault / "ref.md").symlink_to("left/deep/a.md")
    (vault / "short").symlink_to("left/deep")
    folder = Folder(vault)

    assert (folder.read("ref.md"), folder.read("short/a.md")) == ("inside", "inside")
    for path in ("ref.md", "short/a.md"):
        with pytest.raises(Invalid):
            folder.digest(path)
    with pytest.raises(Invalid):
        atomic_writes.write(folder, "short/new.md", b"x")
    assert sorted(path.name for path in (vault / "left" / "deep").iterdir()) == ["a.md"]


def test_a_vault_that_is_itself_behind_a_link_works(vault: Path) -> None:
    (vault.parent / "link").symlink_to(vault)

    assert Folder(vault.parent / "link").read("left/deep/a.md") == "inside"


def test_a_pipe_or_folder_is_no_page_and_nothing_waits_for_it(vault: Path) -> None:
    os.mkfifo(vault / "pipe.md")
    problems: list[Problem] = []
    for path in ("pipe.md", "left"):
        with pytest.raises(Invalid):
            Folder(vault).read(path)
    assert [entry.path for entry in Folder(vault).walk("", problems)] == ["left/deep/a.md"]
    assert [problem.path for problem in problems] == ["pipe.md"]


def test_what_is_too_large_or_no_text_is_refused(vault: Path) -> None:
    (vault / "big.md").write_bytes(b"x" * 101)
    (vault / "bytes.md").write_bytes(b"a\nb\xff")
    with pytest.raises(Invalid, match="100 bytes"):
        Folder(vault, max_bytes=100).read("big.md")
    with pytest.raises(Invalid, match="line 2"):
        Folder(vault).read("bytes.md")


def test_hidden_names_and_odd_ones_are_left_out(vault: Path) -> None:
    (vault / ".obsidian").mkdir()
    (vault / ".obsidian" / "x.md").write_text("x", encoding="utf-8")
    (vault / "a\nb.md").write_text("x", encoding="utf-8")
    Path(os.fsdecode(os.fsencode(vault) + b"/\xff.md")).write_text("x", encoding="utf-8")
    problems: list[Problem] = []

    assert [entry.path for entry in Folder(vault).walk("", problems)] == ["left/deep/a.md"]
    assert len(problems) == 2


def test_a_folder_that_may_be_listed_but_not_entered_is_told(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed(NamedTuple):
        name: str

        def is_file(self, *, follow_symlinks: bool) -> bool:
            return not follow_symlinks

        def stat(self, *, follow_symlinks: bool) -> os.stat_result:
            raise PermissionError(errno.EACCES, "Permission denied", follow_symlinks)

    monkeypatch.setattr(os, "scandir", lambda _: [Closed("a.md")])
    problems: list[Problem] = []

    assert list(Folder(vault).walk("left", problems)) == []
    assert problems == [Problem("left/a.md", 0, "can't be read: Permission denied")]


@pytest.mark.parametrize(("mtime_s", "year"), [(10**13, 9999), (-(10**13), 1)])
def test_an_mtime_that_is_no_date_becomes_the_nearest_one(vault: Path, mtime_s: int, year: int) -> None:
    status = (vault / "left" / "deep" / "a.md").stat()

    class Odd:
        st_mtime_ns, st_size = mtime_s * 10**9, status.st_size

    assert to_datetime(Entry.of("a.md", cast(os.stat_result, Odd)).mtime_ns // 1000).year == year
    assert Entry.of("a.md", status) == Entry("a.md", status.st_mtime_ns, 6)


def test_folders_without_end_are_bounded(vault: Path) -> None:
    deep = vault / "/".join(["d"] * (limits.FOLDER_DEPTH + 3))
    deep.mkdir(parents=True)
    (deep / "x.md").write_text("x", encoding="utf-8")
    problems: list[Problem] = []

    assert [entry.path for entry in Folder(vault).walk("", problems)] == ["left/deep/a.md"]
    assert len(problems) == 1


def test_a_vault_that_is_not_mounted_is_said_to_be(tmp_path: Path) -> None:
    with pytest.raises(TryLater, match="mounted"):
        Folder(tmp_path / "none").read("a.md")


def test_a_file_is_replaced_whole_and_keeps_its_rights(vault: Path) -> None:
    folder = Folder(vault)
    (vault / "left" / "deep" / "a.md").chmod(0o640)
    atomic_writes.write(folder, "left/deep/a.md", b"new")
    atomic_writes.write(folder, "new/folder/b.md", b"other")

    assert (vault / "left" / "deep" / "a.md").read_bytes() == b"new"
    assert (vault / "left" / "deep" / "a.md").stat().st_mode & 0o777 == 0o640
    assert folder.read("new/folder/b.md") == "other"
    assert [entry.path for entry in folder.walk()] == ["left/deep/a.md", "new/folder/b.md"]
    assert [path.name for path in (vault / "left" / "deep").iterdir()] == ["a.md"]
    atomic_writes.remove(folder, "new/folder/b.md")
    atomic_writes.remove(folder, "new/folder/b.md")
    assert folder.digest("new/folder/b.md") is None


def test_the_file_that_is_open_elsewhere_stays_as_it_was(vault: Path) -> None:
    with (vault / "left" / "deep" / "a.md").open(encoding="utf-8") as reader:
        atomic_writes.write(Folder(vault), "left/deep/a.md", b"new")
        assert reader.read() == "inside"


@pytest.mark.parametrize("mode", [0o700, 0o750, 0o755, 0o2775], ids=oct)
def test_what_is_made_takes_the_rights_of_its_folder_and_not_of_the_process(vault: Path, mode: int) -> None:
    (vault / "left").mkdir(exist_ok=True)
    (vault / "left").chmod(mode)
    before = os.umask(0o077)
    try:
        atomic_writes.write(Folder(vault), "left/new/deep/page.md", b"text")
    finally:
        os.umask(before)
    assert (vault / "left" / "new").stat().st_mode & 0o7777 == mode
    assert (vault / "left" / "new" / "deep").stat().st_mode & 0o7777 == mode
    assert (vault / "left" / "new" / "deep" / "page.md").stat().st_mode & 0o7777 == mode & 0o666
