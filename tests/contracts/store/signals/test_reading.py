"""Lists and the present state of signals, on every database."""

from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.memory import DAY
from openbrain.domain.signals.values import Halt, Severity, Signal, SignalState, Step
from openbrain.ports.store.operations import Operation
from openbrain.ports.store.signals import SignalFilter
from tests.support.signals.raising import change, of_org, raised, signal_of, workspace
from tests.support.store.fixtures import START, FakeClock, viewer


async def filled(store: SqlStore) -> dict[str, str]:
    """Store some signals; return their ids by content."""
    await workspace(store, "w1", "w2")
    some = [
        raised(content="a", severity=Severity.INFO, at=START + 1),
        raised(content="b", severity=Severity.CRITICAL, org="acme", at=START + 2),
        raised(content="c", severity=Severity.CRITICAL, org="acme", project="p", at=START + 3),
        raised(content="d", severity=Severity.WARNING, source="net", org="other", at=START + 3),
        raised(content="x", workspace_id="w2"),
    ]
    outcomes = await store.signals.raise_signals(some)
    return {each.signal.content: each.signal.id for each in outcomes if each.signal}


async def listed(store: SqlStore, **asked: object) -> str:
    found = await store.signals.signals(viewer(), SignalFilter(**asked), 10)  # type: ignore[arg-type] # by name
    return "".join(sorted(each.content for each in found))


async def test_lists_are_narrowed_by_what_is_asked_for(store: SqlStore) -> None:
    ids = await filled(store)
    done = await store.signals.signal(viewer(), ids["a"])
    assert done is not None
    await store.signals.change_signal(change(done, Step.RESOLVED))

    assert await listed(store) == "abcd"
    assert await listed(store, states=[SignalState.RESOLVED]) == "a"
    assert await listed(store, states=[SignalState.RESOLVED, SignalState.ACTIVE]) == "abcd"
    assert await listed(store, min_severity=Severity.WARNING) == "bcd"
    assert await listed(store, source="net") == "d"
    assert await listed(store, source="NET") == ""
    assert await listed(store, org="acme") == "bc"
    assert await listed(store, org="acme", project="p") == "c"
    assert await listed(store, org="acme", project="p", or_of_none=True) == "abc"
    assert await listed(store, org="other", or_of_none=True) == "ad"
    assert await listed(store, since=START + 2) == "bcd"


async def test_grave_ones_that_nobody_acknowledged_are_counted_by_workspace(store: SqlStore, clock: FakeClock) -> None:
    await workspace(store, "w1", "w2", "w3", "w4")
    outcomes = await store.signals.raise_signals(
        [
            raised(content="critical", severity=Severity.CRITICAL, org="acme"),
            raised(content="nuclear", severity=Severity.NUCLEAR),
            raised(content="acknowledged", severity=Severity.CRITICAL),
            raised(content="warning"),
            raised(workspace_id="w2", severity=Severity.CRITICAL),
            raised(workspace_id="w3"),
            raised(workspace_id="w4", severity=Severity.CRITICAL),
        ]
    )
    acknowledged, alone = outcomes[2].signal, outcomes[4].signal
    assert acknowledged is not None
    assert alone is not None
    await store.signals.change_signal(change(acknowledged))
    operation = Operation(id="0190aaaa-0000-7000-8000-000000000000", workspace_id="system", kind="close", actor="ada")
    await store.workspaces.close_workspace("w4", operation)

    assert await store.signals.unacknowledged(10) == {"w1": 2, "w2": 1}
    assert await store.signals.unacknowledged(1) == {"w1": 2}
    # After the escalation they are as unacknowledged as before.
    clock.advance(DAY)
    assert (await store.signals.sweep_due(100, clock.now())).escalated == 3
    assert await store.signals.unacknowledged(10) == {"w1": 2, "w2": 1}
    await store.signals.change_signal(change(alone, Step.RESOLVED, workspace_id="w2", viewer=viewer("w2")))
    assert await store.signals.unacknowledged(10) == {"w1": 2}


async def test_pages_follow_each_other(store: SqlStore) -> None:
    await filled(store)
    whole = await store.signals.signals(viewer(), SignalFilter(), 10)
    pages: list[Signal] = []
    before = None
    while page := await store.signals.signals(viewer(), SignalFilter(), 1, before):
        pages.extend(page)
        before = page[-1].first_raised_at, page[-1].id

    assert pages == list(whole)
    assert [each.first_raised_at for each in whole] == sorted([each.first_raised_at for each in whole], reverse=True)


async def test_halts_come_in_pages_too(store: SqlStore) -> None:
    await workspace(store)
    await store.signals.raise_signals(
        [raised(content=str(number), halt=True, at=START + number // 2) for number in range(5)]
    )
    whole = await store.halts.halts(viewer(), 10)
    pages: list[Halt] = []
    before = None
    while page := await store.halts.halts(viewer(), 2, before=before):
        pages.extend(page)
        before = page[-1].raised_at, page[-1].id

    assert pages == list(whole)
    assert len(pages) == 5


async def test_the_present_is_what_is_open_the_strongest_first(store: SqlStore) -> None:
    ids = await filled(store)
    present = await store.signals.present(viewer())

    assert [each.content for each in present.signals] == ["c", "b", "d", "a"]
    assert (present.seq, present.more, present.workspace_id) == (4, False, "w1")
    cut = await store.signals.present(viewer(), 2)
    assert ([each.content for each in cut.signals], cut.more) == (["c", "b"], True)
    assert [each.content for each in (await store.signals.present(of_org("acme"))).signals] == ["c", "b"]
    assert [each.content for each in (await store.signals.present(of_org("acme", without_org=True))).signals] == [
        "c",
        "b",
        "a",
    ]
    assert (await store.signals.present(of_org())).signals == ()
    assert await store.signals.signal(of_org("acme"), ids["d"]) is None
    assert (await store.signals.present(viewer("w2"))).seq == 1
    assert (await store.signals.present(viewer("none"))).seq == 0


async def test_broadcasts_are_read_on_from_any_number(store: SqlStore) -> None:
    await filled(store)

    assert [each.seq for each in await store.broadcasts.broadcasts_after("w1", 1, 2)] == [2, 3]
    assert await store.broadcasts.broadcasts_after("w1", 4, 2) == []
    assert await store.broadcasts.broadcasts_after("none", 0, 2) == []


async def test_names_are_compared_byte_for_byte(store: SqlStore) -> None:
    await workspace(store)
    ids = {(await signal_of(store, source=source, dedup_key="K")).id for source in ("disk", "Disk", "disk ", "dísk")}

    assert len(ids) == 4
