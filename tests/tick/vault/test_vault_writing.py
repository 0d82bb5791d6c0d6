"""One writer per vault, ensured by a lease in the database, on both databases, and by a lock in the folder."""

import asyncio
import errno
import fcntl
import os
import tempfile
from pathlib import Path

import pytest

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.errors import SetupError
from openbrain.usecases.vault_lock import VaultBusy, vault_writer
from openbrain.vault.files.folder import Folder
from openbrain.vault.files.lock import LOCK, FolderLock
from tests.support.store.fixtures import rows
from tests.support.waiting import until


def host(tmp_path: Path) -> Folder:
    """Return the vault as another host mounts it, which does not see this host's locks."""
    return Folder(Path(tempfile.mkdtemp(dir=tmp_path)))


async def test_writers_follow_one_another(store: SqlStore, tmp_path: Path) -> None:
    inside: list[int] = []
    most: list[int] = []

    async def write(number: int) -> None:
        async with vault_writer(store.leases, "w1", host(tmp_path), wait_s=60, poll_s=0.01):
            inside.append(number)
            most.append(len(inside))
            await asyncio.sleep(0)
            inside.remove(number)

    await asyncio.gather(*(write(number) for number in range(5)))

    assert most == [1] * 5


async def test_who_waits_too_long_is_told_when_to_come_again(store: SqlStore, tmp_path: Path) -> None:
    async with vault_writer(store.leases, "w1", host(tmp_path)):
        with pytest.raises(VaultBusy) as busy:
            async with vault_writer(store.leases, "w1", host(tmp_path), wait_s=0):
                pytest.fail("two write at once")
        async with vault_writer(store.leases, "w2", host(tmp_path), wait_s=0):
            pass

    assert busy.value.retry_after_s >= 1


async def test_a_failure_gives_the_vault_back(store: SqlStore, tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        async with vault_writer(store.leases, "w1", host(tmp_path)):
            raise ZeroDivisionError
    async with vault_writer(store.leases, "w1", host(tmp_path), wait_s=0):
        pass


async def test_a_writer_cancelled_twice_gives_the_vault_back(store: SqlStore, tmp_path: Path) -> None:
    inside = asyncio.Event()

    async def write() -> None:
        async with vault_writer(store.leases, "w1", host(tmp_path)):
            inside.set()
            await asyncio.Event().wait()

    writing = asyncio.create_task(write())
    await inside.wait()
    writing.cancel()
    await asyncio.sleep(0)  # it ends its own task now
    writing.cancel()
    await asyncio.wait({writing})
    async with vault_writer(store.leases, "w1", host(tmp_path), wait_s=5):
        pass


async def test_a_long_write_prolongs_its_lease(store: SqlStore, database: Database, tmp_path: Path) -> None:
    async def ends() -> int:
        (row,) = await rows(database, "SELECT expires_at FROM leases WHERE name = 'vault.w1'")
        return int(row["expires_at"])

    async with vault_writer(store.leases, "w1", host(tmp_path), lease_s=30, prolong_s=0.05):
        first = await ends()

        async def prolonged() -> bool:
            return await ends() > first

        await until(prolonged)


async def test_the_vault_of_a_dead_writer_is_free_after_its_lease(store: SqlStore, tmp_path: Path) -> None:
    assert await store.leases.acquire("vault.w1", "dead", 0.3)

    async def taken() -> bool:
        try:
            async with vault_writer(store.leases, "w1", host(tmp_path), wait_s=0):
                return True
        except VaultBusy:
            return False

    await until(taken)


async def test_a_writer_waits_for_one_of_the_same_folder_with_another_database(store: SqlStore, tmp_path: Path) -> None:
    folder, command = Folder(tmp_path), FolderLock(Folder(tmp_path))
    assert command.acquire()
    with pytest.raises(VaultBusy):
        async with vault_writer(store.leases, "w1", folder, wait_s=0):
            pytest.fail("two write at once")
    command.release()
    async with vault_writer(store.leases, "w1", folder, wait_s=0):
        assert not command.acquire()
        with pytest.raises(VaultBusy):
            async with vault_writer(None, "", folder, wait_s=0):
                pytest.fail("two write at once")

    assert command.acquire()
    command.release()


async def test_a_folder_without_locks_has_the_lease_alone(
    store: SqlStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", without)
    async with vault_writer(store.leases, "w1", Folder(tmp_path), wait_s=0):
        with pytest.raises(VaultBusy):
            async with vault_writer(store.leases, "w1", Folder(tmp_path), wait_s=0):
                pytest.fail("two write at once")


async def test_a_lock_that_can_not_be_taken_is_told_and_gives_the_lease_back(store: SqlStore, tmp_path: Path) -> None:
    (tmp_path / ".openbrain" / "lock").mkdir(parents=True)
    with pytest.raises(SetupError, match=r"lock can't be locked \(Is a directory\)"):
        async with vault_writer(store.leases, "w1", Folder(tmp_path), wait_s=0):
            pytest.fail("written without the lock")
    async with vault_writer(store.leases, "w1", host(tmp_path), wait_s=0):
        pass


def test_the_lock_is_for_all_users_of_the_folder_whoever_makes_it(tmp_path: Path) -> None:
    tmp_path.chmod(0o775)
    before, lock = os.umask(0o077), FolderLock(Folder(tmp_path))
    try:
        assert lock.acquire()
    finally:
        os.umask(before)
        lock.release()

    assert (tmp_path / LOCK).stat().st_mode & 0o777 == 0o664
