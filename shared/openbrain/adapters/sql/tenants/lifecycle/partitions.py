"""Memories by partition, using the index of a workspace's memories by project and scope."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Connection, Select, and_, func, or_, select, true, tuple_

from openbrain.adapters.sql.engine.statements import along
from openbrain.adapters.sql.memories.rows import memory_columns, to_memories
from openbrain.adapters.sql.schema.tables import BY_PROJECT, memories
from openbrain.adapters.sql.tenants.lifecycle.subjects import PLACE, following, selected
from openbrain.domain.memory import Memory
from openbrain.ports.lifecycle import Partition, Place, Selection

_OUTER = (memories.c.project, memories.c.memory_scope)
_INNER = (memories.c.type, memories.c.org, memories.c.audience)


def partitions(
    connection: Connection, selection: Selection, after: Partition | None
) -> Sequence[tuple[Partition, int]]:
    """Return the remaining partitions of the project and scope of `after`; if there are none, those of the next project
    and scope."""
    if after is not None:
        rest = and_(_within(after), tuple_(*_INNER) > tuple_(after.type, after.org, after.audience))
        if counted := _counted(connection, selection, rest):
            return counted
    row = connection.execute(_next(selection, after)).first()
    if row is None:
        return []
    return _counted(connection, selection, and_(_OUTER[0] == row.project, _OUTER[1] == row.memory_scope))


def members(
    connection: Connection,
    selection: Selection,
    first: Partition,
    last: Partition,
    limit: int,
    after: Place | None,
) -> Sequence[Memory]:
    """Return a page of memories of these partitions, read in index order."""
    inner = tuple_(*_INNER)
    between = and_(
        inner >= tuple_(first.type, first.org, first.audience), inner <= tuple_(last.type, last.org, last.audience)
    )
    if first == last:
        between = and_(_INNER[0] == first.type, _INNER[1] == first.org, _INNER[2] == first.audience)
    where = and_(selected(selection), _within(first), between, following(connection, after))
    query = select(*memory_columns(connection)).where(where).order_by(*PLACE).limit(limit)
    return to_memories(connection, connection.execute(along(query, memories, BY_PROJECT)))


def _within(partition: Partition) -> ColumnElement[bool]:
    return and_(_OUTER[0] == partition.project, _OUTER[1] == partition.memory_scope)


def _next(selection: Selection, after: Partition | None) -> Select[tuple[str, str]]:
    project, scope = _OUTER
    behind: ColumnElement[bool] = true()
    if after is not None:
        # The second bound implies the first, which lets a database start in the middle of the index.
        same = and_(project == after.project, scope > after.memory_scope)
        behind = and_(project >= after.project, or_(project > after.project, same))
    return select(project, scope).where(selected(selection), behind).order_by(project, scope).limit(1)


def _counted(
    connection: Connection, selection: Selection, where: ColumnElement[bool]
) -> Sequence[tuple[Partition, int]]:
    query = select(*_OUTER, *_INNER, func.count()).where(selected(selection), where)
    rows = connection.execute(query.group_by(*_OUTER, *_INNER).order_by(*_INNER))
    return [(Partition(*place), number) for *place, number in rows]
