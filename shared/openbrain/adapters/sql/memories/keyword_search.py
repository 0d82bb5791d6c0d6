"""A keyword search without an index: the newest memories are looked through, one after the other."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Select, case, func, literal, or_, select

from openbrain.adapters.sql.memories.conditions import LIVING
from openbrain.adapters.sql.schema.tables import memories
from openbrain.domain.limits import KEYWORDS


def keyword_hits(words: Sequence[str], condition: ColumnElement[bool], scan: int, limit: int) -> Select[Any]:
    """Rows of (id, score): score is the share of the words (at most the first KEYWORDS) that stand in the content.

    `words` are lower case.
    """
    wanted = [word for word in dict.fromkeys(words) if word][:KEYWORDS]
    present = sum((case((_holds(word), 1), else_=0) for word in wanted), start=literal(0))
    # The share is made here and divided by a number that is never 0, because MariaDB makes that a decimal.
    score = (present * 1.0 / max(1, len(wanted))).label("score")
    newest = (memories.c.created_at.desc(), memories.c.id.desc())
    looked_at = (
        select(memories.c.id, memories.c.created_at, score)
        .where(LIVING, condition)
        .order_by(*newest)
        .limit(scan)
        .subquery("looked_at")
    )
    candidate = looked_at.c
    return (
        select(candidate.id, candidate.score)
        .where(candidate.score > 0)
        .order_by(candidate.score.desc(), candidate.created_at.desc(), candidate.id.desc())
        .limit(limit)
    )


def _holds(word: str) -> ColumnElement[bool]:
    content = func.lower(memories.c.content)
    return or_(*(func.instr(content, form) > 0 for form in _forms(word)))


def _forms(word: str) -> Sequence[str]:
    """SQLite's lower() leaves all but ASCII as it is: look for an accented word also in capitals or with one first."""
    capitals = "".join(_capital(letter) for letter in word)
    return tuple(dict.fromkeys((word, capitals, _capital(word[0]) + word[1:])))


def _capital(letter: str) -> str:
    upper = letter.upper()
    return letter if letter.isascii() or len(upper) != 1 else upper
