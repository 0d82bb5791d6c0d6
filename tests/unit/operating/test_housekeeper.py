"""One housekeeper leads, its duties never stop while it leads, and a failing duty does not affect the others."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from openbrain.adapters.elasticsearch import removed_documents
from openbrain.adapters.sql.engine.opening import open_database
from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.errors import NeverRetry, SetupError, TryLater
from openbrain.domain.memory import MICROSECONDS
from openbrain.observability import metrics
from openbrain.ports.store.outbox import OutboxEntry
from openbrain.runtime.container import Container
from openbrain.runtime.leader import Leader, PeriodicJob
from openbrain.settings import Settings
from openbrain.streams.redis.connection import connect
from openbrain.usecases.backpressure import Memory, Pressure
from openbrain_housekeeper.app import housekeeper, periodic_jobs
from openbrain_housekeeper.jobs.relay import relay
from tests.support.store.fixtures import FakeClock
from tests.support.store.schema import make_tables
from tests.support.waiting import PATIENCE_S, until

LEASE_S = 0.06
BOX = ("memory.stored", "embedder")


class Lease:
    """The database's lease, which decides who leads."""

    def __init__(self) -> None:
        self.holder = ""
        self.error: Exception | None = None

    async def acquire(self, name: str, holder: str, seconds: float) -> bool:
        if self.error is not None:
            raise self.error
        self.holder = self.holder or holder
        return self.holder == holder

    async def release(self, name: str, holder: str) -> None:
        if self.holder == holder:
            self.holder = ""


