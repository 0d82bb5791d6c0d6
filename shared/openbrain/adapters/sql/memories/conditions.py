"""Conditions of `openbrain.domain.access.visibility` as SQL: they select the rows that `visibility.matches` accepts.

Access is not decided here. Only the named fields of an index entry can be used in a condition.
"""

import math
from enum import StrEnum
from typing import Any

import orjson
from sqlalchemy import Connection, and_, exists, false, func, literal, not_, or_, select, true
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import ColumnElement
from sqlalchemy.sql.functions import FunctionElement

from openbrain.adapters.sql.engine.database import MARIADB, SQLITE
from openbrain.adapters.sql.engine.statements import LOWER
from openbrain.adapters.sql.schema.column_types import BYTEWISE, metadata_value
from openbrain.adapters.sql.schema.lifecycle_tables import lifecycle_policies
from openbrain.adapters.sql.schema.tables import CONVERSATION_KEY, memories, memory_history
from openbrain.domain.access.metadata_pairs import parts
from openbrain.domain.access.visibility import (
    KEYWORD_FIELDS,
    NEVER,
    AllOf,
    AnyOf,
    AtLeast,
    Condition,
    Criteria,
    Equals,
    LessThan,
    OneOf,
    Says,
    Viewer,
    everything,
)
from openbrain.domain.limits import TAG_CHARS
from openbrain.domain.memory import MemoryType, Scope

LIVING = and_(
    memories.c.deleted_at.is_(None), memories.c.archived_at.is_(None), func.coalesce(memories.c.reason, "") == ""
)
"""Rows that have not ended. Expiry depends on the time, so it is a separate condition. The reason is wrapped, so that
no planner uses its index, with which it would read all live rows for each page of a walk by id."""
NEWEST = (memories.c.created_at.desc(), memories.c.id.desc())

_KEYWORDS = {name: memories.c[name] for name in (*KEYWORD_FIELDS, "speaker") if name != "tags"}
_PLAIN = tuple(memories.c[name] for name in ("content", "title", "source", "speaker"))
_JSON = tuple(memories.c[name] for name in ("aliases", "tags", "metadata"))
_NUMBERS = {
    "confidence": memories.c.confidence,
    "occurred_at": memories.c.occurred_at,
    # Wrapped, so that no planner prefers the index on expiry to the one by age.
    "expires_at": func.coalesce(memories.c.expires_at, NEVER),
}
_WORDS: dict[str, type[StrEnum]] = {"type": MemoryType, "memory_scope": Scope}
_FAR = 2**62


def compiled(condition: Condition) -> ColumnElement[bool]:
    """Return the condition over the columns of `memories`. `KeyError` for a field without a column."""
    match condition:
        case AllOf(conditions):
            return and_(true(), *(compiled(item) for item in conditions))
        case AnyOf(conditions):
            return or_(false(), *(compiled(item) for item in conditions))
        case Says(text):
            return _says(text)
        case Equals("tags", value):
            return _tagged((value,))
        case OneOf("tags", values):
            return _tagged(values)
        case Equals("metadata_pairs", value):
            return _holds_pair(value)
        case OneOf("metadata_pairs", values):
            return or_(false(), *(_holds_pair(value) for value in values))
        case Equals(field, value):
            return _among(field, (value,))
        case OneOf(field, values):
            return _among(field, values)
        case AtLeast(field, bound):
            return false() if math.isnan(bound) else _NUMBERS[field] >= _comparable(field, bound)
        case LessThan(field, bound):
            return false() if math.isnan(bound) else _NUMBERS[field] < _comparable(field, bound)


def held(connection: Connection, workspace_id: str) -> Condition:
    """Return the condition for the memories under the legal holds that are in force now."""
    query = select(lifecycle_policies.c.holds).where(lifecycle_policies.c.workspace_id == workspace_id)
    holds = orjson.loads(connection.scalar(query) or "[]")
    return AnyOf(tuple(everything(workspace_id, Criteria.of(hold)) for hold in holds))


