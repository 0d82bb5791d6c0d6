"""The memories that lifecycle jobs examine, and the decisions about them."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, func, select, tuple_

from openbrain.adapters.sql.engine.statements import along, is_sqlite, newer_than
from openbrain.adapters.sql.memories.conditions import LIVING, compiled, held
from openbrain.adapters.sql.memories.rows import memory_columns, to_memories
from openbrain.adapters.sql.schema.tables import BY_AGE, memories, memory_usage
from openbrain.domain.access.visibility import AnyOf, Equals, matcher
from openbrain.domain.memory import Memory
from openbrain.ports.lifecycle import PINNED, Action, Decide, GroupResult, Place, Selection, Subject, Use

PLACE = (memories.c.created_at, memories.c.id)


def count(connection: Connection, selection: Selection) -> int:
    return connection.scalar(select(func.count()).select_from(memories).where(selected(selection))) or 0


def page(connection: Connection, selection: Selection, limit: int, after: Place | None) -> Sequence[Subject]:
    """Return a page, read along the index of a workspace's memories by age."""
    where = and_(selected(selection), following(connection, after))
    query = select(*memory_columns(connection)).where(where).order_by(*PLACE).limit(limit)
    rows = connection.execute(along(query, memories, BY_AGE))
    return with_use(connection, to_memories(connection, rows))


def orgs(connection: Connection, workspace_id: str, projects: Collection[str]) -> Mapping[str, Collection[str]]:
    columns = memories.c.project, memories.c.org
    theirs = memories.c.workspace_id == workspace_id, memories.c.project.in_(projects), memories.c.org != ""
    by_project: dict[str, set[str]] = {project: set() for project in projects}
    for project, org in connection.execute(select(*columns).where(*theirs, LIVING).distinct()):
        by_project[project].add(org)
    return by_project


class Eligible(NamedTuple):
    """Subjects by id, and the ids that a legal hold or a pin protects."""

    subjects: Mapping[str, Subject]
    held: Collection[str]


def eligible(connection: Connection, selection: Selection, rows: Sequence[Memory]) -> Eligible:
    """Return which of these live rows still match the selection."""
    chosen = matcher(selection.condition())
    rows = [row for row in rows if chosen(row) and max(row.created_at, row.confirmed_at) <= selection.made_by]
    kept = matcher(AnyOf((held(connection, selection.workspace_id), Equals("tags", PINNED))))
    holding = {row.id for row in rows if kept(row)}
    subjects = with_use(connection, [row for row in rows if row.id not in holding])
    return Eligible({subject.memory.id: subject for subject in subjects}, holding)


def decided(allowed: Eligible, ids: Sequence[str], decide: Decide) -> GroupResult:
    """Return the decisions about one group, in its order; archiving comes last."""
    changes = decide([allowed.subjects[item] for item in ids if item in allowed.subjects])
    if len({change.memory_id for change in changes}) != len(changes):
        raise AssertionError("a job decided twice about one memory")
    archived_last = sorted(changes, key=lambda change: change.action is Action.ARCHIVED)
    return GroupResult(archived_last, sum(item in allowed.held for item in ids))


def with_use(connection: Connection, rows: Sequence[Memory]) -> Sequence[Subject]:
    """Return the rows, in order, each with its usage in recalls."""
    table = memory_usage.c
    columns = (table.memory_id, table.recall_count, table.last_recalled_at, table.used, table.ignored)
    query = select(*columns).where(table.memory_id.in_([row.id for row in rows]))
    uses = {memory_id: Use(*rest) for memory_id, *rest in connection.execute(query)} if rows else {}
    return [Subject(row, uses.get(row.id, Use())) for row in rows]


def selected(selection: Selection) -> ColumnElement[bool]:
    """Return the condition for the rows of a selection."""
    old = and_(memories.c.created_at <= selection.made_by, memories.c.confirmed_at <= selection.made_by)
    return and_(LIVING, compiled(selection.condition()), old)


def following(connection: Connection, after: Place | None) -> ColumnElement[bool]:
    # MariaDB can't use an index for a tuple comparison.
    if after is None or not is_sqlite(connection):
        return newer_than(after, *PLACE)
    return tuple_(*PLACE) > tuple_(*after)
