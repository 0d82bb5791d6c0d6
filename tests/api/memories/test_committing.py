"""Group commit: every waiter gets its own answer, and no write is lost if its waiter goes away."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from openbrain.adapters.local.wake import LocalWake
from openbrain.adapters.sql.writes.writing import SqlMemoryWrites
from openbrain.domain.errors import TryLater
from openbrain.ports.store.writes import Outcome, Write
from openbrain_api.memories.committing import Committer
from tests.support.store.fixtures import FakeClock, rows, write
from tests.support.waiting import PATIENCE_S


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    return f"sqlite+aiosqlite:///{tmp_path}/truth.db"


class Gated(SqlMemoryWrites):
    """Writes whose transactions are counted, and held until `go` is set."""

    groups: list[int]
    go: asyncio.Event
    down = False

    async def remember(self, writes: Sequence[Write], *, whole: bool = False) -> Sequence[Outcome]:
        self.groups.append(len(writes))
        await self.go.wait()
        if self.down:
            raise TryLater("the database is down: wait")
        return await super().remember(writes, whole=whole)


@pytest.fixture
def writes(database: object, clock: FakeClock) -> Gated:
    gated = Gated(database, clock)  # type: ignore[arg-type]
    gated.groups, gated.go = [], asyncio.Event()
    gated.go.set()
    return gated


async def told(count: int) -> None:
    """Let everything run that can."""
    for _ in range(count):
        await asyncio.sleep(0)


async def test_what_arrives_while_a_commit_runs_is_the_next_one(writes: Gated) -> None:
    committer = Committer(writes, LocalWake(), group=128, lanes=1)
    writes.go.clear()
    tasks = [asyncio.create_task(committer.remember(write("number 0")))]
    await told(5)
    tasks += [asyncio.create_task(committer.remember(write(f"number {number}"))) for number in range(1, 50)]
    await told(5)
    writes.go.set()
    outcomes = await asyncio.gather(*tasks)

    assert writes.groups == [1, 49]
    assert [outcome.memory and outcome.memory.content for outcome in outcomes] == [f"number {n}" for n in range(50)]


async def test_groups_have_a_limit_and_lanes_run_beside_each_other(writes: Gated) -> None:
    committer = Committer(writes, LocalWake(), group=10, lanes=2)
    writes.go.clear()
    tasks = [asyncio.create_task(committer.remember(write(f"number {number}"))) for number in range(35)]
    await told(5)
    assert len(writes.groups) == 2
    writes.go.set()
    await asyncio.gather(*tasks)

    assert max(writes.groups) <= 10
    assert sum(writes.groups) == 35


async def test_one_after_the_other_each_has_its_commit(writes: Gated) -> None:
    """A lane that has just ended must not be mistaken for one that is still looking for work."""
    committer = Committer(writes, LocalWake(), group=10, lanes=1)
    async with asyncio.timeout(PATIENCE_S):
        for number in range(20):
            await committer.remember(write(f"number {number}"))

    assert writes.groups == [1] * 20


async def test_who_stops_waiting_does_not_stop_the_write(writes: Gated) -> None:
    committer = Committer(writes, LocalWake(), group=10, lanes=1)
    writes.go.clear()
    tasks = [asyncio.create_task(committer.remember(write(f"number {number}"))) for number in range(3)]
    await told(5)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    writes.go.set()
    await committer.close()

    assert {row["content"] for row in await rows(writes._database, "SELECT content FROM memories")} == {
        f"number {number}" for number in range(3)
    }


async def test_a_commit_that_fails_is_told_to_its_waiters_alone(writes: Gated) -> None:
    committer = Committer(writes, LocalWake(), group=10, lanes=1)
    writes.down = True
    with pytest.raises(TryLater):
        await committer.remember(write("lost"))
    writes.down = False

    assert (await committer.remember(write("kept"))).memory


async def test_every_commit_wakes_the_relay(writes: Gated) -> None:
    wake = LocalWake()
    committer = Committer(writes, wake, group=10, lanes=1)
    for number in range(3):
        await committer.remember(write(f"number {number}"))
        assert await wake.wait(PATIENCE_S)
    await committer.remember_all([write(f"more {number}") for number in range(25)])

    assert await wake.wait(PATIENCE_S)
    assert writes.groups[3:] == [10, 10, 5]
