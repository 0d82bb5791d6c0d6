"""How a row and its index entries differ, judged without a database or an index, and what may be announced."""

from bisect import bisect_right
from collections import Counter
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openbrain.domain import ids
from openbrain.domain.ids import BUCKETS, bucket, digest, point_id
from openbrain.ports.index import EntryMarks, Standing
from openbrain.ports.store.generations import Generation, IndexKind
from openbrain.ports.store.index_entries import ExpectedRow
from openbrain.usecases.indexes import comparison_sums, reconcile
from openbrain.usecases.indexes.reconcile import Fault, judge
from openbrain_housekeeper.reconciliation.quiescent_since import QuiescentSince
from tests.support.store.fixtures import START, FakeClock

ID = "01890000-0000-7000-8000-000000000001"
OTHER = "01890000-0000-7000-8000-000000000002"
BUILDER = "b-1"


def row(**changes: object) -> ExpectedRow:
    given = ExpectedRow(
        memory_id=ID,
        revision=3,
        updated_at=START,
        content_hash="c" * 64,
        changed_at=START,
        passages=1,
        high=1,
        living=True,
        waiting=False,
        failed=False,
        marked=True,
    )
    return replace(given, **changes)  # type: ignore[arg-type]  # named by the caller


def entry(passage: int = 0, *, revision: int = 3, of: ExpectedRow | None = None, tombstone: bool = False) -> Standing:
    due = of or row(revision=revision)
    made = digest(ID, passage, revision, due.updated_at, due.content_hash, BUILDER)
    return Standing(
        id=point_id(ID, passage),
        memory_id=ID,
        revision=revision,
        bucket=bucket(ID),
        digest=0 if tombstone else made,
        tombstone=tombstone,
    )


DEAD = row(living=False, passages=0)
WAITING = row(passages=0, waiting=True)


@pytest.mark.parametrize(
    ("due", "entries", "expected"),
    [
        pytest.param(row(), [entry()], [], id="equal"),
        pytest.param(row(), [], [Fault.MISSING], id="nothing there"),
        pytest.param(row(), [entry(tombstone=True)], [Fault.MISSING], id="a tombstone where it lives"),
        pytest.param(row(), [entry(revision=2)], [Fault.STALE], id="an older revision"),
        pytest.param(row(updated_at=START + 1), [entry()], [Fault.STALE], id="the same revision of another hour"),
        pytest.param(row(content_hash="d" * 64), [entry()], [Fault.STALE], id="another content"),
        pytest.param(row(), [entry(revision=4)], [Fault.AHEAD], id="ahead"),
        pytest.param(row(), [entry(revision=4, tombstone=True)], [Fault.AHEAD], id="a tombstone ahead"),
        pytest.param(DEAD, [entry(revision=4, tombstone=True)], [Fault.AHEAD], id="ahead of what has ended"),
        pytest.param(DEAD, [entry()], [Fault.GHOST], id="it has ended"),
        pytest.param(DEAD, [entry(tombstone=True)], [], id="it has ended, and so it stands"),
        pytest.param(None, [entry()], [Fault.GHOST], id="no row"),
        pytest.param(None, [entry(tombstone=True)], [], id="no row, a tombstone"),
        pytest.param(row(passages=2, high=2), [entry()], [Fault.MISSING], id="a passage missing"),
        pytest.param(row(), [entry(), entry(1)], [Fault.GHOST], id="a passage too many"),
        pytest.param(row(), [entry(1)], [Fault.GHOST, Fault.MISSING], id="both"),
        pytest.param(WAITING, [entry(revision=2)], [Fault.WAITING], id="no vectors yet, the old ones stay"),
        pytest.param(row(failed=True), [], [], id="failed: left alone"),
        pytest.param(row(failed=True), [entry(revision=9)], [Fault.AHEAD], id="failed and ahead"),
        pytest.param(row(marked=False), [entry()], [Fault.UNMARKED], id="there, and nobody noted it"),
        pytest.param(row(marked=False), [], [Fault.MISSING], id="once, not twice"),
    ],
)
def test_judged(due: ExpectedRow | None, entries: list[Standing], expected: list[Fault]) -> None:
    assert sorted(each.fault for each in judge(due, entries, BUILDER)) == sorted(expected)


@given(
    revision=st.integers(1, 9),
    passages=st.integers(0, 4),
    standing=st.lists(st.tuples(st.integers(0, 5), st.integers(1, 12), st.booleans()), max_size=6),
)
def test_what_is_judged_equal_is_equal(revision: int, passages: int, standing: list[tuple[int, int, bool]]) -> None:
    """No difference means: exactly the due entries are live, at the row's revision, and no entry has a higher
    revision."""
    due = row(revision=revision, passages=passages, living=passages > 0)
    entries = [entry(number, revision=at, tombstone=gone, of=row()) for number, at, gone in standing]
    by_id = {each.id: each for each in entries}

    found = judge(due, list(by_id.values()), BUILDER)

    living = {each.id: each.revision for each in by_id.values() if not each.tombstone}
    equal = living == {point_id(ID, number): revision for number in range(passages)}
    assert (not found) == (equal and all(each.revision <= revision for each in by_id.values()))


