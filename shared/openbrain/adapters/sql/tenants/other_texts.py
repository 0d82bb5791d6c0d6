"""Texts of a workspace other than memories: all, or those of an agent or a person, or those that contain a text."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from sqlalchemy import Column, ColumnElement, Connection, Table, and_, case, func, or_, select

from openbrain.adapters.sql.memories.conditions import holds_text
from openbrain.adapters.sql.schema.agent_tables import messages, standing_queries
from openbrain.adapters.sql.schema.signal_tables import halts, signal_history, signals
from openbrain.adapters.sql.schema.tables import recall_feedback, recalls
from openbrain.domain.signals.values import Step
from openbrain.domain.text.spelling import spellings
from openbrain.domain.times import to_iso
from openbrain.ports.cleaning import ERASED, OtherText, OtherTextsCursor, Party

Keys = tuple[Any, ...]
PAGE = 100
_TIMES = ("at", "created_at", "first_raised_at", "raised_at", "ended_at")


class Texts(NamedTuple):
    """Text columns of a table that have the same author."""

    what: str
    """The name of the texts in an export."""
    table: Table
    names: tuple[str, ...]
    by: str
    """The column that names the author."""
    to: tuple[str, ...] = ()
    """The columns that name the receivers."""
    more: tuple[str, ...] = ()
    """Further columns that an export contains."""
    hashes: Mapping[str, Any] = MappingProxyType({})
    """New values of columns with a hash of the texts, by which a short text could be guessed."""

    @property
    def keys(self) -> Sequence[Column[Any]]:
        return list(self.table.primary_key.columns)

    def of(self, workspace_id: str, party: Party | None) -> Sequence[ColumnElement[bool]]:
        """Return the conditions for the rows. With a party: only rows whose text is neither empty nor erased."""
        column, mine = self.table.c, [self.table.c.workspace_id == workspace_id]
        if party is None:
            return mine
        mine.append(or_(*(and_(column[name] != "", column[name] != ERASED) for name in self.names)))
        if party.says:
            said = spellings(party.says)
            mine.append(or_(*(holds_text(column[name], each) for name in self.names for each in said)))
        if party.speakers:
            mine.append(column[self.by].in_(party.speakers))
        if party.agents:
            named = [column[name].in_(party.agents) for name in (self.by, *self.to)]
            mine.append(or_(*named, *self._raised(workspace_id, party)))
        return mine

    def _raised(self, workspace_id: str, party: Party) -> Sequence[ColumnElement[bool]]:
        """Return a condition for signals that the agents raised; their source may be somebody else."""
        if self.what != "signal":
            return ()
        past = signal_history.c
        raised = and_(past.workspace_id == workspace_id, past.step == Step.RAISED.value, past.actor.in_(party.agents))
        return (signals.c.id.in_(select(past.signal_id).where(raised)),)

    def behind(self, after: Keys | None) -> Sequence[ColumnElement[bool]]:
        return () if after is None else (_behind(self.keys, after),)


# The hash of a match is that of its memory.
_HASHES = {"content_hash": case((messages.c.subscription_id.is_(None), ""), else_=messages.c.content_hash)}
TEXTS = (
    Texts("message", messages, ("subject", "content"), "sender", ("recipient",), ("org", "created_at"), _HASHES),
    Texts("question", recalls, ("query",), "agent_id", more=("created_at",)),
    Texts("feedback", recall_feedback, ("reason",), "actor", more=("verdict", "at")),
    Texts("standing_query", standing_queries, ("query",), "agent_id", more=("created_at",)),
    Texts(
        "signal",
        signals,
        ("title", "content"),
        "source",
        more=("org", "project", "state", "first_raised_at"),
        hashes={"content_hash": "", "identity": case((signals.c.open_key.is_(None), ""), else_=signals.c.identity)},
    ),
    Texts("signal_end", signals, ("note",), "ended_by", more=("state", "ended_at")),
    Texts("signal_step", signal_history, ("note",), "actor", more=("signal_id", "step", "at")),
    Texts("halt", halts, ("title",), "raised_by", more=("org", "project", "state", "raised_at")),
    Texts("halt_end", halts, ("note",), "ended_by", more=("state", "ended_at")),
)


def count(connection: Connection, workspace_id: str, party: Party) -> int:
    counts = (select(func.count()).select_from(item.table).where(*item.of(workspace_id, party)) for item in TEXTS)
    return sum(connection.scalar(query) or 0 for query in counts)


def page(
    connection: Connection, workspace_id: str, party: Party, after: OtherTextsCursor | None
) -> tuple[Sequence[OtherText], OtherTextsCursor | None]:
    """Return the next page: table by table, each in primary key order."""
    number, behind = after or (0, None)
    texts = TEXTS[number]
    names = [str(column.name) for column in texts.keys]
    shown = dict.fromkeys((*names, texts.by, *texts.to, *texts.more, *texts.names))
    query = select(*(texts.table.c[name] for name in shown)).where(
        *texts.of(workspace_id, party), *texts.behind(behind)
    )
    rows = connection.execute(query.order_by(*texts.keys).limit(PAGE)).mappings().all()
    page_rows = [OtherText(texts.what, {name: _value(name, row[name]) for name in shown}) for row in rows]
    if len(rows) == PAGE:
        return page_rows, (number, tuple(rows[-1][name] for name in names))
    return page_rows, (number + 1, None) if number + 1 < len(TEXTS) else None


def _value(name: str, value: Any) -> Any:
    return to_iso(value) if name in _TIMES and value is not None else value


def _behind(keys: Sequence[Column[Any]], after: Keys) -> ColumnElement[bool]:
    first, *rest = keys
    beyond: ColumnElement[bool] = first > after[0]
    return or_(beyond, and_(first == after[0], _behind(rest, after[1:]))) if rest else beyond