class Time:
    """A monotonic clock that can jump, as it seems to do in a process that was suspended."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return asyncio.get_running_loop().time() + self.ahead


async def nothing() -> None:
    return None


def keeper(lease: Lease, time: Time, *rounds: Callable[[], Awaitable[int]]) -> Leader:
    duties = [
        PeriodicJob(f"duty-{place}", round_, lambda _: asyncio.sleep(0.001)) for place, round_ in enumerate(rounds)
    ]
    return Leader("housekeeper", lease, duties, lease_s=LEASE_S, checks={}, close=nothing, clock=time)


class Counted:
    """A duty that counts its rounds, and fails if an error is set."""

    def __init__(self) -> None:
        self.rounds = 0
        self.error: Exception | None = None

    async def __call__(self) -> int:
        self.rounds += 1
        if self.error is not None:
            raise self.error
        return 0

    async def can_continue(self) -> None:
        """Wait until at least one more whole round has run."""
        before = self.rounds

        async def more() -> bool:
            return self.rounds > before + 1

        await until(more)


async def test_duties_go_on_after_the_process_stood_still_longer_than_its_lease() -> None:
    lease, time, duty = Lease(), Time(), Counted()
    service = keeper(lease, time, duty)
    await service.start()
    await duty.can_continue()
    for _ in range(20):
        time.ahead += LEASE_S * 2
        await duty.can_continue()
    await service.stop()

    assert lease.holder == ""


async def test_another_leads_when_the_first_stops_and_never_beside_it() -> None:
    lease, time, first, second = Lease(), Time(), Counted(), Counted()
    one, other = keeper(lease, time, first), keeper(lease, time, second)
    await one.start()
    await first.can_continue()
    await other.start()
    await first.can_continue()
    assert second.rounds == 0

    await one.stop()
    await second.can_continue()
    stopped_at = first.rounds
    await second.can_continue()
    await other.stop()

    assert first.rounds == stopped_at


async def test_a_duty_that_fails_harms_no_other_and_comes_back() -> None:
    lease, time, good, bad = Lease(), Time(), Counted(), Counted()
    bad.error = RuntimeError("with content in it")
    service = keeper(lease, time, good, bad)
    await service.start()
    await good.can_continue()
    await bad.can_continue()
    bad.error = None
    await bad.can_continue()
    await service.stop()


async def test_a_wait_that_fails_does_not_end_its_duty() -> None:
    lease, time, duty = Lease(), Time(), Counted()

    async def broken(_: int) -> None:
        raise RuntimeError("the hint's connection")

    duties = [PeriodicJob("waits", duty, broken)]
    service = Leader("housekeeper", lease, duties, lease_s=LEASE_S, checks={}, close=nothing, clock=time)
    await service.start()
    await duty.can_continue()
    await duty.can_continue()
    await service.stop()


@pytest.mark.parametrize(
    "error",
    [
        TryLater("the database is down"),
        SetupError("the database refuses us, as it does while it is put back"),
        RuntimeError("what no adapter knows"),
    ],
)
async def test_with_the_database_away_it_leads_no_longer_than_its_lease(error: Exception) -> None:
    lease, time, duty = Lease(), Time(), Counted()
    service = keeper(lease, time, duty)
    await service.start()
    await duty.can_continue()
    lease.error = error

    async def leads_no_more() -> bool:
        return not service.leading

    await until(leads_no_more)
    lease.error = None
    await duty.can_continue()
    await service.stop()


class Box:
    """An outbox in memory."""

    def __init__(self, count: int) -> None:
        self.entries = [OutboxEntry(number, "memory.stored", b"%d" % number) for number in range(count)]

    async def take(self, limit: int) -> Sequence[OutboxEntry]:
        return self.entries[:limit]

    async def delete(self, ids: Sequence[int]) -> None:
        self.entries = [entry for entry in self.entries if entry.id not in ids]


class Press:
    """A publisher that refuses every entry from index `refuses` on."""

    def __init__(self, refuses: int | None = None, error: Exception | None = None) -> None:
        self.published: list[bytes] = []
        self.refuses, self.error = refuses, error or TryLater("down")

    async def publish(self, entries: Sequence[tuple[str, bytes]]) -> Sequence[Exception | None]:
        kept = len(entries) if self.refuses is None else self.refuses
        self.published += [body for _, body in entries[:kept]]
        return [None if place < kept else self.error for place in range(len(entries))]


async def never_asked(entry: OutboxEntry) -> None:
    raise AssertionError(entry.id)


async def test_what_was_published_is_deleted_and_what_was_refused_stays_in_order() -> None:
    box, press = Box(5), Press(refuses=2, error=NeverRetry("the key holds no stream"))

    with pytest.raises(TryLater, match="keeps it"):
        await relay(cast("Any", box), press, 10, never_asked)

    assert [entry.id for entry in box.entries] == [2, 3, 4]
    press.refuses = None
    assert await relay(cast("Any", box), press, 10, never_asked) == 3
    assert await relay(cast("Any", box), press, 10, never_asked) == 0
    assert press.published == [b"0", b"1", b"2", b"3", b"4"]


async def test_what_was_accepted_behind_a_refused_event_is_not_published_again() -> None:
    box, published = Box(4), list[bytes]()

    class Choosy:
        async def publish(self, entries: Sequence[tuple[str, bytes]]) -> Sequence[Exception | None]:
            taken = [body for _, body in entries if body != b"1"]
            published.extend(taken)
            return [None if body in taken else NeverRetry("the key holds no stream") for _, body in entries]

    for _ in range(3):
        with pytest.raises(TryLater, match="keeps it"):
            await relay(cast("Any", box), Choosy(), 10, never_asked)

    assert published == [b"0", b"2", b"3"]
    assert [entry.id for entry in box.entries] == [1]


async def test_a_duty_in_its_long_pause_is_not_stuck_and_one_that_hangs_is() -> None:
    lease, time, seldom, hanging = Lease(), Time(), Counted(), asyncio.Event()

    async def hangs() -> int:
        await hanging.wait()
        return 0

    duties = [
        PeriodicJob("seldom", seldom, lambda _: asyncio.sleep(600), pause_s=600),
        PeriodicJob("hangs", hangs, lambda _: asyncio.sleep(0)),
    ]
    service = Leader("housekeeper", lease, duties, lease_s=3600, checks={}, close=nothing, clock=time)
    await service.start()

    async def ran() -> bool:
        return seldom.rounds == 1

    await until(ran)
    assert service.stuck() == []
    time.ahead = 50
    assert service.stuck() == []
    time.ahead = 500
    assert set(service.stuck()) == {"hangs", "lease"}
    time.ahead = 661
    assert "seldom" in service.stuck()
    await service.stop()


async def test_a_round_is_given_its_own_time() -> None:
    time, begun, hanging = Time(), asyncio.Event(), asyncio.Event()

    async def merges() -> int:
        begun.set()
        await hanging.wait()
        return 0

    duty = PeriodicJob.every(100, "merges", merges, round_s=900)
    service = Leader("housekeeper", Lease(), [duty], lease_s=3600, checks={}, close=nothing, clock=time)
    await service.start()
    await begun.wait()
    time.ahead = 990
    assert "merges" not in service.stuck()
    time.ahead = 1001
    assert "merges" in service.stuck()
    await service.stop()


async def test_a_round_that_loses_its_cancellation_begins_no_long_pause() -> None:
    """Python 3.11 can lose a cancellation like this inside a wait for Redis."""
    begun = asyncio.Event()

    async def deaf() -> int:
        begun.set()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(600)
        return 0

    duties = [PeriodicJob("deaf", deaf, lambda _: asyncio.sleep(600))]
    leader = Leader("housekeeper", Lease(), duties, lease_s=60, checks={}, close=nothing)
    await leader.start()
    await begun.wait()

    await asyncio.wait_for(leader.stop(), PATIENCE_S)


async def test_it_stops_though_the_cancellation_was_lost_while_it_asked_for_the_lease() -> None:
    """Python 3.11 can lose a cancellation that arrives as an inner wait ends."""
    asked = asyncio.Event()

    class Losing(Lease):
        async def acquire(self, name: str, holder: str, seconds: float) -> bool:
            if not asked.is_set():
                asked.set()
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.Event().wait()
            return await super().acquire(name, holder, seconds)

    service = keeper(Losing(), Time(), Counted())
    await service.start()
    await asked.wait()
    async with asyncio.timeout(10):
        await service.stop()

    assert service.stuck() == ["housekeeper ended"]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def store(tmp_path: Path, clock: FakeClock) -> AsyncIterator[SqlStore]:
    database = open_database(f"sqlite+aiosqlite:///{tmp_path}/store.db")
    await database.write(make_tables)
    yield SqlStore(database, clock)
    await database.close()


@pytest.fixture
async def standby(store: SqlStore, clock: FakeClock) -> AsyncIterator[Leader]:
    """A housekeeper that does not lead."""

    async def memory() -> Memory:
        return Memory(used=1, limit=4)

    pressure = Pressure(store.outbox, memory, outbox_limit=10, memory_share=0.8)
    settings = Settings.model_validate({"streams": {"url": "redis://nowhere.invalid"}})
    container = Container(settings, shared=True)
    container.__dict__.update(store=store, clock=clock, pressure=pressure)
    service = housekeeper(container)
    yield service
    await service.stop()


async def test_a_standby_shows_the_age_of_the_outbox(standby: Leader, store: SqlStore, clock: FakeClock) -> None:
    event = f'{{"time": "{datetime.fromtimestamp(clock.now() / MICROSECONDS, UTC).isoformat()}"}}'
    await store.outbox.announce([("memory.stored", event.encode())])
    clock.advance(90 * MICROSECONDS)
    await standby.measure()
    assert metrics.OUTBOX_OLDEST_SECONDS._value.get() == pytest.approx(90, abs=1)

    await store.outbox.delete([entry.id for entry in await store.outbox.take(1)])
    await standby.measure()
    assert metrics.OUTBOX_OLDEST_SECONDS._value.get() == 0


async def test_a_database_that_is_down_delays_no_scrape_by_an_error(
    standby: Leader, store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def down() -> int:
        raise TryLater("the database is down")

    metrics.OUTBOX_OLDEST_SECONDS.set(7)
    monkeypatch.setattr(store.outbox, "unpublished_since", down)
    await standby.measure()
    assert metrics.OUTBOX_OLDEST_SECONDS._value.get() == 7


async def test_a_former_leader_shows_no_old_back_pressure(standby: Leader) -> None:
    for gauge, old in ((metrics.BACKLOG_FULL, 1), (metrics.OUTBOX_WAITING, 10), (metrics.STREAM_MEMORY_SHARE, 0.9)):
        gauge.set(old)
    await standby.measure()
    assert metrics.BACKLOG_FULL._value.get() == 0
    assert metrics.OUTBOX_WAITING._value.get() == 0
    assert metrics.STREAM_MEMORY_SHARE._value.get() == 0.25


def test_a_round_of_operations_may_last_as_long_as_the_merge_of_an_index(tmp_path: Path) -> None:
    settings = Settings.model_validate({"data_dir": tmp_path, "streams": {"url": "redis://nowhere.invalid"}})
    container = Container(settings, shared=True)
    jobs = {job.name: job for job in periodic_jobs(container, connect(settings.streams), None)}
    assert jobs["operations"].round_s > removed_documents.MERGE_S


async def test_a_former_leader_shows_no_old_share_of_dead_letters(standby: Leader) -> None:
    metrics.STREAM_DEAD_LETTERS_FILLED.labels(*BOX).set(0.9)
    await standby.measure()
    assert BOX not in {
        (sample.labels["stream"], sample.labels["group"])
        for family in metrics.STREAM_DEAD_LETTERS_FILLED.collect()
        for sample in family.samples
    }
