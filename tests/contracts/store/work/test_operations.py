"""Contract of `ports.operations`, on every database."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.errors import Conflict
from openbrain.domain.ids import uuid7
from openbrain.domain.memory import MICROSECONDS
from openbrain.ports.store.operations import TRACES, Operation, OperationStatus, Progress
from openbrain.ports.store.writes import PURGE
from tests.support.store.fixtures import FakeClock, age_holds

KINDS = {"count", "purge"}


def operation(clock: FakeClock, workspace: str = "w1", kind: str = "count", **more: Any) -> Operation:
    return Operation(id=uuid7(clock.now()), workspace_id=workspace, kind=kind, actor="ada", **more)


async def queued(store: SqlStore, clock: FakeClock, **more: Any) -> Operation:
    clock.advance(1000)
    return await store.operations.start_operation(operation(clock, **more))


async def test_one_is_queued_once_and_shown_to_its_workspace_only(store: SqlStore, clock: FakeClock) -> None:
    asked = operation(clock, request={"filter": "ä"}, total=7)

    first, again = (
        await store.operations.start_operation(asked),
        await store.operations.start_operation(replace(asked, actor="bob")),
    )

    assert first == again == await store.operations.operation("w1", asked.id)
    assert (first.status, first.request, first.total, first.actor) == ("queued", {"filter": "ä"}, 7, "ada")
    assert await store.operations.operation("w2", asked.id) is None
    assert await store.operations.operation("w1", uuid7(clock.now())) is None
    assert await store.operations.cancel_operation("w2", asked.id) is None
    assert (await store.operations.operation("w1", asked.id)) == first


async def test_a_list_goes_from_the_newest_on_page_by_page(store: SqlStore, clock: FakeClock) -> None:
    made = [await queued(store, clock, kind=kind) for kind in ("count", "purge", "count", "count")]
    await queued(store, clock, workspace="w2")
    held = await store.operations.hold_operation("me", 30, KINDS)
    newest = [each.id for each in reversed(made)]

    page = await store.operations.operations("w1", 2)
    last = page[-1]

    assert held is not None
    assert [each.id for each in page] == newest[:2]
    assert [
        each.id for each in await store.operations.operations("w1", 9, before=(last.created_at, last.id))
    ] == newest[2:]
    assert [each.id for each in await store.operations.operations("w1", 9, kinds=["purge"])] == [made[1].id]
    running = await store.operations.operations("w1", 9, statuses=[OperationStatus.RUNNING])
    assert [each.id for each in running] == [held.id]


async def test_who_has_waited_longest_is_next_and_each_gets_its_turn(store: SqlStore, clock: FakeClock) -> None:
    one, two = await queued(store, clock), await queued(store, clock)
    turns = []
    for done in range(4):
        clock.advance(1000)
        held = await store.operations.hold_operation("me", 30, KINDS)
        assert held is not None
        turns.append(held.id)
        await store.operations.advance_operation(held.id, "me", Progress(done=done, total=9, result={"n": done}))

    assert turns == [one.id, two.id, one.id, two.id]
    standing = await store.operations.operation("w1", two.id)
    assert standing is not None
    assert (standing.status, standing.done, standing.total, standing.result) == ("running", 3, 9, {"n": 3})
    assert await store.operations.hold_operation("me", 30, {"other"}) is None


async def test_what_is_held_is_not_taken_and_what_a_dead_holder_had_is(store: SqlStore, clock: FakeClock) -> None:
    made = await queued(store, clock)
    await store.operations.hold_operation("one", 30, KINDS)

    assert await store.operations.hold_operation("two", 30, KINDS) is None
    assert await store.operations.keep_operation(made.id, "one", 60)
    await age_holds(store, 29)
    assert await store.operations.hold_operation("two", 30, KINDS) is None
    await age_holds(store, 31)
    taken = await store.operations.hold_operation("two", 30, KINDS)

    assert taken is not None
    assert taken.id == made.id
    assert not await store.operations.keep_operation(made.id, "one", 60)
    assert await store.operations.advance_operation(made.id, "one", Progress(done=9)) is None
    assert await store.operations.end_operation(made.id, "one", OperationStatus.FAILED, "late") is None
    still = await store.operations.operation("w1", made.id)
    assert still is not None
    assert (still.status, still.done, still.error) == ("running", 0, "")


@pytest.mark.parametrize("ahead_s", [3600, -3600])
async def test_a_holder_whose_clock_is_wrong_keeps_nobody_away_and_is_not_robbed(
    store: SqlStore, clock: FakeClock, ahead_s: int
) -> None:
    made = await queued(store, clock)
    clock.advance(ahead_s * MICROSECONDS)
    await store.operations.hold_operation("wrong", 30, KINDS)
    clock.advance(-ahead_s * MICROSECONDS)

    assert await store.operations.hold_operation("right", 30, KINDS) is None
    await age_holds(store, 31)
    taken = await store.operations.hold_operation("right", 30, KINDS)

    assert taken is not None
    assert taken.id == made.id


async def test_one_that_waits_for_others_is_left_alone_for_a_moment(store: SqlStore, clock: FakeClock) -> None:
    made = await queued(store, clock)
    await store.operations.hold_operation("me", 30, KINDS)
    await store.operations.advance_operation(made.id, "me", Progress(done=0, waits=True))

    assert await store.operations.hold_operation("other", 30, KINDS) is None
    await age_holds(store, 1)
    assert await store.operations.hold_operation("other", 30, KINDS) is not None


async def test_one_that_waits_goes_on_although_the_clock_was_set_back(store: SqlStore, clock: FakeClock) -> None:
    made = await queued(store, clock)
    await store.operations.hold_operation("me", 30, KINDS)
    await store.operations.advance_operation(made.id, "me", Progress(done=0, waits=True))

    await age_holds(store, -3600)

    assert await store.operations.hold_operation("other", 30, KINDS) is not None
    assert await store.operations.hold_operation("me", 30, KINDS) is None, "a hold is not a pause"


async def test_what_ends_keeps_its_result_and_loses_its_traces(store: SqlStore, clock: FakeClock) -> None:
    made = await queued(store, clock, request={"ids": ["a"], "traces": {"contents": ["hash"]}})
    await store.operations.hold_operation("me", 30, KINDS)
    clock.advance(1000)

    done = await store.operations.advance_operation(
        made.id, "me", Progress(done=3, total=3, result={"n": 3}, finished=True)
    )

    assert done is not None
    assert (done.status, done.finished_at, done.result) == ("done", clock.now(), {"n": 3})
    assert done.request == {"ids": ["a"]}
    assert await store.operations.hold_operation("me", 30, KINDS) is None
    assert await store.operations.cancel_operation("w1", made.id) == done


async def test_a_failure_says_why(store: SqlStore, clock: FakeClock) -> None:
    made = await queued(store, clock)
    await store.operations.hold_operation("me", 30, KINDS)

    failed = await store.operations.end_operation(made.id, "me", OperationStatus.FAILED, "x" * 5000)

    assert failed is not None
    assert (failed.status, len(failed.error), failed.finished_at) == ("failed", 1000, clock.now())


async def test_a_purge_goes_on_whoever_cancels_it(store: SqlStore, clock: FakeClock) -> None:
    purge = await queued(store, clock, kind=PURGE, request={TRACES: {"contents": ["h"]}})
    for _ in ("queued", "running"):
        with pytest.raises(Conflict, match="can't be cancelled"):
            await store.operations.cancel_operation("w1", purge.id)
        await store.operations.hold_operation("me", 30, {PURGE})
    held = await store.operations.operation("w1", purge.id)
    assert held is not None
    assert (held.cancel_requested, held.request) == (False, purge.request)

    done = await store.operations.advance_operation(purge.id, "me", Progress(done=1, finished=True))
    assert await store.operations.cancel_operation("w1", purge.id) == done


async def test_a_queued_one_is_cancelled_at_once_and_a_running_one_is_asked_to(
    store: SqlStore, clock: FakeClock
) -> None:
    waiting, running = await queued(store, clock, kind="other"), await queued(store, clock)
    await store.operations.hold_operation("me", 30, {"count"})

    ended, asked = [await store.operations.cancel_operation("w1", each.id) for each in (waiting, running)]

    assert ended is not None
    assert asked is not None
    assert (ended.status, ended.finished_at) == ("cancelled", clock.now())
    assert (asked.status, asked.cancel_requested, asked.finished_at) == ("running", True, None)
    assert await store.operations.cancel_operation("w1", running.id) == asked
    after = await store.operations.advance_operation(running.id, "me", Progress(done=1))
    assert after is not None
    assert after.cancel_requested


async def test_many_holders_never_get_the_same_one(store: SqlStore, clock: FakeClock) -> None:
    made = {(await queued(store, clock)).id for _ in range(6)}

    held = await asyncio.gather(*(store.operations.hold_operation(f"holder-{n}", 30, KINDS) for n in range(12)))

    taken = [each.id for each in held if each is not None]
    assert sorted(taken) == sorted(set(taken))
    assert set(taken) <= made
    rest = [await store.operations.hold_operation(f"later-{n}", 30, KINDS) for n in range(6)]
    assert {*taken, *(each.id for each in rest if each is not None)} == made


async def test_one_is_followed_by_another_that_is_queued(store: SqlStore, clock: FakeClock) -> None:
    one = await queued(store, clock)
    await store.operations.hold_operation("me", 30, KINDS)
    assert not await store.operations.followed(one)
    await queued(store, clock, kind="purge")
    assert not await store.operations.followed(one)
    await queued(store, clock, workspace="w2")
    assert await store.operations.followed(one)


async def test_what_ended_long_ago_is_forgotten(store: SqlStore, clock: FakeClock) -> None:
    old, young, open_ = [await queued(store, clock, kind=kind) for kind in ("count", "count", "purge")]
    await store.operations.cancel_operation("w1", old.id)
    clock.advance(1000)
    between = clock.now()
    await store.operations.cancel_operation("w1", young.id)

    assert await store.operations.purge_operations(between, 10) == 1
    assert [each.id for each in await store.operations.operations("w1", 9)] == [open_.id, young.id]
    assert await store.operations.purge_operations(between, 10) == 0
