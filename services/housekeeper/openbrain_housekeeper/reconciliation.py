"""The duties: rows that no indexer has noted are announced again, and now and then everything is compared."""

from collections.abc import AsyncIterator
from dataclasses import replace

import structlog

from openbrain.domain.memory import MICROSECONDS
from openbrain.ports.generations import IndexKind
from openbrain.usecases.reconcile import stamp
from openbrain_housekeeper.verifying import Verification, Verifier

WALKED = 20_000
"""Rows of one look."""
LOOKS = 5
"""In one round."""
ANNOUNCED = 5_000
"""In one look: the next waits until they have been taken."""
FIRST_S = 300.0
"""A process that has just begun has more urgent things to do than to compare everything."""
_log = structlog.get_logger(__name__)


class Marks:
    """Walks through the truth, a part each round, and announces again what should have been indexed long ago: whatever
    a stream server has lost is found so."""

    def __init__(self, verifier: Verifier) -> None:
        self._own = verifier
        self._after = ""

    async def round(self) -> int:
        """How many were announced."""
        announced = 0
        for _ in range(LOOKS):
            until = await self._own.store.expected_entries.walk(self._after, WALKED)
            if until is None:
                self._after = ""
                break
            announced += await self._look(self._after, until)
            self._after = until
            if announced:
                break
        return announced

    async def _look(self, after: str, until: str) -> int:
        own = self._own
        now = own.clock.now()
        lost: set[str] = set()
        for kind in IndexKind:
            generation = await own.store.generations.serving(kind)
            if generation is None:
                continue
            changed = now - own.asked.grace
            rows = await own.store.expected_entries.unmarked(generation, after, until, ANNOUNCED)
            old = [(row.memory_id, at) for row in rows if (at := stamp(row.changed_at, now)) <= changed]
            if old:
                open_until = await own.gate.open_until(kind)
                lost.update(memory_id for memory_id, at in old if at < open_until)
        if lost:
            await own.store.outbox.announce_again(sorted(lost))
            own.gate.announced()
            _log.warning("reconcile.announced_again", count=len(lost))
        return len(lost)


class Everything:
    """A whole comparison, a piece each round; the first a while after the process began. Engines that must read every
    entry for its digest do so less often than they count."""

    def __init__(self, verifier: Verifier, every_s: float, digests_every_s: float) -> None:
        self._own, self._every_s = verifier, every_s
        self._digests_every = round(digests_every_s * MICROSECONDS)
        self._digests_at = 0
        """When they are due."""
        self._comparing_digests = False
        self._pieces: AsyncIterator[bool] | None = None
        self.pause_s = min(every_s, FIRST_S)
        """How long to wait after a round that ended nothing."""
        self._begun = False

    async def round(self) -> int:
        """1 while there is more to do; an error begins it anew."""
        if not self._begun:
            self._begun = True
            return 0
        self.pause_s = self._every_s
        if self._pieces is None:
            self._comparing_digests = self._own.clock.now() >= self._digests_at
            asked = replace(self._own.asked, digests=self._comparing_digests)
            self._pieces = Verification(self._own, asked).pieces()
        try:
            await anext(self._pieces)
        except StopAsyncIteration:
            self._pieces = None
            if self._comparing_digests:
                self._digests_at = self._own.clock.now() + self._digests_every
            return 0
        except BaseException:
            self._pieces = None
            raise
        return 1
