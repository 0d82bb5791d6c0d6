"""The cache of embeddings, and the passages of memories that use them."""

from array import array
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from sqlalchemy import Connection, exists, func, select

from openbrain.adapters.sql.engine.database import TimedPart
from openbrain.adapters.sql.engine.statements import chunks, fetched, is_sqlite, listed, slot, slots
from openbrain.adapters.sql.indexes import expected_entries, unused_vectors
from openbrain.adapters.sql.indexes.vector_rows import add_embeddings, put_passages
from openbrain.adapters.sql.memories.conditions import LIVING
from openbrain.adapters.sql.outbox import event_bytes, match_queue, relay
from openbrain.adapters.sql.schema.column_types import to_vector
from openbrain.adapters.sql.schema.tables import memories, memory_passages
from openbrain.adapters.sql.work import operations
from openbrain.adapters.sql.writes.ending import SYSTEM_ACTOR
from openbrain.domain.errors import TryLater
from openbrain.domain.ids import uuid7, uuids_among
from openbrain.domain.memory import Reason
from openbrain.ports.store.index_entries import Embedded, PassageSet
from openbrain.ports.store.operations import TRACES, Operation
from openbrain.ports.store.writes import PURGE
from openbrain.ports.subscriptions import QueuedMemory
from openbrain.usecases.auth import OPERATORS

_KNOWN = "SELECT input_hash FROM embeddings WHERE model = {slot} AND input_hash IN ({these})"

# The first byte of states is their version.
_WITH_STATES = _KNOWN + " AND SUBSTR(states, 1, 1) = {slot}"

_INPUTS = "SELECT memory_id, input_hash FROM memory_passages WHERE model = {slot} AND memory_id IN ({these})"

_STATES = """SELECT input_hash, states FROM embeddings
 WHERE model = {slot} AND input_hash IN ({these}) AND states IS NOT NULL"""

_HELD = "SELECT input_hash, created_at FROM embeddings WHERE model = {slot} AND input_hash IN ({these})"

_PASSAGES = """SELECT p.memory_id, p.revision, p.passage, e.vector FROM memory_passages AS p
 LEFT JOIN embeddings AS e ON e.input_hash = p.input_hash AND e.model = p.model
 WHERE p.model = {slot} AND p.memory_id IN ({these}) ORDER BY p.memory_id, p.passage"""

LOOKED = 10_000
"""Rows scanned per statement for memories without vectors."""

# By primary key only: with a condition on `reason` both databases would rather scan all live rows.
_LOCKED = """SELECT id, revision, passages_high, deleted_at, archived_at, reason
 FROM memories WHERE id IN ({these}) ORDER BY id"""


