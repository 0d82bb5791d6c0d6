"""Verdicts on recall results, in both databases: counted once, within limits, and kept in the history."""

import asyncio
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.access.visibility import Criteria, Viewer, visible
from openbrain.domain.errors import Invalid, NotFound
from openbrain.domain.ids import uuid7
from openbrain.domain.memory import DAY, FeedbackRules, Memory, Moved, Scope, Verdict, feedback_step
from openbrain.ports.store.memories import Feedback, Judged, RecallRecord
from openbrain.ports.store.writes import Origin
from tests.support.store.fixtures import FakeClock, rows, stored

RULES = FeedbackRules()
USED, IGNORED, WRONG = Verdict.USED, Verdict.IGNORED, Verdict.WRONG


@pytest.fixture
def store(database: Database, clock: FakeClock) -> SqlStore:
    return SqlStore(database, clock)


async def recalled(store: SqlStore, clock: FakeClock, *found: str, agent: str = "ada") -> str:
    record = RecallRecord(
        id=uuid7(clock.now()),
        workspace_id="w1",
        agent_id=agent,
        query="",
        results=tuple((each, 1.0) for each in found),
        took_ms=1,
        at=clock.now(),
    )
    await store.memories.record_recalls([record])
    return record.id


async def judge(
    store: SqlStore, recall: str, verdicts: Mapping[str, Verdict], agent: str = "ada", workspace: str = "w1"
) -> Sequence[Judged]:
    viewer = Viewer(workspace, agent)
    feedback = Feedback(
        recall_id=recall, viewer=viewer, origin=Origin(actor=agent), verdicts=verdicts, reason="because"
    )
    return await store.usage.judge(feedback, RULES)


async def now(store: SqlStore, memory_id: str) -> Memory:
    return (await store.memories.rows([memory_id]))[memory_id]


@pytest.mark.parametrize(("verdict", "moved"), [(USED, 0.02), (IGNORED, -0.01), (WRONG, -0.1)])
async def test_a_verdict_moves_confidence_once(
    store: SqlStore, database: Database, clock: FakeClock, verdict: Verdict, moved: float
) -> None:
    row = await stored(store.writes, confidence=0.5)
    recall = await recalled(store, clock, row.id)
    results = await asyncio.gather(*(judge(store, recall, {row.id: verdict}) for _ in range(4)))
    (other,) = await judge(store, recall, {row.id: USED if verdict is WRONG else WRONG})

    assert sorted(each.status for (each,) in results) == ["counted", "repeated", "repeated", "repeated"]
    assert (other.status, other.verdict) == ("repeated", verdict)
    after = await now(store, row.id)
    assert after.confidence == pytest.approx(0.5 + moved)
    assert (after.version, after.revision, after.content) == (1, 2, row.content)
    line = (await store.memories.history(row.id))[-1]
    assert (line.action, line.actor, line.reason) == ("feedback", "ada", "because")
    assert (line.before, line.after) == (
        {"confidence": 0.5},
        {"confidence": after.confidence, "feedback": verdict.value},
    )
    (usage,) = await rows(database, "SELECT used, ignored FROM memory_usage")
    assert (usage["used"], usage["ignored"]) == ((1, 0) if verdict is USED else (0, 1))
    announced = [each for each in await store.outbox.take(20) if each.stream == "memory.stored"]
    assert len(announced) == 2, "one event for the store, one for the new confidence"


@pytest.mark.parametrize("verdict", [USED, WRONG])
async def test_a_flood_of_one_agent_stays_within_its_day(store: SqlStore, clock: FakeClock, verdict: Verdict) -> None:
    """Other agents can still have an effect, up to the limit for all; the next day starts anew."""
    row = await stored(store.writes, confidence=0.5)
    way = 1 if verdict is USED else -1

    async def flood(agent: str) -> float:
        for _ in range(7):
            await judge(store, await recalled(store, clock, row.id, agent=agent), {row.id: verdict}, agent)
        return (await now(store, row.id)).confidence

    assert await flood("eve") == pytest.approx(0.5 + way * RULES.agent_day)
    assert await flood("ada") == pytest.approx(0.5 + way * RULES.day)
    assert await flood("bo") == pytest.approx(0.5 + way * RULES.day)
    (limited,) = await judge(store, await recalled(store, clock, row.id), {row.id: verdict})
    assert limited.status == "limited"
    clock.advance(DAY)
    assert await flood("eve") == pytest.approx(0.5 + way * (RULES.day + RULES.agent_day))


