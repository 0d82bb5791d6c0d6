"""Deferred entries: they wait in hand for a dependency while entries that need none go on."""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from openbrain.streams.group.delivery import Delivery
from openbrain.streams.handling.breaker import Breaker


class Deferred:
    """Entries of one stream that met a dependency that is away; at most so many, the rest stays in the stream.

    `most`: 0 where the stream's subscription has nothing that goes on without the dependency.
    """

    def __init__(self, breaker: Breaker, most: int) -> None:
        self.possible = most > 0
        self.waiting: dict[str, Delivery[Any]] = {}
        """By entry id, in the order they came."""
        self.in_vain = False
        """Whether what needs no dependency met one that is away too: until the next real try nothing is taken."""
        self._breaker, self._most = breaker, most

    @property
    def can_continue(self) -> bool:
        """Whether entries may be handled though a dependency is away."""
        return self.possible and not self.in_vain

    @property
    def due(self) -> bool:
        """Whether what waits may be tried."""
        return bool(self.waiting) and self._breaker.wait_s() == 0

    def capacity(self, wanted: int) -> int:
        """The part of so many entries that may be taken now."""
        if self._breaker.wait_s() > 0 and not self.can_continue:
            return 0
        return max(0, min(wanted, self._most - len(self.waiting))) if self.waiting else wanted

    def first(self, count: int) -> list[Delivery[Any]]:
        """The entries that have waited longest; they stay until they are dropped."""
        return list(islice(self.waiting.values(), count))

    def put(self, deliveries: Sequence[Delivery[Any]]) -> None:
        """Add entries that wait; those that waited already keep their place."""
        for delivery in deliveries:
            self.waiting.setdefault(delivery.id, delivery)

    def drop(self, ids: Iterable[str]) -> None:
        """Remove entries that came to their end, or are no longer ours."""
        for entry in ids:
            self.waiting.pop(entry, None)
