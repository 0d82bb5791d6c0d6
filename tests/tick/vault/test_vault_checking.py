"""The pipeline check: what does not run is reported once, and resolved when it runs."""

import pytest

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.access.visibility import Viewer
from openbrain.domain.ids import uuid7
from openbrain.domain.memory import MICROSECONDS
from openbrain.domain.signals.values import OPEN_STATES, Raise, Severity, Signal, Step
from openbrain.observability.metrics import TICK_COMPLETED
from openbrain.ports.store.signals import SignalChange, SignalFilter
from openbrain.ports.store.tenants import Workspace
from openbrain.ports.store.vault import TickJob
from openbrain.vault.pipeline import SOURCE, Patience
from openbrain_housekeeper.jobs.vault_checks import VaultCheck
from tests.support.store.fixtures import START, FakeClock

HOUR = 3600 * MICROSECONDS
VIEWER = Viewer(workspace_id="w1", agent_id="")


class Check(VaultCheck):
    """The check, with methods for the tests."""

    async def told(self) -> list[str]:
        found = await self.store.signals.signals(VIEWER, SignalFilter(states=OPEN_STATES, source=SOURCE), 10)
        return sorted(each.title for each in found)

    async def tick(self, name: str, *, good: bool = True, dry_run: bool = False) -> None:
        slot = None if dry_run else name
        job = TickJob(id=uuid7(self.clock.now()), workspace_id="w1", slot=slot, actor="a", dry_run=dry_run)
        await self.store.ticks.request_tick(job)
        assert await self.store.ticks.hold_tick(job.id, "h", 60)
        assert await self.store.ticks.finish_tick(job.id, "h", {}, "" if good else "broken")

    async def burn(self, severity: Severity = Severity.CRITICAL, source: str = "db") -> Signal:
        now = self.clock.now()
        made = Raise(workspace_id="w1", source=source, severity=severity, title="down", content="", actor="a", at=now)
        (outcome,) = await self.store.signals.raise_signals([made])
        assert outcome.signal is not None
        return outcome.signal


@pytest.fixture
async def check(database: Database, clock: FakeClock) -> Check:
    store = SqlStore(database, clock)
    await store.workspaces.create_workspace(Workspace(id="w1", name="w1", created_at=START))
    patience = Patience(late=5 * HOUR, unheard=HOUR // 2)
    return Check(store, clock, ["w1", "unknown"], patience, START)


async def test_a_tick_that_did_not_run_is_told_once_and_resolved(check: Check, clock: FakeClock) -> None:
    await check.tick("1")
    assert await check.round() == 0

    clock.advance(6 * HOUR)
    await check.tick("2", dry_run=True)
    assert (await check.round(), await check.round()) == (1, 0)
    assert await check.told() == ["No tick was asked for since longer than its schedule allows"]
    seq = await check.store.broadcasts.last_seq("w1")
    clock.advance(HOUR)
    assert (await check.round(), await check.store.broadcasts.last_seq("w1")) == (0, seq)

    await check.tick("3")
    assert (await check.round(), await check.told()) == (1, [])


async def test_a_machine_that_slept_is_not_late_at_once(check: Check, clock: FakeClock) -> None:
    await check.tick("1")
    clock.advance(10 * HOUR)
    check.since = clock.now()
    assert await check.round() == 0
    clock.advance(HOUR)
    assert await check.round() == 1


async def test_ticks_that_fail_are_a_stale_feed(check: Check, clock: FakeClock) -> None:
    await check.tick("1")
    for name in "234":
        clock.advance(2 * HOUR)
        await check.tick(name, good=False)
    assert await check.round() == 1
    assert await check.told() == ["The feed is stale: ticks are asked for, and none completes"]

    await check.tick("5")
    assert (await check.round(), await check.told()) == (1, [])


async def test_a_vault_without_a_tick_counts_from_the_start_of_the_process(check: Check, clock: FakeClock) -> None:
    clock.advance(100 * HOUR)
    check.since = clock.now()
    assert await check.round() == 0
    clock.advance(6 * HOUR)
    assert await check.round() == 1
    await check.tick("1", good=False)
    assert (await check.round(), await check.told()) == (1, [])


async def test_a_vault_whose_ticks_never_completed_has_a_gauge_that_says_so(check: Check, clock: FakeClock) -> None:
    """An alert can't be given for a series that does not exist."""
    await check.tick("1", good=False)
    TICK_COMPLETED.clear()
    await check.round()
    samples = [sample for family in TICK_COMPLETED.collect() for sample in family.samples]
    assert [(sample.labels, sample.value) for sample in samples] == [({"workspace": "w1"}, 0)]

    clock.advance(HOUR)
    await check.tick("2")
    await check.round()
    assert TICK_COMPLETED.labels("w1")._value.get() == pytest.approx(clock.now() / MICROSECONDS, abs=1)


async def test_a_signal_that_nobody_hears_is_told_and_never_tells_of_itself(check: Check, clock: FakeClock) -> None:
    burning = await check.burn()
    await check.burn(Severity.WARNING, "other")
    await check.burn(Severity.NUCLEAR, "openbrain.self")
    await check.tick("1")
    assert await check.round() == 0

    clock.advance(HOUR)
    assert (await check.round(), await check.told()) == (1, ["Nobody has acknowledged a critical signal"])
    clock.advance(2 * HOUR)
    assert (await check.round(), len(await check.told())) == (0, 1)

    change = SignalChange(workspace_id="w1", step=Step.ACKNOWLEDGED, viewer=VIEWER, actor="ada", signal_id=burning.id)
    await check.store.signals.change_signal(change)
    assert (await check.round(), await check.told()) == (1, [])
