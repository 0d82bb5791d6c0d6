"""Changes to many files are made all or not at all, also if the writer is killed between two."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openbrain.domain.errors import Conflict, Invalid, TryLater
from openbrain.vault.files.changes import Change, sha256
from openbrain.vault.markers import atomic_writes
from openbrain.vault.pages import journal
from openbrain.vault.pages.journal import Applied, apply, recover
from tests.support.forms import examples
from tests.support.processes.small_disk import small_disk
from tests.support.vault.files import FILES, WANTED, Files, lay, plan, tree

SECOND = 1_000_000_000
LONG_AGO = 1_000_000_000 * SECOND


class Killed(BaseException):
    """Simulates the end of the process: no handler of ours may catch it."""


def steps(root: Path, wanted: Files) -> list[str]:
    told: list[str] = []
    apply(lay(root, FILES), plan(FILES, wanted), at_step=told.append)
    return told


def test_a_plan_is_done_whole(tmp_path: Path) -> None:
    folder = lay(tmp_path, FILES)

    assert apply(folder, plan(FILES, WANTED)) == Applied(written=3, removed=2)
    assert tree(tmp_path) == WANTED
    assert apply(folder, plan(WANTED, WANTED)) == Applied()


def aged(root: Path, path: str) -> int:
    """How much newer a file is than LONG_AGO, nanoseconds."""
    return (root / path).stat().st_mtime_ns - LONG_AGO


@pytest.mark.parametrize("killed_at", ["", "d.md", "left/d.md in place"])
def test_what_says_nothing_new_keeps_its_time_and_is_still_noticed(tmp_path: Path, killed_at: str) -> None:
    folder = lay(tmp_path, FILES)
    for path in FILES:
        os.utime(tmp_path / path, ns=(LONG_AGO, LONG_AGO))
    changes = [
        Change("a.md", sha256(b"one"), b"ONE", "a.md"),
        Change("left/b.md", sha256(b"two\n"), b"TWO\n"),
        Change("d.md", sha256(b"four"), None),
        Change("left/d.md", None, b"four", "d.md"),
        Change("e.md", None, b"", "gone.md"),
    ]

    def killed(step: str) -> None:
        if step == killed_at:
            raise Killed

    try:
        apply(folder, changes, at_step=killed)
    except Killed:
        recover(folder)
    assert (aged(tmp_path, "a.md"), aged(tmp_path, "left/d.md")) == (2 * SECOND, 0), "a rename adds no time"
    assert aged(tmp_path, "left/b.md") > SECOND * 1000 < aged(tmp_path, "e.md")
    assert aged(tmp_path, "left/c.md") == 0


def test_a_file_of_the_future_is_as_new_as_its_writing(tmp_path: Path) -> None:
    folder = lay(tmp_path, FILES)
    os.utime(tmp_path / "a.md", ns=(LONG_AGO, LONG_AGO + 10**19))
    apply(folder, [Change("a.md", sha256(b"one"), b"ONE", "a.md")])
    assert aged(tmp_path, "a.md") < 10**19


def test_a_plan_of_a_file_that_changed_meanwhile_does_nothing(tmp_path: Path) -> None:
    folder = lay(tmp_path, FILES)
    wanted = plan(FILES, WANTED)
    (tmp_path / "d.md").write_bytes(b"edited")
    with pytest.raises(Conflict):
        apply(folder, wanted)
    assert tree(tmp_path) == {**FILES, "d.md": b"edited"}


def test_a_file_that_appeared_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    folder = lay(tmp_path, FILES)
    with pytest.raises(Conflict):
        apply(folder, [Change("a.md", None, b"new")])
    assert tree(tmp_path) == FILES


@pytest.mark.parametrize("path", ["../x.md", "/x.md", ".openbrain/journal", "left/.hidden"])
def test_a_plan_writes_pages_only(tmp_path: Path, path: str) -> None:
    with pytest.raises(Invalid):
        apply(lay(tmp_path, FILES), [Change(path, None, b"x")])


def test_a_plan_names_a_file_once(tmp_path: Path) -> None:
    with pytest.raises(Invalid):
        apply(lay(tmp_path, FILES), [Change("n.md", None, b"x"), Change("n.md", None, b"y")])


def test_who_finds_an_old_journal_recovers_first(tmp_path: Path) -> None:
    folder = lay(tmp_path, FILES)

    def killed(step: str) -> None:
        if step == "a.md":
            raise Killed

    with pytest.raises(Killed):
        apply(folder, plan(FILES, WANTED), at_step=killed)
    with pytest.raises(Conflict, match="recover"):
        apply(folder, plan(FILES, WANTED))
    assert recover(folder) == Applied(written=3, removed=2)
    assert tree(tmp_path) == WANTED
    assert recover(folder) == Applied()


def test_a_kill_at_every_step_ends_in_the_same_bytes(tmp_path: Path) -> None:
    """`kill -9` the process at every step: before the journal is written nothing has changed, after it everything
    will be."""
    for number, step in enumerate(steps(tmp_path / "whole", WANTED)):
        root = tmp_path / str(number)
        folder = lay(root, FILES)
        ended = subprocess.run(
            [sys.executable, "-m", "tests.support.vault.files", str(root), step],
            cwd=Path(__file__).parents[3],
            check=False,
        ).returncode
        assert ended == -9
        recover(folder)
        assert tree(root) == (FILES if step == "journal" else WANTED)


def test_a_kill_while_recovering_is_recovered_from(tmp_path: Path) -> None:
    for number, step in enumerate(steps(tmp_path / "whole", WANTED)[1:]):
        root = tmp_path / str(number)
        folder = lay(root, FILES)

        def killed(told: str, step: str = step) -> None:
            if told == step:
                raise Killed

        with pytest.raises(Killed):
            apply(folder, plan(FILES, WANTED), at_step=killed)
        with pytest.raises(Killed):
            recover(folder, at_step=killed)
        recover(folder)
        assert tree(root) == WANTED


def test_a_half_written_file_is_cleared_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kill between writing a temporary file and renaming it, for every such file, the journal's included."""
    rename = os.rename
    for number in range(4):
        root = tmp_path / str(number)
        folder = lay(root, FILES)
        left = [number]

        def killed(*names: str, left: list[int] = left, **where: Any) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise Killed
            rename(*names, **where)

        with monkeypatch.context() as patched:
            patched.setattr(os, "rename", killed)
            with pytest.raises(Killed):
                apply(folder, plan(FILES, WANTED))
        assert set(tree(root)) - {*FILES, *WANTED, journal.JOURNAL}
        recover(folder)
        assert tree(root) == (WANTED if number else FILES)


