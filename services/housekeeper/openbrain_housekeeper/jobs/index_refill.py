"""Detects an index that lost its data, creates it again if missing, and refills it from the database."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace

import structlog

from openbrain.domain.errors import IndexMissing, TryLater
from openbrain.domain.memory import MICROSECONDS
from openbrain.ports.store.generations import Generation, GenerationStatus, IndexKind
from openbrain.usecases.indexes import comparison_sums
from openbrain.usecases.indexes.index_loss import epoch_of, write_epoch
from openbrain.usecases.indexes.reconcile import Fault, Index
from openbrain_housekeeper.reconciliation.comparison import Comparison, Tally
from openbrain_housekeeper.reconciliation.verification import Verifier

LOOK_S = 2.0
"""Interval between checks; each reads one entry of every index."""
SHORT_S = 0.02
"""Pause between two pieces of work."""
WAIT_S = 0.2
"""Pause while there is nothing to do but wait."""
EPOCH_S = 300.0
"""Interval at which an index gets a new epoch. An index restored from an older copy is recognised by its old epoch."""
SPAN = 5_000
"""Rows whose marks one statement clears."""
Prepare = Callable[[Generation], Awaitable[object]]
_log = structlog.get_logger(__name__)


class IndexRefill:
    """Checks the indexes periodically; refills those that lost data, one piece of each per round."""

    def __init__(self, verifier: Verifier, prepare: Prepare) -> None:
        self._own, self._prepare = verifier, prepare
        self._noted: dict[str, int] = {}
        """When this process last wrote an epoch into each index."""
        self._refills: dict[tuple[IndexKind, str], AsyncIterator[bool]] = {}
        self._look_at = 0.0
        self.pause_s = LOOK_S
        """The pause after the last round."""

    async def round(self) -> int:
        """Return 1 after a piece of work. After an error the refill starts again."""
        self.pause_s = LOOK_S
        now = time.monotonic()
        if not self._refills or now >= self._look_at:
            self._look_at = now + LOOK_S
            await self._look()
        if not self._refills:
            return 0
        self.pause_s = WAIT_S
        for key in list(self._refills):
            pieces = self._refills.pop(key)
            try:
                waits = await anext(pieces)
            except StopAsyncIteration:
                continue
            self._refills[key] = pieces
            if not waits:
                self.pause_s = SHORT_S
        return 1

    async def _look(self) -> None:
        """Begin to refill lost generations that this version builds, and whose server answers. Periodically write a new
        epoch into a complete serving one."""
        looked: set[tuple[IndexKind, str]] = set()
        for generation in await self._own.store.generations.generations():
            index, key = self._own.indexes[generation.kind](), (generation.kind, generation.name)
            retired = generation.status == GenerationStatus.RETIRED
            if retired or generation.builder != index.builder or key in self._refills:
                continue
            try:
                lost = await self._lost(index, generation)
            except TryLater:
                continue  # unreachable: services and API report that
            looked.add(key)
            if lost and generation.status != GenerationStatus.BUILDING:  # its reindex compares it
                await self._own.store.generations.lost(generation)
        for item in await self._own.generations():
            if item.lost_at and (item.kind, item.name) in looked:
                self._refills[item.kind, item.name] = self._filled(item)

    async def _lost(self, index: Index, generation: Generation) -> bool:
        name, serves = generation.name, generation.status == GenerationStatus.SERVING
        marked = serves and not generation.epoch and await self._own.store.index_marks.any_marked(generation.kind)
        try:
            epoch = await epoch_of(index, name)
        except IndexMissing:
            standing = await self._own.store.generations.generations(generation.kind)
            if not any(item.name == name and item.status != GenerationStatus.RETIRED for item in standing):
                return False  # retired and dropped meanwhile
            was_filled = bool(generation.epoch) or marked
            if was_filled:
                await self._own.store.generations.lost(generation)
            await self._prepare(generation)
            if was_filled or not serves:  # else its indexer is about to create it, at the first start
                _log.warning("index.missing", index=name, message="it is created again")
            if serves:
                await index.expose(name)
            return was_filled
        if epoch < generation.epoch or (marked and not epoch and await index.highest(name) == 0):
            return True
        if serves and not generation.lost_at:
            await self._finish(index, generation, epoch)
        return False

    async def _finish(self, index: Index, generation: Generation, epoch: int) -> None:
        now = self._own.clock.now()
        if not generation.epoch or now - self._noted.get(generation.name, 0) >= EPOCH_S * MICROSECONDS:
            following = max(epoch, generation.epoch) + 1
            await index.expose(generation.name)  # somebody may have moved the alias
            await write_epoch(index, generation.name, following)
            await self._own.store.generations.completed(generation, following)
            self._noted[generation.name] = now

    async def _filled(self, generation: Generation) -> AsyncIterator[bool]:
        """Yield after each piece of work; True if there is nothing to do but wait."""
        own, index = self._own, self._own.indexes[generation.kind]()
        _log.warning("index.lost", index=generation.name, message="it is refilled from the database")
        started = own.clock.now()
        serves = generation.status == GenerationStatus.SERVING
        if serves and not any(item.entries for item in (await index.sums(generation.name)).values()):
            # The index is empty, so all marks are void. For an index restored from a copy, the differences suffice.
            async for after, until in comparison_sums.spans(own.store.expected_entries, SPAN):
                await own.store.index_marks.forget_marks(generation.kind, after, until)
                yield False
        while True:
            # Changes since the start have their own events; all older differences are announced.
            request = replace(own.options, patient=False, grace=own.clock.now() - started)
            passed = Comparison(own.store, index, generation, quiescent=own.quiescent, clock=own.clock, options=request)
            async for waits in passed.pieces():
                yield waits
            if is_complete(passed.tally):
                break
            yield True
        epoch = max(await epoch_of(index, generation.name), generation.epoch) + 1
        await write_epoch(index, generation.name, epoch)
        if await own.store.generations.completed(generation, epoch):
            self._noted[generation.name] = own.clock.now()
            _log.info("index.filled", index=generation.name, entries=passed.tally.entries)


def is_complete(tally: Tally) -> bool:
    """True if all lost entries are back. Entries that wait for vectors do not count: they come with the vectors."""
    missing = sum(count for fault, count in tally.faults.items() if fault is not Fault.WAITING)
    return not missing and tally.queued == tally.recent
