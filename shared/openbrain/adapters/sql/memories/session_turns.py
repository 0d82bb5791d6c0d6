"""Where memories stand in their sessions, and what stands beside them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice

from sqlalchemy import ColumnElement, Connection, and_, func, or_, select

from openbrain.adapters.sql.memories.conditions import LIVING
from openbrain.adapters.sql.schema.tables import memories
from openbrain.ports.memories import Turn

SESSIONS_AT_ONCE = 16
"""In one statement."""

_table = memories.c
_IN_A_SESSION = and_(LIVING, _table.turn.is_not(None), _table.session_id != "")
_COLUMNS = (_table.id, _table.session_id, _table.turn, func.char_length(_table.content))


def read_turns(
    connection: Connection, ids: Sequence[str], within: ColumnElement[bool], around: Collection[int]
) -> Mapping[str, Turn]:
    """As `Memories.turns`."""
    turns = read_places(connection, and_(_table.id.in_(ids), within))
    for part in _parts(_missing(turns, around)):
        turns |= read_places(connection, and_(within, beside(part)))
    return turns


def beside(part: Sequence[tuple[str, Sequence[int]]]) -> ColumnElement[bool]:
    """These turns of these sessions. The two lists are implied by what follows; by them SQLite seeks in the index."""
    sessions = _table.session_id.in_([session for session, _ in part])
    numbers = _table.turn.in_(sorted({number for _, numbers in part for number in numbers}))
    pairs = or_(*(and_(_table.session_id == session, _table.turn.in_(numbers)) for session, numbers in part))
    return and_(sessions, numbers, pairs)


def read_places(connection: Connection, which: ColumnElement[bool]) -> dict[str, Turn]:
    rows = connection.execute(select(*_COLUMNS).where(_IN_A_SESSION, which))
    return {memory_id: Turn(session_id, number, chars) for memory_id, session_id, number, chars in rows}


def _missing(turns: Mapping[str, Turn], around: Collection[int]) -> Iterator[tuple[str, list[int]]]:
    """By session, the turns beside those that are read already."""
    read: dict[str, set[int]] = {}
    for turn in turns.values():
        read.setdefault(turn.session_id, set()).add(turn.number)
    for session_id, numbers in sorted(read.items()):
        beside = {number + distance for number in numbers for distance in around} - numbers
        if beside:
            yield session_id, sorted(beside)


def _parts(missing: Iterator[tuple[str, list[int]]]) -> Iterator[list[tuple[str, list[int]]]]:
    """Some at a time. Their number is a power of two, the last given again, so that few statements are prepared."""
    while part := list(islice(missing, SESSIONS_AT_ONCE)):
        yield part + [part[-1]] * ((1 << (len(part) - 1).bit_length()) - len(part))
