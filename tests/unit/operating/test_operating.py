"""Operations run in turn, are resumed after a kill, can be cancelled between steps, and fail alone."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from openbrain.adapters.sql.engine.opening import open_database
from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.errors import Invalid, SetupError, TryLater
from openbrain.domain.ids import uuid7
from openbrain.ports.store.operations import Operation, OperationStatus, Progress
from openbrain_housekeeper.jobs.operations import Worker
from tests.support.store.fixtures import FakeClock, age_holds, rows
from tests.support.store.schema import make_tables
from tests.support.waiting import until


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqlStore]:
    database = open_database(f"sqlite+aiosqlite:///{tmp_path}/store.db")
    await database.write(make_tables)
    yield SqlStore(database, FakeClock())
    await database.close()


@dataclass
class Counting:
    """A kind that counts up to the number in its request, and records what it did."""

    did: list[tuple[str, int]] = field(default_factory=list)
    before: Callable[[Operation], Awaitable[None]] | None = None

    async def __call__(self, operation: Operation) -> Progress:
        if self.before is not None:
            await self.before(operation)
        done, total = operation.done + 1, int(operation.request["to"])
        self.did.append((operation.id, done))
        return Progress(done=done, total=total, result={"n": done}, finished=done == total)


def worker(store: SqlStore, kind: Counting, name: str = "one", pace_s: float = 0) -> Worker:
    return Worker(store.operations, {"count": kind}, name, hold_s=30, pace_s=pace_s)


def clock_of(store: SqlStore) -> FakeClock:
    clock = store._clock
    assert isinstance(clock, FakeClock)
    return clock


async def asked(store: SqlStore, to: int) -> str:
    clock = clock_of(store)
    clock.advance(1000)
    operation = Operation(id=uuid7(clock.now()), workspace_id="w", kind="count", actor="ada", request={"to": to})
    return (await store.operations.start_operation(operation)).id


async def standing(store: SqlStore, operation_id: str) -> Operation:
    found = await store.operations.operation("w", operation_id)
    assert found is not None
    return found


async def rounds(store: SqlStore, one: Worker, most: int = 50) -> int:
    """Run rounds until there is nothing to do."""
    for count in range(most):
        clock_of(store).advance(1000)
        if not await one.round():
            return count
    raise AssertionError("it never ends")


async def test_two_take_turns_until_both_are_done(store: SqlStore) -> None:
    kind = Counting()
    first, second = await asked(store, 3), await asked(store, 2)

    assert await rounds(store, worker(store, kind)) == 5

    assert kind.did == [(first, 1), (second, 1), (first, 2), (second, 2), (first, 3)]
    assert {(await standing(store, each)).status for each in (first, second)} == {"done"}
    assert (await standing(store, first)).result == {"n": 3}


async def test_small_steps_share_one_note_of_progress(store: SqlStore) -> None:
    kind = Counting()
    operation_id = await asked(store, 40)

    assert await rounds(store, worker(store, kind, pace_s=60)) == 1

    assert len(kind.did) == 40
    assert (await standing(store, operation_id)).done == 40


async def test_what_a_killed_worker_left_is_taken_up_where_it_was_written_down(store: SqlStore) -> None:
    operation_id = await asked(store, 4)
    begun = asyncio.Event()

    async def hang(operation: Operation) -> None:
        if operation.done == 2:
            begun.set()
            await asyncio.Event().wait()

    doomed = asyncio.create_task(rounds(store, worker(store, Counting(before=hang), "doomed")))
    await begun.wait()
    doomed.cancel()
    await asyncio.gather(doomed, return_exceptions=True)
    kind = Counting()
    heir = worker(store, kind, "heir")

    assert await rounds(store, heir) == 0  # the dead worker's lease still counts
    await age_holds(store, 31)
    assert await rounds(store, heir) == 2

    assert kind.did == [(operation_id, 3), (operation_id, 4)]
    assert (await standing(store, operation_id)).status is OperationStatus.DONE


async def test_a_cancelled_one_ends_between_two_steps(store: SqlStore) -> None:
    kind = Counting()
    operation_id = await asked(store, 100)
    one = worker(store, kind)
    for _ in range(3):
        await one.round()
    await store.operations.cancel_operation("w", operation_id)

    assert await rounds(store, one) == 1

    ended = await standing(store, operation_id)
    assert (ended.status, ended.done, len(kind.did)) == ("cancelled", 3, 3)


async def test_one_that_fails_harms_no_other_and_tells_no_content(store: SqlStore) -> None:
    async def refuse(operation: Operation) -> None:
        if operation.request["to"] == 1:
            raise LookupError("a secret")
        if operation.request["to"] == 2:
            raise Invalid("filter", "can't be read")

    kind = Counting(before=refuse)
    foreign, own, good = [await asked(store, to) for to in (1, 2, 3)]

    await rounds(store, worker(store, kind))

    failed = await standing(store, foreign)
    assert failed.status is OperationStatus.FAILED
    assert "a secret" not in failed.error
    assert (await standing(store, own)).error == "filter: can't be read"
    assert (await standing(store, good)).status is OperationStatus.DONE


async def test_one_that_waits_says_for_what_and_goes_on_later(store: SqlStore) -> None:
    away = True

    async def wait(operation: Operation) -> None:
        if away and operation.done == 1:
            raise TryLater("the index is away")

    operation_id = await asked(store, 3)
    one = worker(store, Counting(before=wait), pace_s=60)

    assert await rounds(store, one) == 0
    waiting = await standing(store, operation_id)
    assert (waiting.status, waiting.done) == ("running", 1)
    assert waiting.result == {"n": 1, "waits_for": "the index is away"}
    away = False
    await age_holds(store, 1)
    await rounds(store, one)

    assert (await standing(store, operation_id)).result == {"n": 3}


async def test_what_must_come_to_its_end_is_tried_again_whatever_stops_it(store: SqlStore) -> None:
    broken = True

    async def refuse(operation: Operation) -> None:
        if broken and operation.done == 1:
            raise LookupError("a secret")

    operation_id = await asked(store, 3)
    kind = Counting(before=refuse)
    one = Worker(store.operations, {"count": kind}, "one", lasting={"count"}, hold_s=30, pace_s=60)

    assert await rounds(store, one) == 0
    waiting = await standing(store, operation_id)
    assert (waiting.status, waiting.done) == ("running", 1)
    assert "a secret" not in waiting.result["waits_for"]
    broken = False
    await age_holds(store, 1)
    await rounds(store, one)

    assert (await standing(store, operation_id)).status is OperationStatus.DONE


@pytest.mark.parametrize("cancelled", [True, False])
async def test_what_one_left_behind_goes_before_it_ends(store: SqlStore, *, cancelled: bool) -> None:
    taken_back: list[str] = []
    away = True

    async def fail(_operation: Operation) -> None:
        if not cancelled:
            raise Invalid("", "it can't be done")

    async def clean_up(operation: Operation) -> None:
        if away:
            raise TryLater("somebody is in the way")
        taken_back.append(operation.id)

    operation_id = await asked(store, 5)
    working = Worker(store.operations, {"count": Counting(before=fail)}, "one", pace_s=0, clean_up={"count": clean_up})
    if cancelled:
        await working.round()
        await store.operations.cancel_operation("w", operation_id)
    assert await working.round() == 0
    waiting = await store.operations.operation("w", operation_id)
    assert waiting is not None
    assert not waiting.status.ended
    assert "in the way" in waiting.result["waits_for"]

    away = False
    await age_holds(store, 2)
    assert await working.round() == 1

    ended = await store.operations.operation("w", operation_id)
    assert ended is not None
    assert ended.status is (OperationStatus.CANCELLED if cancelled else OperationStatus.FAILED)
    assert taken_back == [operation_id]


async def test_the_cleanup_knows_what_the_steps_of_the_same_round_noted(store: SqlStore) -> None:
    cleaned: list[Operation] = []

    async def fail(operation: Operation) -> None:
        if operation.done == 2:
            raise Invalid("", "it can't be done")

    async def clean_up(operation: Operation) -> None:
        cleaned.append(operation)

    await asked(store, 5)
    kind = {"count": Counting(before=fail)}
    await Worker(store.operations, kind, "one", pace_s=60, clean_up={"count": clean_up}).round()

    assert [(each.done, each.result) for each in cleaned] == [(2, {"n": 2})]


async def _held_until(store: SqlStore) -> int:
    found = await rows(store._database, "SELECT held_until FROM operations")
    return int(found[0]["held_until"])


async def test_a_long_step_keeps_its_hold(store: SqlStore) -> None:
    operation_id = await asked(store, 1)
    go = asyncio.Event()

    async def long(_operation: Operation) -> None:
        await go.wait()

    one = Worker(store.operations, {"count": Counting(before=long)}, "one", hold_s=3, pace_s=0)
    task = asyncio.create_task(one.round())

    for _ in range(2):
        before = await _held_until(store)

        async def renewed(before: int = before) -> bool:
            return await _held_until(store) > before

        await until(renewed)
        assert await store.operations.hold_operation("two", 30, {"count"}) is None
    go.set()
    await task

    async def done() -> bool:
        return (await standing(store, operation_id)).status is OperationStatus.DONE

    await until(done)


async def test_a_hold_is_kept_on_after_an_unexpected_error(store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    operation_id = await asked(store, 1)
    go, kept = asyncio.Event(), list[bool]()
    keep = store.operations.keep_operation

    async def keep_operation(*_: object) -> bool:
        kept.append(False)
        if len(kept) == 1:
            raise SetupError("the truth's tables are missing")
        if len(kept) == 2:
            raise LookupError
        return await keep(operation_id, "one", 30)

    async def long(_operation: Operation) -> None:
        await go.wait()

    async def again() -> bool:
        return len(kept) > 2

    monkeypatch.setattr(store.operations, "keep_operation", keep_operation)
    one = Worker(store.operations, {"count": Counting(before=long)}, "one", hold_s=0.03, pace_s=0)
    task = asyncio.create_task(one.round())
    await until(again)
    go.set()
    await task

    assert (await standing(store, operation_id)).status is OperationStatus.DONE
