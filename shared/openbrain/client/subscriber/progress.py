"""Tracks which numbers of a gapless sequence were received."""


class Progress:
    """All numbers up to `done` were received, and some above it. Accepts any order and repetition."""

    def __init__(self, done: int) -> None:
        self.done = done
        self.top = done
        """The highest number received."""
        self._above: set[int] = set()

    @property
    def gap(self) -> bool:
        """Whether a number below the highest is missing."""
        return bool(self._above)

    def note(self, seq: int) -> bool:
        """Note a received number; return whether it is new."""
        if seq <= self.done or seq in self._above:
            return False
        self._above.add(seq)
        self.top = max(self.top, seq)
        self._close()
        return True

    def complete(self, through: int) -> None:
        """Count all numbers up to here as received."""
        if through > self.done:
            self.done = through
            self.top = max(self.top, through)
            self._above = {seq for seq in self._above if seq > through}
            self._close()

    def _close(self) -> None:
        while self.done + 1 in self._above:
            self.done += 1
            self._above.remove(self.done)
