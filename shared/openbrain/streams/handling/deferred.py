"""Deferred entries: they wait for an unavailable dependency while entries that don't need it are handled."""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from openbrain.streams.group.delivery import Delivery
from openbrain.streams.handling.breaker import Breaker


class Deferred:
    """Entries of one stream that wait for an unavailable dependency; at most `most`, the rest stays in the stream.

    `most` is 0 if the stream's subscription can handle nothing without the dependency.
    """

    def __init__(self, breaker: Breaker, most: int) -> None:
        self.possible = most > 0
        self.waiting: dict[str, Delivery[Any]] = {}
        """By entry id, in order of arrival."""
        self.degraded_failed = False
        """Whether the degraded handler met an unavailable dependency too: until the next normal attempt nothing is
        read."""
        self._breaker, self._most = breaker, most

    @property
    def can_continue(self) -> bool:
        """Whether entries may be handled while a dependency is unavailable."""
        return self.possible and not self.degraded_failed

    @property
    def due(self) -> bool:
        """Whether the deferred entries may be tried now."""
        return bool(self.waiting) and self._breaker.wait_s() == 0

    def capacity(self, wanted: int) -> int:
        """Return how many of `wanted` entries may be read now."""
        if self._breaker.wait_s() > 0 and not self.can_continue:
            return 0
        return max(0, min(wanted, self._most - len(self.waiting))) if self.waiting else wanted

    def first(self, count: int) -> list[Delivery[Any]]:
        """Return the entries that have waited longest; they stay until they are dropped."""
        return list(islice(self.waiting.values(), count))

    def put(self, deliveries: Sequence[Delivery[Any]]) -> None:
        """Add entries; those already waiting keep their place."""
        for delivery in deliveries:
            self.waiting.setdefault(delivery.id, delivery)

    def drop(self, ids: Iterable[str]) -> None:
        """Remove entries that are settled or no longer ours."""
        for entry in ids:
            self.waiting.pop(entry, None)
