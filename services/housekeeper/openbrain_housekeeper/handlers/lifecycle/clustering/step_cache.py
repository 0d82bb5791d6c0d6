"""Cache of values that operations keep in memory between their steps."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from openbrain.domain.errors import TryLater

MOST: Final = 4
"""Maximum number of operations in the cache."""
FORGOTTEN_S: Final = 60.0
"""An operation without a step for this long may be evicted by another."""
T = TypeVar("T")


class StepCache(Generic[T]):
    """One value per operation. `TryLater` if active operations take all places, so that they don't evict each other."""

    def __init__(self, time: Callable[[], float]) -> None:
        self._time = time
        self._values: OrderedDict[str, tuple[float, T]] = OrderedDict()

    def get(self, operation_id: str) -> T | None:
        """The value; its time of last use is renewed."""
        if operation_id not in self._values:
            return None
        value = self._values[operation_id][1]
        self.put(operation_id, value)
        return value

    def put(self, operation_id: str, value: T) -> None:
        now = self._time()
        if operation_id not in self._values and len(self._values) >= MOST:
            oldest, (used_at, _) = next(iter(self._values.items()))
            if now - used_at < FORGOTTEN_S:
                raise TryLater(f"{MOST} operations of this kind run already")
            del self._values[oldest]
        self._values[operation_id] = now, value
        self._values.move_to_end(operation_id)

    def drop(self, operation_id: str) -> None:
        self._values.pop(operation_id, None)
