"""What the verifier has to say."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

LOST = "lost"
"""Acknowledged, and not there or not as acknowledged."""
GAP = "gap"
"""In the truth, and not in an index."""
GHOST = "ghost"
"""Found in an index, and not in the truth, or ended there."""
STALE = "stale"
"""In the index as it was at an earlier revision, or with other content."""
AHEAD = "ahead"
"""In the index at a revision that the truth never reached."""
DUPLICATE = "duplicate"
"""Twice, where it was submitted once; or worked on twice, where nothing had failed."""
TOMBSTONE = "tombstone"
"""Ended, and nothing in the index would stop a late writer."""
MARK = "mark"
"""The row does not say what the indexes hold."""
LEFTOVER = "leftover"
"""Work that nobody will do: pending entries, undelivered ones, a full outbox."""
DEAD = "dead"
"""A dead letter that nobody deserved."""
PROCESS = "process"
"""A service ended by itself."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One difference."""

    kind: str
    about: str
    """Never with a memory's content."""

    def __str__(self) -> str:
        return f"{self.kind}: {self.about}"


def told(findings: Iterable[Finding], most: int = 6) -> str:
    """Counts by kind and the first few."""
    all_of_them = list(findings)
    counts = ", ".join(f"{count} {kind}" for kind, count in sorted(Counter(each.kind for each in all_of_them).items()))
    return "; ".join([counts, *map(str, all_of_them[:most])])
