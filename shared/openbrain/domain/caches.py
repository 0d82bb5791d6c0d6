"""Caches: the most recent entries by number or by bytes, and a single value with a maximum age."""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Lru(OrderedDict[K, V]):
    """Keeps the `size` entries that were last written or read with `recent`."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self._size = size

    def __setitem__(self, key: K, value: V) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key)
        if len(self) > self._size:
            self.popitem(last=False)

    def recent(self, key: K) -> V | None:
        """Return a value and make it the most recent. `get` does not change the order."""
        value = self.get(key)
        if value is not None:
            self.move_to_end(key)
        return value


class LruBytes(Generic[K]):
    """Keeps the byte strings that were last put or read, of together at most `most` bytes; none that is longer.
    `overhead`: the bytes that an entry takes besides its value."""

    def __init__(self, most: int, overhead: int = 0) -> None:
        self._most, self._overhead = most, overhead
        self._entries: OrderedDict[K, bytes] = OrderedDict()
        self._size = 0

    def __len__(self) -> int:
        return len(self._entries)

    def recent(self, keys: Iterable[K]) -> dict[K, bytes]:
        """Return the known values, and make them the most recent."""
        known, entries = {}, self._entries
        for key in keys:
            value = entries.get(key)
            if value is not None:
                entries.move_to_end(key)
                known[key] = value
        return known

    def put(self, key: K, value: bytes) -> None:
        if (former := self._entries.pop(key, None)) is not None:
            self._size -= self._taken(former)
        if self._taken(value) > self._most:
            return
        self._size += self._taken(value)
        self._entries[key] = value
        while self._size > self._most:
            self._size -= self._taken(self._entries.popitem(last=False)[1])

    def clear(self) -> None:
        self._entries.clear()
        self._size = 0

    def _taken(self, value: bytes) -> int:
        return len(value) + self._overhead


class Fresh(Generic[V]):
    """A value with the time it was read. `age`: its maximum age, in the unit of `now`."""

    def __init__(self, now: Callable[[], float], age: float) -> None:
        self._now, self._age = now, age
        self._entry: tuple[float, V] | None = None  # one reference, so that threads see both or neither

    @property
    def value(self) -> V | None:
        """The last value, however old."""
        entry = self._entry
        return None if entry is None else entry[1]

    @property
    def fresh(self) -> bool:
        """Also False if the clock was set back."""
        return self.get() is not None

    def get(self) -> V | None:
        """Return the value; None if it is too old."""
        entry = self._entry
        return entry[1] if entry is not None and 0 <= self._now() - entry[0] < self._age else None

    def set(self, value: V, read_at: float) -> V:
        """`read_at`: when the read began."""
        self._entry = (read_at, value)
        return value

    def expire(self) -> None:
        """Mark the value as too old."""
        self._entry = None
