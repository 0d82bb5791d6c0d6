"""Counts of values without an index: the newest memories are looked through."""

from collections import Counter
from collections.abc import Sequence

import orjson
from sqlalchemy import ColumnElement, Connection, func, select

from openbrain.adapters.sql.memories.conditions import LIVING
from openbrain.adapters.sql.schema.tables import memories
from openbrain.ports.index import Count

_Group = tuple[tuple[Sequence[str], ...], int]
"""The values of rows in each field, and their numbers."""


def counted(
    connection: Connection, fields: Sequence[str], condition: ColumnElement[bool], scan: int, limit: int
) -> tuple[Count, ...]:
    """Count values of the newest `scan` memories that live within the condition."""
    newest = (memories.c.created_at.desc(), memories.c.id.desc())
    wanted = [memories.c[name] for name in dict.fromkeys(fields)]
    looked_at = select(*wanted).where(LIVING, condition).order_by(*newest).limit(scan).subquery("looked_at")
    columns = [looked_at.c[name] for name in fields]
    rows = connection.execute(select(*columns, func.count()).group_by(*columns))
    return _tree([(_values(fields, values), count) for *values, count in rows], limit)


def _values(fields: Sequence[str], values: Sequence[str]) -> tuple[Sequence[str], ...]:
    """A row has one value of a field, or several tags."""
    several = (orjson.loads(value) if name == "tags" else (value,) for name, value in zip(fields, values, strict=True))
    return tuple(several)


def _tree(groups: Sequence[_Group], limit: int) -> tuple[Count, ...]:
    counts: Counter[str] = Counter()
    below: dict[str, list[_Group]] = {}
    for (values, *rest), count in groups:
        for value in values:
            counts[value] += count
            if rest:
                below.setdefault(value, []).append((tuple(rest), count))
    first = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:limit]
    return tuple(Count(value, count, _tree(below.get(value, ()), limit)) for value, count in first)