class Waiting:
    """An outbox and a stream that report since when something is waiting in them."""

    def __init__(self) -> None:
        self.outbox: int | None = None
        self.stream: int | None = None

    async def unpublished_since(self) -> int | None:
        return self.outbox

    async def oldest(self) -> int | None:
        return self.stream


async def test_nothing_that_is_queued_is_announced_again() -> None:
    clock, waiting = FakeClock(), Waiting()
    quiescent = QuiescentSince(waiting.unpublished_since, {IndexKind.TEXT: waiting.oldest}, clock)
    clock.advance(1000)

    assert await quiescent.since(IndexKind.TEXT) > clock.now(), "nothing is waiting"
    waiting.stream = START + 500
    assert await quiescent.since(IndexKind.TEXT) == START + 500, "later changes may still be on their way"
    waiting.outbox = START + 100
    assert await quiescent.since(IndexKind.TEXT) == START + 100
    waiting.outbox = START - 1
    assert await quiescent.since(IndexKind.TEXT) == 0, "another process may have announced something before"


async def test_what_was_announced_is_waited_for() -> None:
    clock, waiting = FakeClock(), Waiting()
    quiescent = QuiescentSince(waiting.unpublished_since, {IndexKind.TEXT: waiting.oldest}, clock)
    clock.advance(1000)
    quiescent.announced()
    waiting.stream = clock.now()
    clock.advance(1000)

    assert await quiescent.since(IndexKind.TEXT) == 0
    waiting.stream = clock.now()
    assert await quiescent.since(IndexKind.TEXT) == clock.now(), "what waits now came later"
    waiting.stream = None
    assert await quiescent.since(IndexKind.TEXT) > clock.now()


async def test_what_was_announced_is_waited_for_also_after_it_was_published() -> None:
    """The relay publishes it some time later, so that its entries are newer than the announcement."""
    clock, waiting = FakeClock(), Waiting()
    quiescent = QuiescentSince(waiting.unpublished_since, {IndexKind.TEXT: waiting.oldest}, clock)
    clock.advance(1000)
    waiting.outbox = clock.now()
    quiescent.announced()
    clock.advance(200)
    assert await quiescent.since(IndexKind.TEXT) == 0, "not published yet"

    waiting.outbox, waiting.stream = None, clock.now()
    clock.advance(200)
    assert await quiescent.since(IndexKind.TEXT) == 0, "published, not taken yet"
    waiting.stream = clock.now() + 100
    clock.advance(200)
    assert await quiescent.since(IndexKind.TEXT) == clock.now() - 100, "what waits now came later"


class Large:
    """A store of `rows` rows, none marked as done, and an index that holds them. Records how much was asked for at
    once."""

    def __init__(self, rows: int) -> None:
        self.ids = [f"01890000-0000-7000-8000-{number:012}" for number in range(rows)]
        self.most = 0
        self.seen: Counter[str] = Counter()

    def _told(self, found: Sequence[str]) -> Sequence[str]:
        self.most = max(self.most, len(found))
        return found

    async def walk(self, after: str, limit: int) -> str | None:
        following = self.ids[bisect_right(self.ids, after) :][:limit]
        return following[-1] if following else None

    async def rows_in(self, _: Generation, after: str, until: str, __: Collection[int]) -> Sequence[ExpectedRow]:
        found = self._told(self.ids[bisect_right(self.ids, after) : bisect_right(self.ids, until)])
        return [row(memory_id=each, marked=False) for each in found]

    async def unmarked(self, _: Generation, after: str, until: str, limit: int) -> Sequence[ExpectedRow]:
        found = self._told(self.ids[bisect_right(self.ids, after) : bisect_right(self.ids, until)][:limit])
        return [row(memory_id=each, marked=False) for each in found]

    async def by_id(self, _: Generation, ids: Collection[str]) -> Mapping[str, ExpectedRow]:
        return {each: row(memory_id=each, marked=False) for each in ids}

    async def read(self, _: str, ids: Sequence[str]) -> Mapping[str, Standing]:
        return {each: replace(entry(), id=each, memory_id=each) for each in ids}

    async def in_buckets(self, _: str, buckets: Collection[int]) -> AsyncIterator[Sequence[Standing]]:
        wanted = set(buckets)
        every = [each for each in self.ids if bucket(each) in wanted]
        self.seen.update(every)
        for start in range(0, len(every), 200):
            found = self._told(every[start : start + 200])
            yield [replace(entry(), id=each, memory_id=each) for each in found]


