"""Inserts the rows of an export unchanged, one transaction at a time."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import orjson
from sqlalchemy import Connection, select

from openbrain.adapters.sql.engine.statements import among, chunks, slots
from openbrain.adapters.sql.outbox import event_bytes, relay
from openbrain.adapters.sql.schema.inserts import insert_rows
from openbrain.adapters.sql.schema.memory_rows import json_text, row_from_memory
from openbrain.adapters.sql.schema.tables import memories, memory_history, memory_lineage, workspaces
from openbrain.adapters.sql.writes.dedupe import dedupe_key
from openbrain.adapters.sql.writes.ending import SYSTEM_ACTOR
from openbrain.adapters.sql.writes.quotas import admit, total
from openbrain.domain.ids import is_uuid, transfer_id
from openbrain.domain.memory import Change, Memory, Reason
from openbrain.ports.store.transfer import HistoryRow, Item, Landed, Link, StoredMemory
from openbrain.usecases.auth import OPERATORS

_NAMING = ("superseded_by", "supersedes_id")
"""The fields in which an audit line names another memory."""
_ERASED = json_text({"reason": Reason.ERASED.value})
_BULK = SYSTEM_ACTOR._replace(bulk=True)
_LINE = tuple(memory_history.c[name] for name in ("memory_id", "version", "revision", "action", "at"))


def land(
    connection: Connection, workspace_id: str, items: Sequence[Item], now: int, *, keep_ids: bool = False
) -> list[Landed]:
    """Insert the items and return the outcome of each."""
    return Landing(connection, workspace_id, now, keep_ids=keep_ids or _alone(connection, workspace_id)).land(items)


def _alone(connection: Connection, workspace_id: str) -> bool:
    """True if no other workspace can contain any of the ids. The operators' workspace has no memories."""
    others = select(workspaces.c.id).where(workspaces.c.id.not_in((workspace_id, OPERATORS))).limit(1)
    return connection.scalar(others) is None