class SqlVectors(TimedPart):
    """`ports.index_entries.Vectors`."""

    async def known(self, hashes: Sequence[str], model: str, states: bytes = b"") -> frozenset[str]:
        """Return the inputs that are already embedded."""
        wanted = sorted(set(hashes))
        if not wanted:
            return frozenset()
        statement, behind = (_WITH_STATES, (states,)) if states else (_KNOWN, ())
        return frozenset(row[0] for row in await self._read_keys(_for_each_chunk, wanted, statement, model, behind))

    async def save(
        self,
        vectors: Mapping[str, "array[float]"],
        embedded: Sequence[Embedded],
        model: str,
        *,
        states: Mapping[str, bytes] | None = None,
        replace: bool = False,
    ) -> None:
        """Save everything in one transaction. Of several revisions of a memory the highest counts."""
        latest: dict[str, Embedded] = {}
        for item in embedded:
            if item.memory_id not in latest or item.revision > latest[item.memory_id].revision:
                latest[item.memory_id] = item
        if vectors or latest:
            now = self._clock.now()
            await self._write(_save, vectors, latest, model, now, states=states or {}, replace=replace)

    async def count_inputs(self, model: str) -> int:
        inputs = select(func.count(memory_passages.c.input_hash.distinct())).where(memory_passages.c.model == model)
        return await self._scalar(inputs) or 0

    async def unembedded(self, model: str, until: int, after: str, limit: int) -> Sequence[str]:
        """Return memories without vectors, scanning both tables by primary key, some rows per statement."""
        ids: list[str] = []
        while len(ids) < limit:
            some = await self._read(unembedded, model, until, after, limit - len(ids))
            if some is None:
                break
            after = some.looked
            ids += some.ids
        return ids

    async def passages(self, ids: Sequence[str], model: str) -> Mapping[str, PassageSet]:
        """Return the passages of each memory; absent too if a passage or its vector is missing."""
        wanted = sorted(set(ids))
        if not wanted:
            return {}
        found = await self._read_keys(_for_each_chunk, wanted, _PASSAGES, model)
        sets = {memory_id: _passage_set(list(rows)) for memory_id, rows in groupby(found, key=lambda row: row[0])}
        return {memory_id: item for memory_id, item in sets.items() if item is not None}

    async def inputs(self, ids: Sequence[str], model: str) -> Mapping[str, Sequence[str]]:
        """Return the inputs by memory id. Invalid ids, of entries that others wrote to an index, are ignored."""
        wanted = sorted(set(uuids_among(ids)))
        if not wanted:
            return {}
        by_memory: defaultdict[str, list[str]] = defaultdict(list)
        for memory_id, input_hash in await self._read_keys(_for_each_chunk, wanted, _INPUTS, model):
            by_memory[memory_id].append(input_hash)
        return by_memory

    async def states(self, inputs: Sequence[str], model: str) -> Mapping[str, bytes]:
        wanted = sorted(set(inputs))
        if not wanted:
            return {}
        return dict(await self._read_keys(_for_each_chunk, wanted, _STATES, model))

    async def drop_embeddings(self, inputs: Sequence[str]) -> int:
        """Remove unused vectors. One scan of all passages serves the waiting purges too."""
        if not await unused_vectors.existing_inputs(self._database, inputs):
            return 0
        awaited = await self._read(unused_vectors.awaited_inputs)
        return await unused_vectors.drop(self._database, {*inputs, *awaited})


class Lacking(NamedTuple):
    """Memories without vectors, and the id up to which rows were scanned."""

    ids: Sequence[str]
    looked: str


def unembedded(connection: Connection, model: str, until: int, after: str, limit: int) -> Lacking | None:
    """Return memories without an embedding among the next rows; None after the last row."""
    end = expected_entries.walk(connection, after, LOOKED)
    if end is None:
        return None
    rows, passages = memories.c, memory_passages.c
    there = exists(select(passages.memory_id)).where(
        passages.memory_id == rows.id, passages.model == model, passages.revision == rows.revision
    )
    wants = (LIVING, rows.wants_vector, rows.updated_at < until)
    query = select(rows.id).where(rows.id > after, rows.id <= end, *wants, ~there).order_by(rows.id).limit(limit)
    return Lacking(connection.scalars(query).all(), end)


def _for_each_chunk(
    connection: Connection, these: Sequence[str], statement: str, model: str, behind: tuple[object, ...] = ()
) -> Sequence[Any]:
    rows: list[Any] = []
    for some in chunks(these):
        these_slots, bound = listed(connection, some)
        filled = statement.format(slot=slot(connection), these=these_slots)
        rows.extend(fetched(connection, filled, (model, *bound, *behind)))
    return rows


def _passage_set(rows: Sequence[Any]) -> PassageSet | None:
    revisions = {revision for _, revision, _, _ in rows}
    whole = all(passage == number and vector is not None for number, (_, _, passage, vector) in enumerate(rows))
    if not whole or len(revisions) != 1:
        return None
    return PassageSet(revisions.pop(), tuple(to_vector(vector) for _, _, _, vector in rows))


