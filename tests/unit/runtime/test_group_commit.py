"""The thread that commits for all writers: who shares a commit, and what result each writer gets."""

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

import pytest

from openbrain.adapters.tantivy.generation import Batch, Failures
from openbrain.adapters.tantivy.group_commit import FLOW, MOST_ENTRIES, GroupCommit
from openbrain.domain.errors import TryLater
from tests.support.indexes.entries import new_id, tombstone
from tests.support.waiting import PATIENCE_S


@dataclass
class Disk:
    """Receives the groups; a commit lasts until `may_end` is released."""

    groups: list[Sequence[Batch]] = field(default_factory=list)
    began: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    may_end: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    error: BaseException | None = None

    def write(self, batches: Sequence[Batch]) -> list[Failures]:
        self.groups.append(batches)
        self.began.release()
        assert self.may_end.acquire(timeout=PATIENCE_S)
        if self.error is not None:
            raise self.error
        return [{batch[0].id: ValueError(batch[0].id)} for batch in batches]

    def let_go(self, commits: int = 1) -> None:
        for _ in range(commits):
            self.may_end.release()


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture
def commits(disk: Disk) -> Iterator[GroupCommit]:
    commits = GroupCommit("test", disk.write, pause_s=0)
    yield commits
    disk.let_go(100)
    commits.close()


def batch(entries: int = 1) -> Batch:
    return [tombstone(new_id(), revision=1) for _ in range(entries)]


def holding(commits: GroupCommit, disk: Disk, several: Sequence[Batch]) -> list["Future[Failures]"]:
    """Start one commit and queue these batches behind it."""
    commits.submit(batch())
    assert disk.began.acquire(timeout=PATIENCE_S)
    return [commits.submit(each) for each in several]


def test_what_arrives_during_a_commit_is_the_next(commits: GroupCommit, disk: Disk) -> None:
    several = [batch() for _ in range(5)]
    waiting = holding(commits, disk, several)

    disk.let_go(2)

    assert [list(each.result(PATIENCE_S)) for each in waiting] == [[each[0].id] for each in several]
    assert disk.groups[1:] == [several]


def test_a_commit_takes_no_more_than_its_share(commits: GroupCommit, disk: Disk) -> None:
    waiting = holding(commits, disk, [batch(MOST_ENTRIES // 2) for _ in range(3)])

    disk.let_go(3)

    for each in waiting:
        each.result(PATIENCE_S)
    assert [len(group) for group in disk.groups] == [1, 2, 1]


def test_in_a_flow_commits_keep_their_pause(disk: Disk) -> None:
    commits = GroupCommit("test", disk.write, pause_s=PATIENCE_S)
    disk.let_go(3)
    commits.submit(batch(FLOW)).result(PATIENCE_S)
    assert disk.began.acquire(timeout=PATIENCE_S)

    waiting = [commits.submit(batch())]
    assert not disk.began.acquire(timeout=0.05), "committed without a pause"
    waiting.append(commits.submit(batch(MOST_ENTRIES)))

    for each in waiting:
        each.result(PATIENCE_S)
    assert [len(group) for group in disk.groups] == [1, 2], "a full group waits for nothing"
    commits.close()


def test_a_pause_ends(disk: Disk) -> None:
    commits = GroupCommit("test", disk.write, pause_s=0.05)
    disk.let_go(2)
    commits.submit(batch(FLOW)).result(PATIENCE_S)

    assert commits.submit(batch()).result(PATIENCE_S)

    commits.close()


def test_few_entries_are_followed_without_a_pause(disk: Disk) -> None:
    commits = GroupCommit("test", disk.write, pause_s=2 * PATIENCE_S)
    disk.let_go(2)
    commits.submit(batch(FLOW - 1)).result(PATIENCE_S)

    assert commits.submit(batch()).result(PATIENCE_S)

    commits.close()


def test_who_gave_up_waiting_is_left_out(commits: GroupCommit, disk: Disk) -> None:
    several = [batch(), batch()]
    waiting = holding(commits, disk, several)
    assert waiting[0].cancel()

    disk.let_go(2)

    waiting[1].result(PATIENCE_S)
    assert disk.groups[1:] == [[several[1]]]


class Panic(BaseException):
    """Like the engine's panics, which do not derive from Exception."""


@pytest.mark.parametrize("error", [TryLater("the disk is full"), Panic()])
def test_a_failed_commit_is_told_to_each_and_the_thread_goes_on(
    commits: GroupCommit, disk: Disk, error: BaseException
) -> None:
    waiting = holding(commits, disk, [batch(), batch()])
    disk.let_go()
    assert disk.began.acquire(timeout=PATIENCE_S)
    disk.error = error
    disk.let_go()

    for each in waiting:
        with pytest.raises(TryLater):
            each.result(PATIENCE_S)
    disk.error = None
    disk.let_go()
    assert commits.submit(batch()).result(PATIENCE_S)


def test_closing_writes_what_waits_and_takes_no_more(disk: Disk) -> None:
    commits = GroupCommit("test", disk.write, pause_s=0)
    waiting = holding(commits, disk, [batch(), batch()])
    disk.let_go(3)

    commits.close()

    assert all(each.done() and each.result(0) for each in waiting)
    with pytest.raises(TryLater, match="closing"):
        commits.submit(batch())
