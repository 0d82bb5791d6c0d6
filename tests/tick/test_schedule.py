"""The schedule of ticks: each slot once, the last missed one is made up for, extraction once a day."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.errors import SetupError
from openbrain.domain.times import from_datetime
from openbrain.ports.store.tenants import Workspace
from openbrain.ports.store.vault import Tick
from openbrain.runtime.adapters import clock as clock_of_this_machine
from openbrain.settings import Settings, Truth, Vaults
from openbrain.settings.ticks import Tick as TickSettings
from openbrain.usecases.tick_schedule import TickSchedule, last_slot
from openbrain_cli.vault.tick import request_due_ticks
from tests.support.store.fixtures import FakeClock

SCHEDULE = "7 */2 * * *"
MINUTE = 60_000_000


def at(words: str) -> int:
    return from_datetime(datetime.fromisoformat(words).replace(tzinfo=UTC))


@pytest.fixture(params=["sqlite"])
def database_url(tmp_path: Path) -> str:
    """SQLite is enough: what the schedule needs of the store has its contract tests on both databases."""
    return f"sqlite+aiosqlite:///{tmp_path}/store.db"


@pytest.fixture
async def schedule(store: SqlStore, clock: FakeClock) -> TickSchedule:
    clock.time = at("2026-11-22T03:00:00")
    await store.workspaces.create_workspace(Workspace(id="w1", name="w1", created_at=clock.now()))
    return TickSchedule(store.ticks, clock, ["w1", "not made yet"], SCHEDULE, "04:07")


@pytest.mark.parametrize(
    ("now", "slot"),
    [
        ("2026-11-22T10:06:59.999", "2026-11-22T08:07"),
        ("2026-11-22T10:07:00", "2026-11-22T10:07"),
        ("2026-11-22T00:01:00", "2026-11-21T22:07"),
    ],
)
def test_the_last_slot_that_has_come(now: str, slot: str) -> None:
    found = last_slot(SCHEDULE, at(now))

    assert found is not None
    assert f"{found:%Y-%m-%dT%H:%M}" == slot


async def finished(store: SqlStore, tick: Tick, error: str = "") -> None:
    await store.ticks.hold_tick(tick.job.id, "me", 30)
    await store.ticks.finish_tick(tick.job.id, "me", {}, error)


async def test_a_day_of_ticks(schedule: TickSchedule, store: SqlStore, clock: FakeClock) -> None:
    """Every two hours, however often and by whom it is asked; the one at 04:07 extracts, and the next one if that
    failed."""
    other = TickSchedule(store.ticks, clock, ["w1"], SCHEDULE, "04:07")
    while clock.now() < at("2026-11-23T05:00:00"):
        for each in (schedule, schedule, other):
            await each.round()
        for tick in await store.ticks.ticks("w1", 1):
            if not tick.state.ended:
                failed = tick.job.slot == "cron:2026-11-22T04:07Z"
                await finished(store, tick, "the disk is full" if failed else "")
        clock.advance(7 * MINUTE)

    ticks = list(reversed(await store.ticks.ticks("w1", 99)))
    slots = [each.job.slot for each in ticks]
    assert len(set(slots)) == len(slots)
    assert slots[:3] == ["cron:2026-11-22T02:07Z", "cron:2026-11-22T04:07Z", "cron:2026-11-22T06:07Z"]
    assert slots[-1] == "cron:2026-11-23T04:07Z"
    assert len(slots) == 14
    extracting = [each.job.slot for each in ticks if each.job.extract]
    # Yesterday's extraction was missed; today's failed once; tomorrow's comes in time.
    assert extracting == [slots[0], slots[1], slots[2], slots[-1]]


async def test_after_a_long_pause_one_tick_catches_up(
    schedule: TickSchedule, store: SqlStore, clock: FakeClock
) -> None:
    await schedule.round()
    clock.time = at("2026-11-25T13:00:00")
    await schedule.round()

    newest, _ = await store.ticks.ticks("w1", 9)
    assert (newest.job.slot, newest.job.extract) == ("cron:2026-11-25T12:07Z", True)


async def test_without_a_schedule_nothing_is_asked_for(store: SqlStore, clock: FakeClock) -> None:
    assert await TickSchedule(store.ticks, clock, ["w1"], "", "04:07").round() == 0


async def test_a_cron_job_beside_the_schedule_asks_for_the_same_slot(store: SqlStore, database_url: str) -> None:
    """Whichever comes first: the slot is used once, and nothing ticks twice."""
    real = clock_of_this_machine()
    await store.workspaces.create_workspace(Workspace(id="w1", name="w1", created_at=real.now()))
    every_day = f"{datetime.now(UTC):%M %H} * * *"
    settings = Settings(
        truth=Truth(url=database_url),
        tick=TickSettings(schedule=every_day),
        vaults=Vaults(folders={"w1": Path("/vault")}),
    )

    assert await request_due_ticks(settings) == 1
    assert await request_due_ticks(settings) == 0
    assert await TickSchedule(store.ticks, real, ["w1"], every_day, "04:07").round() == 0
    assert len(await store.ticks.ticks("w1", 9)) == 1
    without = settings.model_copy(update={"vaults": Vaults()})
    with pytest.raises(SetupError, match="OPENBRAIN_VAULTS__FOLDERS"):
        await request_due_ticks(without)
