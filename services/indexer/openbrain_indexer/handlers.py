"""Project the truth into the indexes: read the row as it stands, write that state with its revision, mark it.

The event only says which row to read, so duplicates, reordering and replay change nothing. No clock is asked either:
a row stands until the truth says that it has ended, and searches leave out by themselves what is past its time.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from math import ceil
from typing import Protocol, TypeVar

import structlog

from openbrain.domain.errors import TryLater
from openbrain.domain.memory import Memory
from openbrain.ports.generations import Generation, GenerationStatus, IndexKind
from openbrain.ports.index import TextEntry, Tombstone, VectorEntry
from openbrain.ports.store import Mark, Truth
from openbrain_indexer.entries import text_entry, tombstones, vector_entries

ROUNDS = 5
"""How often a row that changes under the projector is read again before its entry is tried later."""

TURN = 64
"""Rows made into entries between two turns of the event loop: about 2 ms."""

Failures = Mapping[str, Exception]
"""Memory id -> why it could not be projected."""

Write = Callable[[Sequence[Memory]], Awaitable[tuple[Failures, Sequence[Memory]]]]
"""Writes rows; what failed, and what is whole now."""

Entry_contra = TypeVar("Entry_contra", contravariant=True)
_log = structlog.get_logger(__name__)


class Writable(Protocol[Entry_contra]):
    """What is asked of an index here; both ports have it."""

    builder: str
    at_once: int

    async def write(self, name: str, entries: Sequence[Entry_contra | Tombstone], *, visible: bool = True) -> Failures:
        """Fenced."""


async def project_text(
    memory_ids: Iterable[str],
    *,
    truth: Truth,
    index: Writable[TextEntry],
    generations: Sequence[Generation],
) -> Failures:
    """Make these text generations hold these memories as the truth has them now."""

    async def write(rows: Sequence[Memory]) -> tuple[Failures, Sequence[Memory]]:
        entries: list[TextEntry | Tombstone] = []
        async for row in _in_turns(rows):
            if row.ended:
                entries.extend(tombstones(row, first=0, end=1))
            else:
                entries.append(text_entry(row, index.builder))
        return await _write_all(index, generations, entries), rows

    if _serves(generations):
        return await _until_still(memory_ids, IndexKind.TEXT, truth, write)
    return await _beside(memory_ids, truth, write, index.at_once)


async def project_vector(
    memory_ids: Iterable[str],
    *,
    truth: Truth,
    index: Writable[VectorEntry],
    generations: Sequence[Generation],
) -> Failures:
    """Make these vector generations hold these memories as the truth has them now.

    A row whose vectors belong to an older revision is left alone: the event of its own vectors follows.
    """

    async def write(rows: Sequence[Memory]) -> tuple[Failures, Sequence[Memory]]:
        first: tuple[Failures, Sequence[Memory]] | None = None
        for model in dict.fromkeys(each.model for each in generations):
            entries, written = await _vector_entries(rows, model, truth, index.builder)
            these = [each for each in generations if each.model == model]
            failed = await _write_all(index, these, entries) if entries else {}
            first = first or (_by_memory(entries, failed), written)
        return first or ({}, ())

    if _serves(generations):
        return await _until_still(memory_ids, IndexKind.VECTOR, truth, write)
    return await _beside(memory_ids, truth, write, index.at_once)


async def _vector_entries(
    rows: Sequence[Memory], model: str, truth: Truth, builder: str
) -> tuple[list[VectorEntry | Tombstone], list[Memory]]:
    """What generations of this model should hold, and the rows that this makes whole."""
    standing = [row.id for row in rows if not row.ended and row.wants_vector]
    passages = await truth.passages(standing, model) if standing else {}
    entries: list[VectorEntry | Tombstone] = []
    written: list[Memory] = []
    async for row in _in_turns(rows):
        if row.ended:
            entries.extend(tombstones(row, first=0, end=max(1, row.passages_high)))
        elif (found := passages.get(row.id)) is not None and found.revision == row.revision:
            entries.extend(vector_entries(row, found, builder))
        else:
            continue
        written.append(row)
    return entries, written


async def _write_all(
    index: Writable[Entry_contra], generations: Sequence[Generation], entries: Sequence[Entry_contra | Tombstone]
) -> Failures:
    """Into all at once; what the first refuses. What another refuses alone is found when it is compared. Searches
    must find what the rows are marked for; what only stands beside is refreshed before it is compared."""
    visible = _serves(generations)
    first, *others = await asyncio.gather(
        *(index.write(each.name, entries, visible=visible) for each in generations), return_exceptions=True
    )
    for failed in (first, *others):
        if isinstance(failed, BaseException):
            raise failed
    for generation, failed in zip(generations[1:], others, strict=True):
        if isinstance(failed, Mapping) and failed:
            kinds = sorted({type(error).__name__ for error in failed.values()})
            _log.warning("indexer.refused_beside", generation=generation.name, count=len(failed), errors=kinds)
    return first if isinstance(first, Mapping) else {}


def _serves(generations: Sequence[Generation]) -> bool:
    return any(each.status == GenerationStatus.SERVING for each in generations)


async def _in_turns(rows: Sequence[Memory]) -> AsyncIterator[Memory]:
    """The rows, and now and then a turn for whatever else the process does."""
    for number, row in enumerate(rows, 1):
        yield row
        if number % TURN == 0:
            await asyncio.sleep(0)


def _by_memory(entries: Sequence[VectorEntry | Tombstone], failed: Failures) -> Failures:
    return {entry.memory_id: failed[entry.id] for entry in entries if entry.id in failed} if failed else {}


async def _beside(memory_ids: Iterable[str], truth: Truth, write: Write, at_once: int) -> Failures:
    """Write alone: nothing is marked beside the serving generation, and the event of what a row moved on to follows.
    So parts need not wait for each other: one is read while another is written."""
    ids = list(dict.fromkeys(memory_ids))
    size = max(1, ceil(len(ids) / at_once))

    async def part(some: Sequence[str]) -> Failures:
        failed, _ = await write(list((await truth.indexable(some)).values()))
        return failed

    parts = [part(ids[start : start + size]) for start in range(0, len(ids), size)]
    failures: dict[str, Exception] = {}
    # All to their end, so that nothing runs on behind us.
    for failed in await asyncio.gather(*parts, return_exceptions=True):
        if isinstance(failed, BaseException):
            raise failed
        failures.update(failed)
    return failures


async def _until_still(memory_ids: Iterable[str], kind: IndexKind, truth: Truth, write: Write) -> Failures:
    """Write and mark; a row that moved on in between is read and written again before it is acknowledged."""
    pending = list(dict.fromkeys(memory_ids))
    failures: dict[str, Exception] = {}
    for _ in range(ROUNDS):
        rows = list((await truth.indexable(pending)).values())
        failed, written = await write(rows)
        failures.update(failed)
        done = [Mark(row.id, row.revision) for row in written if row.id not in failures]
        pending = list(await truth.mark(kind, done)) if done else []
        if not pending:
            return failures
    busy = TryLater("these memories change faster than they are indexed; they are tried again")
    return failures | dict.fromkeys(pending, busy)