async def test_a_comparison_holds_a_part_of_both_sides_however_much_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconcile, "AT_ONCE", 300)
    large: Any = Large(1_500)
    text = Generation(kind=IndexKind.TEXT, name="t", model="", dimensions=0, builder=BUILDER, status="serving")

    found: set[str] = set()
    async for some in reconcile.differences(large, large, text, range(BUCKETS)):
        found.update(each.memory_id for each in some)
    assert found == large.seen.keys() == set(large.ids)
    assert set(large.seen.values()) == {1}, "the index is scanned once"
    assert large.most <= reconcile.AT_ONCE * 1.3, "buckets vary in size"

    large.most = 0
    unmarked = [each.memory_id async for some in reconcile.unmarked(large, text) for each in some]
    assert unmarked == large.ids
    assert large.most <= reconcile.AT_ONCE


class Small:
    """Both sides (rows and index) of the same memories."""

    def __init__(self, rows: Sequence[ExpectedRow], entries: Sequence[Standing]) -> None:
        self.rows, self.entries, self.walks = rows, entries, 0

    async def walk(self, after: str, _: int) -> str | None:
        return None if after else ID

    async def marks(self, *_: object) -> Sequence[int]:
        marks = []
        for each in self.rows:
            of = (each.memory_id, 0, each.revision, each.updated_at, each.content_hash, BUILDER)
            marks.append(ids.mark(bucket(each.memory_id), ids.digest(*of)))
        return marks

    async def by_id(self, _: Generation, wanted: Collection[str]) -> Mapping[str, ExpectedRow]:
        return {each.memory_id: each for each in self.rows if each.memory_id in wanted}

    async def entry_marks(self, _: str) -> AsyncIterator[EntryMarks]:
        self.walks += 1
        yield EntryMarks(
            [ids.mark(each.bucket, each.digest) for each in self.entries if not each.tombstone],
            [each for each in self.entries if each.tombstone],
        )


async def closer(rows: Sequence[ExpectedRow], entries: Sequence[Standing]) -> frozenset[int]:
    small: Any = Small(rows, entries)
    text = Generation(kind=IndexKind.TEXT, name="t", model="", dimensions=0, builder=BUILDER, status="serving")
    told = [each async for each in comparison_sums.closer(small, small, text)][-1]
    assert small.walks == 1, "the index is scanned once"
    assert (told.standing.entries, told.standing.tombstones) == (
        sum(not each.tombstone for each in entries),
        sum(each.tombstone for each in entries),
    )
    return told.differing


async def test_a_closer_look_sees_what_sums_of_buckets_hide() -> None:
    """Two entries of one bucket: one digest is too high by as much as the other is too low."""
    first, second = entry(), replace(entry(), id=OTHER, memory_id=OTHER, digest=entry().digest + 5)
    of = [replace(each, bucket=bucket(ID)) for each in (first, second)]
    here = [replace(each, digest=each.digest + by) for each, by in zip(of, (3, -3), strict=True)]
    assert sum(each.digest for each in of) == sum(each.digest for each in here)

    class HistoryRow(Small):
        async def marks(self, *_: object) -> Sequence[int]:
            return [ids.mark(each.bucket, each.digest) for each in of]

    text = Generation(kind=IndexKind.TEXT, name="t", model="", dimensions=0, builder=BUILDER, status="serving")
    for entries, differing in ((of, frozenset()), (here, frozenset({bucket(ID)}))):
        told: Any = HistoryRow([], entries)
        assert [each async for each in comparison_sums.closer(told, told, text)][-1].differing == differing


async def test_a_closer_look_at_tombstones() -> None:
    """A tombstone with a higher revision than its row is reported; one that is not ahead is accepted."""
    assert await closer([row()], [entry()]) == frozenset()
    assert await closer([row()], [entry(), entry(1, tombstone=True)]) == frozenset()
    assert await closer([row()], [entry(), entry(1, revision=9, tombstone=True)]) == {entry().bucket}
    assert await closer([row()], []) == await closer([], [entry()]) == {bucket(ID)}


def test_a_stamp_of_the_future_is_not_young() -> None:
    assert reconcile.stamp(START, START) == START
    assert reconcile.stamp(START + reconcile.AHEAD, START) == START + reconcile.AHEAD
    assert reconcile.stamp(START + reconcile.AHEAD + 1, START) == 0


async def test_stamps_of_the_future_do_not_shut_the_gate() -> None:
    """Neither a clock that was ahead at the start nor an event dated in the future delays the comparison."""
    clock, waiting = FakeClock(START + 10**9), Waiting()
    quiescent = QuiescentSince(waiting.unpublished_since, {IndexKind.TEXT: waiting.oldest}, clock)
    clock.advance(-(10**9))
    assert await quiescent.since(IndexKind.TEXT) == clock.now() + 1
    clock.advance(1000)
    waiting.outbox = START + 10**9
    assert await quiescent.since(IndexKind.TEXT) == clock.now(), "rows that change from now on are on their way"