async def test_only_who_was_given_it_judges_it(store: SqlStore, clock: FakeClock) -> None:
    row, other = await stored(store.writes), await stored(store.writes, "another")
    private = await stored(store.writes, "mine", memory_scope=Scope.AGENT, agent_id="bo")
    recall = await recalled(store, clock, row.id, private.id)

    for agent, workspace in (("bo", "w1"), ("ada", "w2"), ("", "w1")):
        with pytest.raises(NotFound):
            await judge(store, recall, {row.id: WRONG}, agent, workspace)
    with pytest.raises(NotFound):
        await judge(store, uuid7(0), {row.id: WRONG})
    for foreign in (other.id, uuid7(0)):
        with pytest.raises(Invalid):
            await judge(store, recall, {row.id: WRONG, foreign: WRONG})
    assert (await now(store, row.id)).confidence == 1.0, "all or nothing"
    (hidden,) = await judge(store, recall, {private.id: WRONG})
    assert (hidden.status, hidden.confidence) == ("gone", None)


async def test_what_no_recall_finds_is_listed(store: SqlStore, clock: FakeClock) -> None:
    old = [await stored(store.writes, f"old {number}") for number in range(4)]
    ended = await stored(store.writes, "ended")
    await store.writes.forget(ended.id, Viewer("w1", "ada"), Origin(actor="ada"), "")
    await stored(store.writes, "of another", memory_scope=Scope.AGENT, agent_id="bo")
    await recalled(store, clock, old[0].id)
    clock.advance(50 * DAY)
    await recalled(store, clock, old[1].id)
    await stored(store.writes, "new", now=clock.now())
    condition = visible(Viewer("w1", "ada"), Criteria(), clock.now())

    async def listed(days: int, limit: int = 9, after: tuple[int, str] | None = None) -> list[str]:
        return [row.content for row in await store.usage.unused(condition, clock.now() - days * DAY, limit, after)]

    first = await store.usage.unused(condition, clock.now() - 10 * DAY, 2)
    rest = await listed(10, 2, (first[-1].created_at, first[-1].id))
    assert sorted([*(row.content for row in first), *rest]) == ["old 0", "old 2", "old 3"]
    assert await listed(60) == []


async def test_it_goes_with_its_recall_and_with_its_memory(
    store: SqlStore, database: Database, clock: FakeClock
) -> None:
    row, doomed = await stored(store.writes), await stored(store.writes, "doomed")
    await judge(store, await recalled(store, clock, row.id, doomed.id), {row.id: IGNORED, doomed.id: IGNORED})
    await store.writes.erase(doomed.id, Viewer("w1", "ada"), Origin(actor="ada"), "")
    (left,) = await rows(database, "SELECT memory_id FROM recall_feedback")
    assert left["memory_id"] == row.id

    await store.memories.purge_recalls(clock.now() + 1, 10)
    assert await rows(database, "SELECT * FROM recall_feedback") == []


@given(st.sampled_from(Verdict), st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_no_step_leaves_the_bounds(verdict: Verdict, confidence: float, by_agent: float, by_all: float) -> None:
    moved = feedback_step(verdict, confidence, Moved(by_agent, by_all), RULES)
    after = confidence + moved

    assert -1e-6 <= after <= 1 + 1e-6
    assert moved >= 0 if verdict is USED else moved <= 0
    assert after >= min(confidence, RULES.floor) - 1e-6
    assert abs(moved) <= 0.1
    assert abs(moved) + by_agent <= max(by_agent, RULES.agent_day) + 1e-6
    assert abs(moved) + by_all <= max(by_all, RULES.day) + 1e-6
