"""How many entries a batch should hold: as many as are handled in the time that the settings allow."""

_FIRST, _LEAST = 64, 16
"""Before anything is known about the handler; and where it is slow: what is asked of a model at once pays there too."""


class Pace:
    """Doubles after a full batch that took less than half the time, halves after one that took longer than it.

    A large batch shares a transaction, a commit and a few calls among many entries; a short one keeps what comes
    behind it from waiting, and is little to do again after a crash.
    """

    def __init__(self, most: int, target_s: float) -> None:
        self.size = min(most, _FIRST)
        """Entries to take at once, 1..most."""
        self._least, self._most, self._target_s = min(most, _LEAST), most, target_s

    def handled(self, entries: int, seconds: float) -> None:
        """A batch of so many entries took so long."""
        if seconds > self._target_s:
            self.size = max(self._least, self.size // 2)
        elif entries >= self.size and seconds < self._target_s / 2:
            self.size = min(self._most, self.size * 2)