def free(connection: Connection, workspace_id: str) -> ColumnElement[bool]:
    """Return the condition that no legal hold covers the memory."""
    return not_(compiled(held(connection, workspace_id)))


def of_orgs(viewer: Viewer, org: ColumnElement[str]) -> ColumnElement[bool]:
    """Return the condition that the viewer sees the org in a column."""
    return true() if viewer.orgs is None else org.in_([*viewer.orgs, *([""] if viewer.without_org else ())])


def _among(field: str, values: tuple[str, ...]) -> ColumnElement[bool]:
    column = _KEYWORDS[field]
    if field in _WORDS:
        # These columns are ASCII on MariaDB, which would compare non-ASCII values with a looser collation.
        words = frozenset(_WORDS[field])
        values = tuple(value for value in values if value in words)
    if not values:
        return false()
    return column == str(values[0]) if len(values) == 1 else column.in_([str(value) for value in values])


def _comparable(field: str, bound: float) -> float:
    """Convert the bound to the column's type, so that no database rounds what Python compares exactly."""
    bound = max(-_FAR, min(_FAR, bound))
    return float(bound) if field == "confidence" else math.ceil(bound)


class _Tags(FunctionElement[Any]):
    """The tags of a row as a table with the column `value`."""

    inherit_cache = True
    name = "tags"


@compiles(_Tags, SQLITE)
def _tags_sqlite(element: _Tags, compiler: SQLCompiler, **options: Any) -> str:
    return f"json_each({compiler.process(element.clauses, **options)})"


@compiles(_Tags, MARIADB)
def _tags_mariadb(element: _Tags, compiler: SQLCompiler, **options: Any) -> str:
    tags = compiler.process(element.clauses, **options)
    return f"JSON_TABLE({tags}, '$[*]' COLUMNS (value VARCHAR({TAG_CHARS}) COLLATE {BYTEWISE} PATH '$'))"


def _holds_pair(pair: str) -> ColumnElement[bool]:
    key, value = parts(pair)
    if not key:
        return false()
    if key == CONVERSATION_KEY:
        return memories.c.conversation == value
    return metadata_value(memories.c.metadata, key) == value


class _Lowered(FunctionElement[Any]):
    """A text in lower case."""

    inherit_cache = True
    name = "lowered"


@compiles(_Lowered, SQLITE)
def _lowered_sqlite(element: _Lowered, compiler: SQLCompiler, **options: Any) -> str:
    return f"{LOWER}({compiler.process(element.clauses, **options)})"


@compiles(_Lowered, MARIADB)
def _lowered_mariadb(element: _Lowered, compiler: SQLCompiler, **options: Any) -> str:
    # Unlike Python, LOWER knows neither the two characters of a lower \u0130 nor a sigma at the end of a word.
    text = compiler.process(element.clauses, **options)
    return f"REPLACE(LOWER(REPLACE({text}, '\u0130', 'i\u0307')), '\u03c2', '\u03c3')"


def _says(text: str) -> ColumnElement[bool]:
    quoted = orjson.dumps(text).decode()[1:-1]
    past = memory_history.c
    mentioned = or_(holds_text(past.note, text), holds_text(past.before, quoted), holds_text(past.after, quoted))
    return or_(
        *(holds_text(column, text) for column in _PLAIN),
        *(holds_text(column, quoted) for column in _JSON),
        exists().where(past.memory_id == memories.c.id, mentioned).correlate(memories),
    )


def holds_text(column: "ColumnElement[Any]", text: str) -> ColumnElement[bool]:
    """True if a column contains `text`, ignoring case."""
    held = func.instr(_Lowered(column), _Lowered(literal(text.lower()))) > 0
    # MariaDB leaves the capitals of some scripts as they are: find at least what is spelled alike.
    return held if text.isascii() else or_(held, func.instr(column, text) > 0)


def _tagged(values: tuple[str, ...]) -> ColumnElement[bool]:
    if not values:
        return false()
    tag = _Tags(memories.c.tags).table_valued("value", name="tag")
    return exists().where(tag.c.value.in_(values)).correlate(memories)
