"""Turns of sessions, by memory and by position."""

from collections.abc import Collection, Mapping, Sequence
from itertools import islice

from sqlalchemy import ColumnElement, Connection, and_, case, func, select

from openbrain.adapters.sql.memories.conditions import LIVING, compiled
from openbrain.adapters.sql.memories.rows import read_rows
from openbrain.adapters.sql.schema.tables import memories
from openbrain.domain.access.visibility import Condition, matcher
from openbrain.domain.memory import Memory
from openbrain.ports.store.memories import Turn

SESSIONS_AT_ONCE = 16
"""Sessions per statement: each statement seeks every turn in every session."""

_NO_TURN = 2**40
"""The position of a memory without a turn: after all others."""

_table = memories.c
_TURNS = select(_table.id, _table.session_id, _table.turn, func.char_length(_table.content)).where(
    LIVING, _table.turn.is_not(None), _table.session_id != ""
)

Places = Mapping[str, Collection[int]]
"""Turn numbers by session."""


def read_turns(
    connection: Connection, ids: Sequence[str], condition: Condition, around: Collection[int]
) -> Mapping[str, Turn]:
    """Return turns for `Memories.turns`."""
    # With the condition in the statement, SQLite would read the whole workspace instead of these rows.
    sees = matcher(condition)
    turns: dict[str, Turn] = {}
    workspace_id = ""
    for row in read_rows(connection, ids, turns=True):
        if row.turn is not None and row.session_id and not row.ended and sees(row):
            turns[row.id] = Turn(row.session_id, row.turn, len(row.content))
            workspace_id = row.workspace_id
    places = _beside(turns, around)
    if not places:
        return turns
    # Compiling the condition takes longer than reading all of these rows.
    missing, within = iter(places.items()), compiled(condition)
    while part := dict(islice(missing, SESSIONS_AT_ONCE)):
        turns |= read_places(connection, workspace_id, part, within)
    return turns


def read_places(
    connection: Connection, workspace_id: str, places: Places, within: ColumnElement[bool]
) -> dict[str, Turn]:
    """Return the memories at these positions. One statement, which seeks every number in every session."""
    numbers = sorted({number for wanted in places.values() for number in wanted})
    there = _table.workspace_id == workspace_id, _table.session_id.in_(sorted(places)), _table.turn.in_(numbers)
    # In a CASE: as a plain condition, scope and agent make both databases read all memories of the agent.
    seen = case((within, 1), else_=0) == 1
    return {
        memory_id: Turn(session_id, number, chars)
        for memory_id, session_id, number, chars in connection.execute(_TURNS.where(*there, seen))
        if number in places[session_id]
    }


def read_beside(connection: Connection, memory: Memory, condition: Condition, limit: int) -> Sequence[str]:
    """Return ids for `Memories.of_same_session`."""
    turn = _NO_TURN if memory.turn is None else memory.turn
    distance = func.abs(func.coalesce(_table.turn, _NO_TURN) - turn), func.abs(_table.occurred_at - memory.occurred_at)
    others = and_(_table.session_id == memory.session_id, _table.id != memory.id)
    statement = select(_table.id).where(LIVING, others, compiled(condition)).order_by(*distance, _table.id).limit(limit)
    return list(connection.execute(statement).scalars())


def _beside(turns: Mapping[str, Turn], around: Collection[int]) -> Places:
    """Return the positions around these turns, without the turns themselves."""
    read: dict[str, set[int]] = {}
    for turn in turns.values():
        read.setdefault(turn.session_id, set()).add(turn.number)
    beside = {
        session_id: {number + distance for number in numbers for distance in around} - numbers
        for session_id, numbers in sorted(read.items())
    }
    return {session_id: numbers for session_id, numbers in beside.items() if numbers}
