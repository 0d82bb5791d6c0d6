"""Records of recalls are written after the answers, in batches; kept while the database is away, dropped only if too
many."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from itertools import count
from typing import Any, cast

import pytest

from openbrain.adapters.local.wake import LocalWake
from openbrain.domain.errors import TryLater
from openbrain.observability import metrics
from openbrain.ports.store.memories import RecallRecord
from openbrain_api.recall import recording
from openbrain_api.recall.recording import Recorder
from tests.support.waiting import PATIENCE_S, until


class Kept:
    """The recording port, with a database that can be made unavailable."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.away = False
        self.asked = 0

    async def record_recalls(self, recalls: Sequence[RecallRecord]) -> None:
        self.asked += 1
        if self.away:
            raise TryLater("the truth is away")
        self.batches.append([each.id for each in recalls])

    async def purge_recalls(self, before: int, limit: int) -> int:
        return 0

    def holds(self, count: int) -> Callable[[], Awaitable[bool]]:
        async def held() -> bool:
            return len(self.ids) == count

        return held

    def was_asked(self, times: int) -> Callable[[], Awaitable[bool]]:
        async def asked() -> bool:
            return self.asked >= times

        return asked

    @property
    def ids(self) -> list[str]:
        return [each for batch in self.batches for each in batch]


def record(number: int) -> RecallRecord:
    return RecallRecord(id=str(number), workspace_id="w1", agent_id="", query="", results=(), took_ms=1, at=0)


def unrecorded() -> float:
    return metrics.REGISTRY.get_sample_value("openbrain_recalls_unrecorded_total") or 0.0


async def test_what_comes_together_is_written_together_and_in_order() -> None:
    kept = Kept()
    recorder = Recorder(cast("Any", kept), LocalWake(), pause_s=0.01)
    for number in range(450):
        recorder.add(record(number))
    await until(kept.holds(450))
    await recorder.close()

    assert [len(batch) for batch in kept.batches] == [200, 200, 50]
    assert kept.ids == [str(number) for number in range(450)]


async def test_nothing_is_lost_while_the_truth_is_away() -> None:
    kept = Kept()
    kept.away = True
    recorder = Recorder(cast("Any", kept), LocalWake(), pause_s=0.001)
    for number in range(300):
        recorder.add(record(number))
    await until(kept.was_asked(3))
    kept.away = False
    await until(kept.holds(300))

    assert kept.ids == [str(number) for number in range(300)]


async def test_closing_writes_what_waits_at_once() -> None:
    kept = Kept()
    recorder = Recorder(cast("Any", kept), LocalWake(), pause_s=3600)
    recorder.add(record(1))
    await asyncio.wait_for(recorder.close(), PATIENCE_S)
    assert kept.ids == ["1"]


async def test_closing_without_a_truth_ends_and_counts_what_is_given_up() -> None:
    kept = Kept()
    kept.away = True
    recorder = Recorder(cast("Any", kept), LocalWake(), pause_s=3600)
    before = unrecorded()
    for number in range(250):
        recorder.add(record(number))
    await asyncio.wait_for(recorder.close(), PATIENCE_S)
    assert unrecorded() - before == 250


async def test_too_many_give_up_the_oldest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "KEPT", 3)
    kept = Kept()
    recorder = Recorder(cast("Any", kept), LocalWake(), pause_s=3600)
    before = unrecorded()
    for number in range(5):
        recorder.add(record(number))
    await recorder.close()

    assert kept.ids == ["2", "3", "4"]
    assert unrecorded() - before == 2


async def test_feedback_waits_for_earlier_records_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy server recalls come while a batch is written, so there is always a record that waits."""

    class Slow(Kept):
        async def record_recalls(self, recalls: Sequence[RecallRecord]) -> None:
            await asyncio.sleep(0.05)
            await super().record_recalls(recalls)

    monkeypatch.setattr(recording, "PATIENCE_S", 20.0)
    kept = Slow()
    recorder = Recorder(cast("Any", kept), LocalWake(), pause_s=0.02)
    recorder.add(record(0))

    async def recalls() -> None:
        for number in count(1):
            recorder.add(record(number))
            await asyncio.sleep(0.005)

    busy = asyncio.create_task(recalls())
    await recorder.written()
    busy.cancel()

    assert "0" in kept.ids
    await recorder.close()


async def test_feedback_is_refused_while_its_record_can_not_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "PATIENCE_S", 0.05)
    kept = Kept()
    kept.away = True
    recorder = Recorder(cast("Any", kept), LocalWake(), pause_s=0.001)
    recorder.add(record(0))
    with pytest.raises(TryLater):
        await recorder.written()
    kept.away = False
    await recorder.close()
    await recorder.written()