@pytest.mark.parametrize("path", ["a.md", "d.md"])
def test_an_edit_while_files_are_laid_out_is_kept_and_told(tmp_path: Path, path: str) -> None:
    folder = lay(tmp_path, FILES)

    def edited(step: str) -> None:
        if step == f"{path} in place":
            (tmp_path / path).write_bytes(b"by hand")

    assert apply(folder, plan(FILES, WANTED), at_step=edited).edited == (path,)
    assert tree(tmp_path) == {**WANTED, path: b"by hand"}


def test_more_files_than_are_laid_out_together_are_all_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "TOGETHER", 2)
    test_a_plan_is_done_whole(tmp_path / "plan")
    test_a_kill_at_every_step_ends_in_the_same_bytes(tmp_path / "kills")


def test_an_edit_between_kill_and_recovery_is_kept_and_told(tmp_path: Path) -> None:
    folder = lay(tmp_path, FILES)

    def killed(step: str) -> None:
        if step == "a.md":
            raise Killed

    with pytest.raises(Killed):
        apply(folder, plan(FILES, WANTED), at_step=killed)
    (tmp_path / "d.md").write_bytes(b"mine")
    (tmp_path / "a.md").unlink()
    (tmp_path / "a.md").symlink_to("d.md")

    assert recover(folder) == Applied(written=2, removed=1, edited=("a.md", "d.md"))
    assert tree(tmp_path) == {**WANTED, "d.md": b"mine", "a.md": b"mine"}


@pytest.mark.parametrize("replaced_by", ["file", "link"])
def test_a_folder_replaced_between_kill_and_recovery_holds_nobody_up(tmp_path: Path, replaced_by: str) -> None:
    root = tmp_path / "vault"
    folder = lay(root, FILES)

    def killed(step: str) -> None:
        if step == "a.md in place":
            raise Killed

    with pytest.raises(Killed):
        apply(folder, plan(FILES, WANTED), at_step=killed)
    away = (root / "left").rename(tmp_path / "left")
    if replaced_by == "file":
        (root / "left").write_bytes(b"mine")
    else:
        (root / "left").symlink_to(away)
    recovered = recover(folder)

    assert recovered.edited == ("left/c.md",)
    assert (root / "a.md").read_bytes() == b"ONE"
    assert recover(folder) == Applied()
    assert not (root / journal.JOURNAL).exists()


