"""Job `verify`: periodically compare every index with the database."""

from collections.abc import AsyncIterator
from dataclasses import replace

from openbrain.domain.memory import MICROSECONDS
from openbrain_housekeeper.reconciliation.verification import Verification, Verifier

FIRST_S = 300.0
"""Longest delay of the first comparison: a new process has more urgent work."""


class FullComparison:
    """A full comparison, one piece per round; the first one starts some time after the process. Engines that must read
    every entry for its digest compare digests less often than counts."""

    def __init__(self, verifier: Verifier, every_s: float, digests_every_s: float) -> None:
        self._own, self._every_s = verifier, every_s
        self._digests_every = round(digests_every_s * MICROSECONDS)
        self._digests_at = 0
        """The time at which the next comparison of digests is due."""
        self._comparing_digests = False
        self._pieces: AsyncIterator[bool] | None = None
        self.pause_s = min(every_s, FIRST_S)
        """The pause after a round that returned 0."""
        self._started = False

    async def round(self) -> int:
        """Return 1 while there is more to do. After an error the comparison starts again."""
        if not self._started:
            self._started = True
            return 0
        self.pause_s = self._every_s
        if self._pieces is None:
            self._comparing_digests = self._own.clock.now() >= self._digests_at
            request = replace(self._own.options, digests=self._comparing_digests)
            self._pieces = Verification(self._own, request).pieces()
        pieces, self._pieces = self._pieces, None
        try:
            await anext(pieces)
        except StopAsyncIteration:
            if self._comparing_digests:
                self._digests_at = self._own.clock.now() + self._digests_every
            return 0
        self._pieces = pieces
        return 1
