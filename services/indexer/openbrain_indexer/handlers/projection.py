"""Project the database into the indexes: read the current row, write it with its revision, mark the row.

An event only says which row to read, so duplicates, reordering and replay change nothing. No clock is used either: a
row is indexed until the database says that it has ended, and searches leave out expired memories by themselves.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from math import ceil
from typing import Protocol, TypeVar

import structlog

from openbrain.domain.access.metadata_pairs import metadata_pairs
from openbrain.domain.access.visibility import NEVER
from openbrain.domain.errors import TryLater
from openbrain.domain.ids import bucket, point_id
from openbrain.domain.memory import Memory
from openbrain.domain.tasks import chunks
from openbrain.ports.index import Fields, Tombstone
from openbrain.ports.store.generations import Generation, GenerationStatus, IndexKind
from openbrain.ports.store.index_entries import Mark
from openbrain.ports.store.memories import Memories
from openbrain.ports.store.store import Store

ROUNDS = 5
"""Maximum reads of a row that keeps changing; then its event is retried later."""

TURN = 64
"""Rows converted to entries between two yields to the event loop: about 2 ms."""

Failures = Mapping[str, Exception]
"""Memory id -> why it could not be projected."""

Write = Callable[[Sequence[Memory]], Awaitable[tuple[Failures, Sequence[Memory]]]]
"""Writes rows. Returns the failures, and the rows written completely."""

Entry_contra = TypeVar("Entry_contra", contravariant=True)
_log = structlog.get_logger(__name__)


class Writable(Protocol[Entry_contra]):
    """The index operations that the projection needs; both index ports have them."""

    builder: str
    at_once: int

    async def write(self, name: str, entries: Sequence[Entry_contra | Tombstone], *, visible: bool = True) -> Failures:
        """Write entries. An entry with a newer revision is never overwritten by an older one."""


async def write_all(
    index: Writable[Entry_contra], generations: Sequence[Generation], entries: Sequence[Entry_contra | Tombstone]
) -> Failures:
    """Write to all generations concurrently. Return the failures of the first one; what only another refuses is logged,
    and found when that generation is compared. The write waits until searches see it only if a generation serves: then
    rows are marked. Other generations are refreshed before they are compared."""
    visible = serves(generations)
    first, *others = await asyncio.gather(
        *(index.write(item.name, entries, visible=visible) for item in generations), return_exceptions=True
    )
    for failed in (first, *others):
        if isinstance(failed, BaseException):
            raise failed
    for generation, failed in zip(generations[1:], others, strict=True):
        if isinstance(failed, Mapping) and failed:
            kinds = sorted({type(error).__name__ for error in failed.values()})
            _log.warning("indexer.refused_beside", generation=generation.name, count=len(failed), errors=kinds)
    return first if isinstance(first, Mapping) else {}


def serves(generations: Sequence[Generation]) -> bool:
    """True if one of them answers searches."""
    return any(generation.status == GenerationStatus.SERVING for generation in generations)


async def in_turns(rows: Sequence[Memory]) -> AsyncIterator[Memory]:
    """Iterate over the rows, and yield to the event loop now and then."""
    for number, row in enumerate(rows, 1):
        yield row
        if number % TURN == 0:
            await asyncio.sleep(0)


async def project(
    memory_ids: Iterable[str],
    kind: IndexKind,
    *,
    store: Store,
    generations: Sequence[Generation],
    write: Write,
    at_once: int,
) -> Failures:
    """Write the current rows of these memories to these generations by `write`. Return failures by memory id."""
    if serves(generations):
        return await _until_still(memory_ids, kind, store, write)
    return await _beside(memory_ids, store.memories, write, at_once)


async def _beside(memory_ids: Iterable[str], memories: Memories, write: Write, at_once: int) -> Failures:
    """Write without marking: only the serving generation has marks, and if a row changes meanwhile, its next event
    follows. So parts are independent: one is read while another is written."""
    ids = list(dict.fromkeys(memory_ids))
    size = max(1, ceil(len(ids) / at_once))

    async def part(some: Sequence[str]) -> Failures:
        failed, _ = await write(list((await memories.indexable(some)).values()))
        return failed

    parts = [part(some) for some in chunks(ids, size)]
    failures: dict[str, Exception] = {}
    # Wait for all, even after an error, so that no task keeps running in the background.
    for failed in await asyncio.gather(*parts, return_exceptions=True):
        if isinstance(failed, BaseException):
            raise failed
        failures.update(failed)
    return failures


async def _until_still(memory_ids: Iterable[str], kind: IndexKind, store: Store, write: Write) -> Failures:
    """Write and mark. A row that changed in between is read and written again before its event is acknowledged."""
    pending = list(dict.fromkeys(memory_ids))
    failures: dict[str, Exception] = {}
    for _ in range(ROUNDS):
        rows = list((await store.memories.indexable(pending)).values())
        failed, written = await write(rows)
        failures.update(failed)
        done = [Mark(row.id, row.revision) for row in written if row.id not in failures]
        pending = list(await store.index_marks.mark(kind, done)) if done else []
        if not pending:
            return failures
    busy = TryLater("these memories change faster than they are indexed; they are tried again")
    return failures | dict.fromkeys(pending, busy)


def fields(memory: Memory) -> Fields:
    """The filter fields of an entry. They depend only on the row."""
    return Fields(
        workspace_id=memory.workspace_id,
        org=memory.org,
        project=memory.project,
        agent_id=memory.agent_id,
        session_id=memory.session_id,
        memory_scope=memory.memory_scope,
        audience=memory.audience,
        type=memory.type,
        tags=memory.tags,
        metadata_pairs=metadata_pairs(memory.metadata) if memory.metadata else (),
        source=memory.source,
        confidence=memory.confidence,
        occurred_at=memory.occurred_at,
        expires_at=NEVER if memory.expires_at is None else memory.expires_at,
        created_at=memory.created_at,
    )


def tombstones(memory: Memory, *, first: int, end: int) -> list[Tombstone]:
    """Tombstones of the passages first..end-1. Ids are computed, never searched for."""
    return [
        Tombstone(
            id=point_id(memory.id, number),
            memory_id=memory.id,
            revision=memory.revision,
            bucket=bucket(memory.id),
            at=_changed_at(memory),
        )
        for number in range(first, end)
    ]


def _changed_at(memory: Memory) -> int:
    """Time of the row's last change or end: later reads can't have seen its previous state."""
    return max(memory.updated_at, memory.deleted_at or memory.archived_at or memory.expires_at or 0)