def test_a_journal_of_an_older_writer_is_done(tmp_path: Path) -> None:
    head = f'{{"version": 1, "changes": [["a.md", "{sha256(b"one")}", 3], ["d.md", "{sha256(b"four")}", null]]}}'
    folder = lay(tmp_path, {**FILES, journal.JOURNAL: head.encode() + b"\nONE"})
    assert recover(folder) == Applied(written=1, removed=1)
    assert (tmp_path / "a.md").read_bytes() == b"ONE"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"[]\n",
        b'{"version": 9, "changes": []}\n',
        b'{"version": 1, "changes": 5}',
        b'{"version": 1, "changes": [["a.md", null, 1]], "times": [1]}\nx',
    ],
)
def test_a_journal_that_cannot_be_read_is_told_and_stays(tmp_path: Path, data: bytes) -> None:
    folder = lay(tmp_path, {**FILES, journal.JOURNAL: data})
    with pytest.raises(Invalid, match="journal"):
        recover(folder)
    assert tree(tmp_path) == {**FILES, journal.JOURNAL: data}


def test_a_journal_cannot_lead_out_of_the_vault(tmp_path: Path) -> None:
    data = b'{"version": 1, "changes": [["../out.md", null, 1]]}\nx'
    folder = lay(tmp_path / "vault", {journal.JOURNAL: data})
    with pytest.raises(Invalid):
        recover(folder)
    assert not (tmp_path / "out.md").exists()


names = st.sampled_from(["a.md", "b.md", "x/a.md", "x/y/b.md", "z.md"])
folders = st.dictionaries(names, st.binary(max_size=6), max_size=5)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=examples(40))
@given(before=folders, wanted=folders, at=st.integers(0, 16))
def test_whatever_is_planned_a_kill_leaves_one_of_two_states(
    tmp_path_factory: pytest.TempPathFactory, before: Files, wanted: Files, at: int
) -> None:
    root = tmp_path_factory.mktemp("vault")
    folder = lay(root, before)
    told: list[str] = []

    def killed(step: str) -> None:
        told.append(step)
        if len(told) > at:
            raise Killed

    try:
        apply(folder, plan(before, wanted), at_step=killed)
    except Killed:
        recover(folder)
    assert tree(root) == (before if at == 0 else wanted)


def many() -> Files:
    return {f"left/{number}.md": b"page" for number in range(journal.MANY + 5)}


@pytest.mark.parametrize("can", [True, False])
def test_many_files_are_flushed_at_once_where_the_system_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, can: bool
) -> None:
    together: list[int] = []
    alone: list[int] = []

    def syncfs(descriptor: int) -> int:
        together.append(descriptor)
        return 0

    monkeypatch.setattr(atomic_writes, "_SYNCFS", syncfs if can else None)
    monkeypatch.setattr(os, "fsync", alone.append)
    assert apply(lay(tmp_path, {}), plan({}, many())).written == len(many())

    assert len(together) == 2 * can, (
        "contents are synced before the first rename; the renames, before the journal is deleted"
    )
    assert (len(alone) > len(many())) is not can
    assert tree(tmp_path) == many()


def test_a_disk_that_fails_to_flush_is_told_and_the_rest_is_done_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = lay(tmp_path, {})
    monkeypatch.setattr(atomic_writes, "_SYNCFS", lambda _: -1)
    with pytest.raises(TryLater, match="disk answers"):
        apply(folder, plan({}, many()))
    assert not [path for path in tree(tmp_path) if path.endswith(".md") and not path.startswith(".")]
    monkeypatch.undo()

    recover(folder)

    assert tree(tmp_path) == many()


def test_every_file_system_below_the_vault_is_flushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: list[int] = []

    def syncfs(descriptor: int) -> int:
        flushed.append(os.fstat(descriptor).st_dev)
        return 0

    monkeypatch.setattr(atomic_writes, "_SYNCFS", syncfs)
    with small_disk(tmp_path / "left", 4):
        folder = lay(tmp_path, {})
        assert apply(folder, plan({}, {**many(), "a.md": b"", "right/b.md": b""})).written == len(many()) + 2
        devices = {tmp_path.stat().st_dev, (tmp_path / "left").stat().st_dev}

    assert len(devices) == 2
    assert sorted(flushed) == sorted([*devices, *devices])


def test_an_operation_that_ends_leaves_the_folders_of_another_open(tmp_path: Path) -> None:
    folder = lay(tmp_path, FILES)
    with folder.held() as held:
        assert held.read("left/b.md") == "two\n"
        with folder.held() as other:
            assert other.read("left/b.md") == "two\n"
        assert (held.read("left/c.md"), folder.read("a.md")) == ("three", "one")
