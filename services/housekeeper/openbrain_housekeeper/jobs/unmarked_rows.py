"""Job `reconcile`: announces rows again that no indexer has marked as indexed."""

import structlog

from openbrain.ports.store.generations import IndexKind
from openbrain.usecases.indexes.reconcile import stamp
from openbrain_housekeeper.reconciliation.verification import Verifier

WALKED = 20_000
"""Rows per look."""
LOOKS = 5
"""Looks per round."""
ANNOUNCED = 5_000
"""Maximum number of rows announced per look; the next look waits until they have been taken."""
_log = structlog.get_logger(__name__)


class Marks:
    """Goes through the rows, a part per round, and announces again what should have been indexed long ago. This finds
    events that a stream server has lost."""

    def __init__(self, verifier: Verifier) -> None:
        self._own = verifier
        self._after = ""

    async def round(self) -> int:
        """Do one round; the number of rows announced."""
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
            changed = now - own.options.grace
            rows = await own.store.expected_entries.unmarked(generation, after, until, ANNOUNCED)
            old = [(row.memory_id, at) for row in rows if (at := stamp(row.changed_at, now)) <= changed]
            if old:
                quiescent_since = await own.quiescent.since(kind)
                lost.update(memory_id for memory_id, at in old if at < quiescent_since)
        if lost:
            await own.store.outbox.announce_again(sorted(lost))
            own.quiescent.announced()
            _log.warning("reconcile.announced_again", count=len(lost))
        return len(lost)
