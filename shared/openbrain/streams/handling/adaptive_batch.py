"""Sizes of batches: as many entries as are handled in the time that the settings allow."""

_FIRST, _LEAST = 64, 16
"""Before anything is known about the handler; and where it is slow: what is asked of a model at once pays there too."""
_PAYS = 0.75
"""A larger batch pays where an entry takes less than this of what it takes in a smaller one."""


class AdaptiveBatch:
    """Doubles after a full batch that took less than half the time, halves after one that took longer than it, unless
    the time is the same for few entries as for many: then few would only be slower.

    A large batch shares a transaction, a commit and a few calls among many entries; a short one keeps what comes
    behind it from waiting, and is little to do again after a crash.
    """

    def __init__(self, most: int, target_s: float) -> None:
        self.size = min(most, _FIRST)
        """Entries to take at once, 1..most."""
        self._least, self._most, self._target_s = min(most, _LEAST), most, target_s
        self._seconds: dict[int, float] = {}
        """Seconds of the last batch of about so many entries; the numbers are powers of two."""

    def handled(self, entries: int, seconds: float) -> None:
        """A batch of so many entries took so long."""
        about = 1 << (entries - 1).bit_length()
        self._seconds[about] = seconds
        full = entries >= self.size
        if seconds <= self._target_s:
            if full and seconds < self._target_s / 2:
                self._grow()
            return
        fewer = max((second for second in self._seconds if second < about), default=None)
        # A large batch that was quick was so at another time.
        slow = (item for item, took in self._seconds.items() if item > about and took > self._target_s)
        more = min(slow, default=None)
        if more is not None and self._pays(more, about):
            self._grow()
        elif fewer is None or not self._pays(about, fewer):
            self.size = max(self._least, self.size // 2)
        elif full and more is None:
            self._grow()

    def _grow(self) -> None:
        self.size = min(self._most, self.size * 2)

    def _pays(self, more: int, fewer: int) -> bool:
        return self._seconds[more] / more < _PAYS * self._seconds[fewer] / fewer
