"""Project the truth into the indexes: read the row as it stands, write that state with its revision, mark it.

The event only says which row to read, so duplicates, reordering and replay change nothing.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Protocol

from openbrain.errors import TryLater
from openbrain.memory import Memory
from openbrain.ports.clock import Clock
from openbrain.ports.generations import Generation, IndexKind
from openbrain.ports.index import TextEntry, TextIndex, Tombstone, VectorEntry, VectorIndex
from openbrain.ports.truth import Mark, Projecting, Reading, Vectors
from openbrain_indexer.entries import text_entry, tombstones, vector_entries

ROUNDS = 5
"""How often a row that changes under the projector is read again before its entry is tried later."""

TURN = 64
"""Rows made into entries between two turns of the event loop: about 2 ms."""

Failures = Mapping[str, Exception]
"""Memory id -> why it could not be projected."""


class TextTruth(Reading, Projecting, Protocol):
    """What the text projection needs of the truth."""


class VectorTruth(Reading, Projecting, Vectors, Protocol):
    """What the vector projection needs of the truth."""


async def project_text(
    memory_ids: Iterable[str], *, truth: TextTruth, index: TextIndex, generation: Generation, clock: Clock
) -> Failures:
    """Make the text index hold these memories as the truth has them now."""

    async def write(rows: Sequence[Memory]) -> tuple[Failures, Sequence[Memory]]:
        now = clock.now()
        entries: list[TextEntry | Tombstone] = []
        async for row in _in_turns(rows):
            if row.alive(now):
                entries.append(text_entry(row, index.builder))
            else:
                entries.extend(tombstones(row, first=0, end=1))
        return await index.write(generation.name, entries), rows

    return await _until_still(memory_ids, IndexKind.TEXT, truth, write)


async def project_vector(
    memory_ids: Iterable[str], *, truth: VectorTruth, index: VectorIndex, generation: Generation, clock: Clock
) -> Failures:
    """Make the vector index hold these memories as the truth has them now.

    A row whose vectors belong to an older revision is left alone: the event of its own vectors follows.
    """

    async def write(rows: Sequence[Memory]) -> tuple[Failures, Sequence[Memory]]:
        now = clock.now()
        alive = [row.id for row in rows if row.alive(now) and row.wants_vector]
        passages = await truth.passages(alive, generation.model) if alive else {}
        entries: list[VectorEntry | Tombstone] = []
        written: list[Memory] = []
        async for row in _in_turns(rows):
            if not row.alive(now):
                entries.extend(tombstones(row, first=0, end=max(1, row.passages_high)))
            elif (found := passages.get(row.id)) is not None and found.revision == row.revision:
                entries.extend(vector_entries(row, found, index.builder))
            else:
                continue
            written.append(row)
        failed = await index.write(generation.name, entries) if entries else {}
        return _by_memory(entries, failed), written

    return await _until_still(memory_ids, IndexKind.VECTOR, truth, write)


async def _in_turns(rows: Sequence[Memory]) -> AsyncIterator[Memory]:
    """The rows, and now and then a turn for whatever else the process does."""
    for number, row in enumerate(rows, 1):
        yield row
        if number % TURN == 0:
            await asyncio.sleep(0)


def _by_memory(entries: Sequence[VectorEntry | Tombstone], failed: Failures) -> Failures:
    return {entry.memory_id: failed[entry.id] for entry in entries if entry.id in failed} if failed else {}


async def _until_still(
    memory_ids: Iterable[str],
    kind: IndexKind,
    truth: TextTruth,
    write: Callable[[Sequence[Memory]], Awaitable[tuple[Failures, Sequence[Memory]]]],
) -> Failures:
    """Write and mark; a row that moved on in between is read and written again before it is acknowledged."""
    pending = list(dict.fromkeys(memory_ids))
    failures: dict[str, Exception] = {}
    for _ in range(ROUNDS):
        rows = list((await truth.rows(pending)).values())
        failed, written = await write(rows)
        failures.update(failed)
        marks = [Mark(row.id, row.revision) for row in written if row.id not in failures]
        pending = list(await truth.mark(kind, marks)) if marks else []
        if not pending:
            return failures
    busy = TryLater("these memories change faster than they are indexed; they are tried again")
    return failures | dict.fromkeys(pending, busy)
