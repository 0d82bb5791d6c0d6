"""Verdicts on results of recalls, each counted once; and memories that no recall finds."""

from collections.abc import Mapping, Sequence

import orjson
from sqlalchemy import Connection, and_, case, exists, func, insert, select, update

from openbrain.adapters.sql.engine.database import TimedPart
from openbrain.adapters.sql.engine.statements import along, newer_than
from openbrain.adapters.sql.memories.conditions import LIVING, compiled
from openbrain.adapters.sql.memories.rows import locked_rows, memory_columns, to_memories
from openbrain.adapters.sql.outbox.journal import Journal
from openbrain.adapters.sql.schema.inserts import insert_rows
from openbrain.adapters.sql.schema.tables import BY_AGE, memories, memory_usage, recall_feedback, recalls
from openbrain.domain.access.visibility import Condition, Criteria, matches, visible
from openbrain.domain.errors import Invalid, NotFound
from openbrain.domain.memory import FEEDBACK_PERIOD, FeedbackRules, Memory, Moved, Verdict, feedback_step
from openbrain.ports.store.memories import Feedback, Judged


class SqlUsage(TimedPart):
    """`ports.store.memories.Usage`."""

    async def judge(self, feedback: Feedback, rules: FeedbackRules) -> Sequence[Judged]:
        return await self._write(_judge, feedback, rules, self._clock.now())

    async def unused(
        self, condition: Condition, before: int, limit: int, after: tuple[int, str] | None = None
    ) -> Sequence[Memory]:
        recalled = exists().where(memory_usage.c.memory_id == memories.c.id, memory_usage.c.last_recalled_at >= before)
        place = (memories.c.created_at, memories.c.id)
        following = newer_than(after, *place)
        where = and_(LIVING, compiled(condition), memories.c.created_at < before, ~recalled, following)

        def read(connection: Connection) -> Sequence[Memory]:
            query = select(*memory_columns(connection)).where(where).order_by(*place).limit(limit)
            return to_memories(connection, connection.execute(along(query, memories, BY_AGE)))

        return await self._database.read(read)


def _judge(connection: Connection, feedback: Feedback, rules: FeedbackRules, now: int) -> Sequence[Judged]:
    _known(connection, feedback)
    rows = {row.id: row for row in locked_rows(connection, memories.c.id.in_(sorted(feedback.verdicts)))}
    before = _before(connection, feedback)
    seen = visible(feedback.viewer, Criteria(), now)
    journal = Journal(now)
    judged = []
    # In a fixed order: two transactions that judge the same memories wait for each other instead of deadlocking.
    for memory_id, verdict in sorted(feedback.verdicts.items()):
        row = rows.get(memory_id)
        if row is None or not row.alive(now) or not matches(seen, row):
            judged.append(Judged(memory_id, verdict, "gone", None))
        elif memory_id in before:
            judged.append(Judged(memory_id, before[memory_id], "repeated", row.confidence))
        else:
            judged.append(_counted(connection, journal, feedback, row, rules))
    journal.write(connection)
    return judged


def _known(connection: Connection, feedback: Feedback) -> None:
    """Check that the recall is the agent's own and returned these memories."""
    mine = and_(recalls.c.workspace_id == feedback.viewer.workspace_id, recalls.c.agent_id == feedback.viewer.agent_id)
    results = connection.scalar(select(recalls.c.results).where(recalls.c.id == feedback.recall_id, mine))
    if results is None:
        raise NotFound("no recall with this id")
    given = {memory_id for memory_id, _ in orjson.loads(results)}
    for memory_id, verdict in feedback.verdicts.items():
        if memory_id not in given:
            raise Invalid(str(verdict), "must hold ids of this recall's results only")


def _before(connection: Connection, feedback: Feedback) -> Mapping[str, Verdict]:
    query = select(recall_feedback.c.memory_id, recall_feedback.c.verdict)
    rows = connection.execute(query.where(recall_feedback.c.recall_id == feedback.recall_id))
    return {memory_id: Verdict(verdict) for memory_id, verdict in rows}


def _counted(connection: Connection, journal: Journal, feedback: Feedback, row: Memory, rules: FeedbackRules) -> Judged:
    verdict, now = feedback.verdicts[row.id], journal.now
    moved = _moved(connection, feedback, row.id, now, up=verdict is Verdict.USED)
    change = feedback_step(verdict, row.confidence, moved, rules)
    line = {
        "recall_id": feedback.recall_id,
        "memory_id": row.id,
        "workspace_id": row.workspace_id,
        "actor": feedback.origin.actor,
        "verdict": verdict.value,
        "step": change,
        "reason": feedback.reason,
        "at": now,
    }
    connection.execute(insert(recall_feedback), line)
    _count(connection, row.id, verdict)
    if not change:
        return Judged(row.id, verdict, "limited", row.confidence)
    after = row._replace(confidence=round(row.confidence + change, 6), revision=row.revision + 1, updated_at=now)
    changed = {"confidence": after.confidence, "revision": after.revision, "updated_at": now}
    connection.execute(update(memories).where(memories.c.id == row.id).values(**changed))
    journal.judged(row, after, verdict.value, feedback.origin, feedback.reason)
    return Judged(row.id, verdict, "counted", after.confidence)


def _moved(connection: Connection, feedback: Feedback, memory_id: str, now: int, *, up: bool) -> Moved:
    table = recall_feedback.c
    way = table.step > 0 if up else table.step < 0
    own = case((table.actor == feedback.origin.actor, table.step), else_=0.0)
    query = select(func.coalesce(func.sum(own), 0.0), func.coalesce(func.sum(table.step), 0.0))
    by_agent, by_all = connection.execute(
        query.where(table.memory_id == memory_id, table.at > now - FEEDBACK_PERIOD, way)
    ).one()
    return Moved(abs(by_agent), abs(by_all))


def _count(connection: Connection, memory_id: str, verdict: Verdict) -> None:
    insert_rows(connection, memory_usage, [(memory_id, 0, None, 0, 0)], missing=True)
    column = memory_usage.c.used if verdict is Verdict.USED else memory_usage.c.ignored
    connection.execute(update(memory_usage).where(memory_usage.c.memory_id == memory_id).values({column: column + 1}))
