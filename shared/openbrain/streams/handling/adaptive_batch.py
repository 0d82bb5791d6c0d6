"""Batch sizes: as many entries as can be handled in the time that the settings allow."""

_FIRST, _LEAST = 64, 16
"""Size before anything is known about the handler. Also the minimum of slow handlers: batching model calls pays there
too."""
_PAYS = 0.75
"""A larger batch pays if the time per entry is below this share of that in a smaller batch."""


class AdaptiveBatch:
    """Doubles after a full batch that took less than half the allowed time. Halves after one that took longer than it,
    unless a smaller batch takes as long: then it would only be slower.

    A large batch shares a transaction, a commit and a few calls among many entries. A short one keeps later entries
    from waiting, and leaves little to repeat after a crash.
    """

    def __init__(self, most: int, target_s: float) -> None:
        self.size = min(most, _FIRST)
        """Entries to read at once, 1..most."""
        self._least, self._most, self._target_s = min(most, _LEAST), most, target_s
        self._seconds: dict[int, float] = {}
        """Seconds of the last batch, by size rounded to a power of two."""

    def handled(self, entries: int, seconds: float) -> None:
        """Note how long a batch of this size took."""
        about = 1 << (entries - 1).bit_length()
        self._seconds[about] = seconds
        full = entries >= self.size
        if seconds <= self._target_s:
            if full and seconds < self._target_s / 2:
                self._grow()
            return
        fewer = max((second for second in self._seconds if second < about), default=None)
        # A quicker large batch was measured under other conditions.
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