class Landing:
    """One transaction that inserts rows into one workspace."""

    def __init__(self, connection: Connection, workspace_id: str, now: int, *, keep_ids: bool) -> None:
        self._keep_ids = keep_ids
        self._connection = connection
        self._workspace = workspace_id
        self._now = now
        self._holders: dict[str, str] = {}
        self._others: dict[str, str] = {}
        """For each id, the id to use here if the original is taken."""

    def land(self, items: Sequence[Item]) -> list[Landed]:
        self._find_holders({element for item in items for element in _named(item)})
        kept: dict[str, StoredMemory] = {}
        for item in items:
            if isinstance(item, StoredMemory):
                kept.setdefault(self._own(item.memory.id), item)
        new = {memory_id: item for memory_id, item in kept.items() if memory_id not in self._holders}
        self._insert_memories(new)
        histories = self._insert_history([item for item in items if isinstance(item, HistoryRow)], new)
        linked = self._insert_links([item for item in items if isinstance(item, Link)], new)
        rest: Mapping[type, Iterator[Landed]] = {HistoryRow: iter(histories), Link: iter(linked)}
        return [self._landed(item, new) if isinstance(item, StoredMemory) else next(rest[type(item)]) for item in items]

    def _landed(self, item: StoredMemory, new: Mapping[str, StoredMemory]) -> Landed:
        # The second of two lines with the same id is a duplicate.
        return Landed.CREATED if new.get(self._own(item.memory.id)) is item else Landed.PRESENT

    def _find_holders(self, ids: Iterable[str]) -> None:
        self._others = {id_: transfer_id(self._workspace, id_) for id_ in ids}
        rows = self._among("SELECT id, workspace_id FROM memories WHERE id IN", {*self._others, *self._others.values()})
        self._holders = {row[0]: row[1] for row in rows}

    def _among(self, statement: str, values: Iterable[str]) -> Iterator[Sequence[Any]]:
        """Run a statement that ends with IN, for one chunk of the values at a time, and yield its rows."""
        for some in chunks(sorted(values)):
            text = f"{statement} ({slots(self._connection, len(some))})"
            yield from self._connection.exec_driver_sql(text, tuple(some))

    def _own(self, memory_id: str) -> str:
        """Return the id of the memory in this workspace."""
        other, holder = self._others[memory_id], self._holders.get(memory_id)
        if holder == self._workspace or (self._keep_ids and holder is None and other not in self._holders):
            return memory_id
        return other

    def _here(self, memory_id: str, new: Mapping[str, StoredMemory]) -> bool:
        return memory_id in new or self._holders.get(memory_id) == self._workspace

    def _insert_memories(self, new: Mapping[str, StoredMemory]) -> None:
        memories_new = {memory_id: self._restored(memory_id, item.memory) for memory_id, item in new.items()}
        counted = total([memory for memory in memories_new.values() if memory.reason is None])
        admit(self._connection, self._workspace, counted, self._now)
        keys = self._free_keys({name: memories_new[name] for name, item in new.items() if item.unique})
        # In key order: two writers of the same contents wait for each other instead of deadlocking.
        ordered = sorted(memories_new.values(), key=lambda memory: (keys.get(memory.id, ""), memory.id))
        insert_rows(self._connection, memories, [row_from_memory(element, keys.get(element.id)) for element in ordered])
        living = [memory for memory in memories_new.values() if memory.alive(self._now)]
        relay.append(
            self._connection, [event_bytes.stored(memory, Change.CREATED, _BULK, self._now) for memory in living]
        )

    def _restored(self, memory_id: str, memory: Memory) -> Memory:
        parent = None if memory.supersedes_id is None else self._own(memory.supersedes_id)
        if (memory_id, parent) == (memory.id, memory.supersedes_id):
            return memory
        return memory._replace(id=memory_id, supersedes_id=parent)

    def _free_keys(self, given: Mapping[str, Memory]) -> dict[str, str]:
        """Return the free duplicate keys by id. A row whose content was also stored by another since the export gets
        none: it is inserted as a second one."""
        keys: dict[str, str] = {}
        for name, memory in given.items():
            keys.setdefault(dedupe_key(memory), name)
        taken = {row[0] for row in self._among("SELECT dedupe_key FROM memories WHERE dedupe_key IN", keys)}
        return {name: key for key, name in keys.items() if key not in taken}

    def _insert_history(self, lines: Sequence[HistoryRow], new: Mapping[str, StoredMemory]) -> list[Landed]:
        owners = [self._own(line.memory_id) for line in lines]
        old = {owner for owner in owners if owner not in new and self._here(owner, new)}
        known, erased = self._known_lines(sorted(old))
        erased |= {name for name, item in new.items() if item.memory.reason is Reason.ERASED}
        rows: list[tuple[Any, ...]] = []
        landed: list[Landed] = []
        for line, owner in zip(lines, owners, strict=True):
            entry = (owner, line.version, line.revision, line.action, line.at)
            if not self._here(owner, new):
                landed.append(Landed.MISSING_PARENT)
            elif entry in known or (owner in erased and not _proves(line)):
                landed.append(Landed.PRESENT)
            else:
                known.add(entry)
                rows.append(self._history_row(owner, line))
                landed.append(Landed.CREATED)
        insert_rows(self._connection, memory_history, rows)
        return landed

    def _known_lines(self, ids: Sequence[str]) -> tuple[set[tuple[Any, ...]], set[str]]:
        """Return the existing lines, and the erased memories, of which the file must not restore any text."""
        # Locked: if two clients send the same file, each line is inserted once.
        owners = select(memories.c.id, memories.c.reason).with_for_update()
        rows = among(self._connection, owners, memories.c.id, ids)
        erased = {row.id for row in rows if row.reason == Reason.ERASED}
        lines = among(self._connection, select(*_LINE), memory_history.c.memory_id, ids)
        return {tuple(line) for line in lines}, erased

    def _history_row(self, owner: str, line: HistoryRow) -> tuple[Any, ...]:
        head = (owner, self._workspace, line.version, line.revision, line.action, line.actor, line.at)
        return (*head, self._renamed(line.before), self._renamed(line.after), line.note)

    def _renamed(self, text: str | None) -> str | None:
        named = _names_in(text)
        if not named or all(self._own(item) == item for item in named.values()):
            return text
        return orjson.dumps({**orjson.loads(text or "{}"), **{k: self._own(v) for k, v in named.items()}}).decode()

    def _insert_links(self, links: Sequence[Link], new: Mapping[str, StoredMemory]) -> list[Landed]:
        """Insert lineage links. A parent may come later in the file, or never; it is never in another workspace."""
        pairs = [(self._own(link.child_id), self._own(link.parent_id)) for link in links]
        query = select(memory_lineage.c.child_id, memory_lineage.c.parent_id)
        old = {child for child, _ in pairs if child not in new}
        known = {(child, parent) for child, parent in among(self._connection, query, memory_lineage.c.child_id, old)}
        rows: list[tuple[Any, ...]] = []
        landed: list[Landed] = []
        for link, pair in zip(links, pairs, strict=True):
            if not self._here(pair[0], new):
                landed.append(Landed.MISSING_PARENT)
            elif pair in known:
                landed.append(Landed.PRESENT)
            else:
                known.add(pair)
                rows.append((*pair, link.kind, link.created_at))
                landed.append(Landed.CREATED)
        insert_rows(self._connection, memory_lineage, rows)
        return landed


def _named(item: Item) -> Iterator[str]:
    """Yield the ids that an item refers to."""
    match item:
        case StoredMemory(memory):
            yield memory.id
            if memory.supersedes_id:
                yield memory.supersedes_id
        case Link():
            yield item.child_id
            yield item.parent_id
        case HistoryRow():
            yield item.memory_id
            yield from _names_in(item.before).values()
            yield from _names_in(item.after).values()


def _proves(line: HistoryRow) -> bool:
    """True if a line of an erased memory contains none of its text."""
    if line.action == Reason.ERASED:
        return line.before is None and line.after == _ERASED
    return line.before is None and line.after is None and not line.note


def _names_in(text: str | None) -> dict[str, str]:
    if text is None or not any(name in text for name in _NAMING):
        return {}
    given = orjson.loads(text)
    return {name: given[name] for name in _NAMING if is_uuid(str(given.get(name)))}