def _save(
    connection: Connection,
    vectors: Mapping[str, "array[float]"],
    latest: Mapping[str, Embedded],
    model: str,
    now: int,
    *,
    states: Mapping[str, bytes],
    replace: bool,
) -> None:
    # All transactions lock in this order: embeddings by hash, memories by id.
    add_embeddings(connection, vectors, states, model, now, replace=replace)
    _require(connection, {item for one in latest.values() for item in one.input_hashes} - vectors.keys(), model, now)
    for some in chunks(sorted(latest)):
        high = _lock_current(connection, [latest[memory_id] for memory_id in some])
        _purge_erased(connection, [latest[memory_id] for memory_id in some if memory_id not in high], now)
        current = [latest[memory_id] for memory_id in high]
        put_passages(connection, current, high, model)
        _raise_high(connection, current, high)
        relay.append(connection, [event_bytes.embedded(item, model, now) for item in current])
        new = [item for item in current if not item.bulk]
        queued = [QueuedMemory(item.memory_id, item.workspace_id, item.revision, model) for item in new]
        match_queue.enqueue(connection, queued, now)


def _require(connection: Connection, hashes: Collection[str], model: str, now: int) -> None:
    """Check that vectors known before still exist: an erasure may have removed one that was not used yet."""
    lock = "" if is_sqlite(connection) else " ORDER BY input_hash LOCK IN SHARE MODE"
    held = _for_each_chunk(connection, sorted(hashes), _HELD + lock, model)
    if len(held) < len(hashes):
        raise TryLater("a known vector has just been erased: embed it again")
    # A running scan for unused vectors must notice this use.
    marked = [(now, model, input_hash) for input_hash, created_at in held if created_at < 0]
    if marked:
        one = slot(connection)
        unmark = f"UPDATE embeddings SET created_at = {one} WHERE model = {one} AND input_hash = {one}"  # noqa: S608 - values are bound
        connection.exec_driver_sql(unmark, marked)


def _purge_erased(connection: Connection, late: Sequence[Embedded], now: int) -> None:
    """Start purges of vectors that were created while their memory was erased or its workspace removed."""
    if not late:
        return
    rows = select(memories.c.id, memories.c.reason).where(memories.c.id.in_([item.memory_id for item in late]))
    reasons = {row.id: row.reason for row in connection.execute(rows)}
    inputs: defaultdict[str, set[str]] = defaultdict(set)
    for item in late:
        if reasons.get(item.memory_id, Reason.ERASED) == Reason.ERASED:
            inputs[item.workspace_id if item.memory_id in reasons else OPERATORS].update(item.input_hashes)
    for workspace_id, these in sorted(inputs.items()):
        request = {"ids": [], TRACES: {"inputs": sorted(these)}}
        purge = Operation(
            id=uuid7(now), workspace_id=workspace_id, kind=PURGE, actor=SYSTEM_ACTOR.actor, request=request
        )
        operations.start(connection, purge, now)


def _lock_current(connection: Connection, embedded: Sequence[Embedded]) -> Mapping[str, int]:
    """Lock the memories that are live and still at that revision; return the most passages each has had."""
    lock = "" if is_sqlite(connection) else " FOR UPDATE"
    revisions = {item.memory_id: item.revision for item in embedded}
    statement = _LOCKED.format(these=slots(connection, len(revisions))) + lock
    return {
        memory_id: high
        for memory_id, revision, high, deleted, archived, reason in connection.exec_driver_sql(
            statement, tuple(revisions)
        ).fetchall()
        if revision == revisions[memory_id] and (deleted, archived, reason) == (None, None, None)
    }


def _raise_high(connection: Connection, current: Sequence[Embedded], high: Mapping[str, int]) -> None:
    raised: defaultdict[int, list[str]] = defaultdict(list)
    for item in current:
        if len(item.input_hashes) > high[item.memory_id]:
            raised[len(item.input_hashes)].append(item.memory_id)
    for count, ids in raised.items():
        one, these = slot(connection), slots(connection, len(ids))
        statement = f"UPDATE memories SET passages_high = {one} WHERE id IN ({these})"  # noqa: S608 - values are bound
        connection.exec_driver_sql(statement, (count, *ids))
