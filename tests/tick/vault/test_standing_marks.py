"""A mark in a page keeps its signal alive; pages are edited by people, not by the passage of time."""

from pathlib import Path

import pytest

from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.signals.values import OPEN_STATES, Severity, Signal, SignalState, Step
from openbrain.ports.store.signals import SignalChange, SignalFilter
from openbrain_tick.ports import Ports
from openbrain_tick.tick import tick
from tests.support.api.brain import Brain
from tests.support.api.vault import client, kept, marks, vault
from tests.support.store.fixtures import FakeClock
from tests.support.vault.pages import DAY, HOUR, page, signal
from tests.support.vault.pages import Vault as Pages
from tests.support.vault.ticking import ALL, NEW, database_url, job, ports_of, vault_of
from tests.support.vault.ticking import DAY as FOLDER

__all__ = ["database_url", "kept", "vault"]

PATH = f"{FOLDER}/hand.md"
SAID = signal("disk is nearly full", severity="warning", source="nas")


@pytest.fixture
def hand(pages: Pages) -> Pages:
    """A vault with a warning that somebody wrote into a page."""
    pages.write(PATH, page("hand", SAID, created=NEW))
    return pages


async def passes(store: SqlStore, clock: FakeClock, time: int) -> None:
    """Let time pass, with a sweep of signals every five minutes."""
    for _ in range(time // (HOUR // 12)):
        clock.advance(HOUR // 12)
        while (await store.signals.sweep_due(100, clock.now())).total:
            pass


async def warnings(store: SqlStore) -> list[Signal]:
    return [each for each in await store.signals.signals(ALL, SignalFilter(), 100) if each.source == "nas"]


async def test_a_warning_by_hand_stands_until_it_is_stale_and_its_page_is_left_alone(
    ports: Ports, hand: Pages, store: SqlStore, clock: FakeClock
) -> None:
    for _ in range(35):
        await tick(job(), vault_of(hand), ports)
        (standing,) = await warnings(store)
        assert (standing.state, standing.severity, standing.count) == (SignalState.ACTIVE, Severity.WARNING, 1)
        assert "disk is nearly full" in hand.body("signals.md")
        await passes(store, clock, 2 * HOUR)
    clock.advance(2 * HOUR)
    await tick(job(), vault_of(hand), ports)
    assert "disk is nearly full" not in hand.body("signals.md")
    await passes(store, clock, 6 * HOUR)
    for _ in range(3):
        await tick(job(), vault_of(hand), ports)
        clock.advance(3 * HOUR)

    (over,) = await warnings(store)
    assert (over.state, over.ended_by) == (SignalState.RESOLVED, "time")
    assert SAID in hand.read(PATH)


async def test_the_alarm_grows_quiet_though_the_mark_stands(
    ports: Ports, hand: Pages, store: SqlStore, clock: FakeClock
) -> None:
    await tick(job(), vault_of(hand), ports)
    await passes(store, clock, HOUR)
    (standing,) = await warnings(store)
    assert (standing.state, standing.broadcast_severity) == (SignalState.ACTIVE, Severity.INFO)


async def test_a_signal_that_ended_while_no_tick_ran_is_raised_again(
    ports: Ports, hand: Pages, store: SqlStore, clock: FakeClock
) -> None:
    await tick(job(), vault_of(hand), ports)
    for number in range(2, 4):
        await passes(store, clock, 8 * HOUR)
        assert not [each for each in await warnings(store) if each.state in OPEN_STATES]
        for _ in range(2):
            await tick(job(), vault_of(hand), ports)
        assert sorted(each.state for each in await warnings(store)) == ["active"] + ["resolved"] * (number - 1)
    assert SAID in hand.read(PATH)


async def test_a_mark_that_was_removed_lets_its_signal_end(
    ports: Ports, hand: Pages, store: SqlStore, clock: FakeClock
) -> None:
    await tick(job(), vault_of(hand), ports)
    hand.write(PATH, page("hand", created=NEW))
    await tick(job(), vault_of(hand), ports)
    assert "disk is nearly full" not in hand.body("signals.md")
    await passes(store, clock, 6 * HOUR)
    assert [each.state for each in await warnings(store)] == ["resolved"]


async def test_a_posted_warning_stands_for_its_days_and_its_page_keeps_what_it_said(kept: Brain, vault: Path) -> None:
    store, clock, posted = kept.store, kept.clock, Pages(vault)
    post = {"type": "signal", "content": "disk is nearly full", "attrs": {"source": "nas"}}
    async with await client(kept) as ada:
        path = (await ada.post("/marker", json=post)).json()["vault_path"]
        before = posted.read(path)
        ports = ports_of(store, clock)
        for _ in range(3):
            await passes(store, clock, 2 * HOUR)
            await tick(job(), vault_of(posted), ports)
        assert "disk is nearly full" in posted.body("signals.md")
        assert posted.read(path) == before
        (standing,) = (await ada.get("/v1/amygdala/signals")).json()["signals"]

    assert standing["state"] == "active"
    step = SignalChange(
        workspace_id="w1", step=Step.RESOLVED, viewer=ALL, actor="ada", signal_id=standing["id"], note="cleaned up"
    )
    await store.signals.change_signal(step)
    for _ in range(3):
        await tick(job(), vault_of(posted), ports)
        clock.advance(DAY)

    ((kind, attrs, content),) = marks(vault, path)
    assert (kind, attrs["severity"], content) == ("signal", "resolved", "disk is nearly full (CLEARED: cleaned up)")
    assert "status: resolved" in posted.read(path)
    assert posted.body("signals.md") == "No active signals."


@pytest.mark.parametrize("content", ["password=hunter2secret stands in the log", f"Down.\n{'x ' * 30_000}"])
async def test_a_critical_mark_is_raised_whatever_its_text_and_gets_no_second_page(
    content: str, ports: Ports, pages: Pages, store: SqlStore
) -> None:
    pages.write(PATH, page("hand", signal(content, source="nas"), created=NEW))
    await tick(job(), vault_of(pages), ports)
    await tick(job(slot="next"), vault_of(pages), ports)

    (raised,) = await warnings(store)
    assert (raised.severity, raised.state) == (Severity.CRITICAL, SignalState.ACTIVE)
    assert "hunter2secret" not in raised.content
    assert [path for path in pages.tree() if path.startswith("amygdala/")] == []
