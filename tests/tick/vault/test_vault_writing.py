"""One writer per vault, ensured by a lease in the database, on both databases."""

import asyncio

import pytest

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.store import SqlStore
from openbrain.usecases.vault_lock import VaultBusy, vault_writer
from tests.support.store.fixtures import rows
from tests.support.waiting import until


async def test_writers_follow_one_another(store: SqlStore) -> None:
    inside: list[int] = []
    most: list[int] = []

    async def write(number: int) -> None:
        async with vault_writer(store.leases, "w1", wait_s=60, poll_s=0.01):
            inside.append(number)
            most.append(len(inside))
            await asyncio.sleep(0)
            inside.remove(number)

    await asyncio.gather(*(write(number) for number in range(5)))

    assert most == [1] * 5


async def test_who_waits_too_long_is_told_when_to_come_again(store: SqlStore) -> None:
    async with vault_writer(store.leases, "w1"):
        with pytest.raises(VaultBusy) as busy:
            async with vault_writer(store.leases, "w1", wait_s=0):
                pytest.fail("two write at once")
        async with vault_writer(store.leases, "w2", wait_s=0):
            pass

    assert busy.value.retry_after_s >= 1


async def test_a_failure_gives_the_vault_back(store: SqlStore) -> None:
    with pytest.raises(ZeroDivisionError):
        async with vault_writer(store.leases, "w1"):
            raise ZeroDivisionError
    async with vault_writer(store.leases, "w1", wait_s=0):
        pass


async def test_a_writer_cancelled_twice_gives_the_vault_back(store: SqlStore) -> None:
    inside = asyncio.Event()

    async def write() -> None:
        async with vault_writer(store.leases, "w1"):
            inside.set()
            await asyncio.Event().wait()

    writing = asyncio.create_task(write())
    await inside.wait()
    writing.cancel()
    await asyncio.sleep(0)  # it ends its own task now
    writing.cancel()
    await asyncio.wait({writing})
    async with vault_writer(store.leases, "w1", wait_s=5):
        pass


async def test_a_long_write_prolongs_its_lease(store: SqlStore, database: Database) -> None:
    async def ends() -> int:
        (row,) = await rows(database, "SELECT expires_at FROM leases WHERE name = 'vault.w1'")
        return int(row["expires_at"])

    async with vault_writer(store.leases, "w1", lease_s=30, prolong_s=0.05):
        first = await ends()

        async def prolonged() -> bool:
            return await ends() > first

        await until(prolonged)


async def test_the_vault_of_a_dead_writer_is_free_after_its_lease(store: SqlStore) -> None:
    assert await store.leases.acquire("vault.w1", "dead", 0.3)

    async def taken() -> bool:
        try:
            async with vault_writer(store.leases, "w1", wait_s=0):
                return True
        except VaultBusy:
            return False

    await until(taken)
