"""Keyword search and value counts without an index, by scanning the newest memories."""

from collections import Counter
from collections.abc import Sequence
from functools import reduce
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Connection, Select, Subquery, case, func, literal, or_, select

from openbrain.adapters.sql.memories.conditions import LIVING, NEWEST
from openbrain.adapters.sql.schema.tables import memories
from openbrain.domain.limits import KEYWORDS
from openbrain.ports.index import Count

_NAMES = reduce(
    lambda text, part: text + literal("\n") + part,
    (memories.c.title, memories.c.speaker, func.coalesce(memories.c.aliases, ""), memories.c.tags),
)
"""A memory's names, joined so that one comparison searches them all."""
_Group = tuple[tuple[Sequence[str], ...], int]
"""The values of a group of rows in each field, and the number of rows."""


def keyword_hits(words: Sequence[str], condition: ColumnElement[bool], scan: int, limit: int) -> Select[Any]:
    """Select (id, score): the score is the share of the words (at most the first KEYWORDS) that its texts contain.

    `words` are lower case.
    """
    wanted = [word for word in dict.fromkeys(words) if word][:KEYWORDS]
    present = sum((case((_holds(word), 1), else_=0) for word in wanted), start=literal(0))
    # Divided by a constant that is never 0; MariaDB returns the result as a decimal.
    score = (present * 1.0 / max(1, len(wanted))).label("score")
    candidate = _looked_at((memories.c.id, memories.c.created_at, score), condition, scan).c
    return (
        select(candidate.id, candidate.score)
        .where(candidate.score > 0)
        .order_by(candidate.score.desc(), candidate.created_at.desc(), candidate.id.desc())
        .limit(limit)
    )


def _holds(word: str) -> ColumnElement[bool]:
    texts = func.lower(memories.c.content), func.lower(_NAMES)
    return or_(*(func.instr(text, form) > 0 for text in texts for form in _forms(word)))


def _forms(word: str) -> Sequence[str]:
    """Return the forms to look for. SQLite's lower() changes ASCII only, so non-ASCII letters are also tried in upper
    case: all of them, or only the first letter of the word."""
    capitals = "".join(_capital(letter) for letter in word)
    return tuple(dict.fromkeys((word, capitals, _capital(word[0]) + word[1:])))


def _capital(letter: str) -> str:
    upper = letter.upper()
    return letter if letter.isascii() or len(upper) != 1 else upper


def counted(
    connection: Connection, fields: Sequence[str], condition: ColumnElement[bool], scan: int, limit: int
) -> tuple[Count, ...]:
    """Count values in the newest `scan` live memories that match the condition."""
    looked_at = _looked_at([memories.c[name] for name in dict.fromkeys(fields)], condition, scan)
    columns = [looked_at.c[name] for name in fields]
    rows = connection.execute(select(*columns, func.count()).group_by(*columns))
    return _tree([(_values(fields, values), count) for *values, count in rows], limit)


def _values(fields: Sequence[str], values: Sequence[str]) -> tuple[Sequence[str], ...]:
    """Return the values of each field: one, or several for tags."""
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


def _looked_at(columns: Sequence[ColumnElement[Any]], condition: ColumnElement[bool], scan: int) -> Subquery:
    """Select the newest `scan` live memories that match the condition."""
    newest = select(*columns).where(LIVING, condition).order_by(*NEWEST).limit(scan)
    return newest.subquery("looked_at")
