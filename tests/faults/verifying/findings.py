"""The findings that the verifier reports."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

LOST = "lost"
"""Acknowledged, but missing or different."""
GAP = "gap"
"""In the database, but missing from an index."""
GHOST = "ghost"
"""In an index, but not in the database, or ended there."""
STALE = "stale"
"""In an index at an earlier revision, or with other content."""
AHEAD = "ahead"
"""In an index at a revision that the database never reached."""
DUPLICATE = "duplicate"
"""Stored twice though submitted once; or processed twice though nothing failed."""
TOMBSTONE = "tombstone"
"""Ended, but no tombstone in the index would stop a late writer."""
MARK = "mark"
"""The row's index revisions differ from what the indexes hold."""
LEFTOVER = "leftover"
"""Unfinished work: pending or undelivered entries, a non-empty outbox."""
DEAD = "dead"
"""A dead letter of an entry that was valid."""
PROCESS = "process"
"""A service ended unexpectedly."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One difference."""

    kind: str
    about: str
    """Never contains a memory's content."""

    def __str__(self) -> str:
        return f"{self.kind}: {self.about}"


def told(findings: Iterable[Finding], most: int = 6) -> str:
    """Format counts by kind and the first few findings."""
    all_of_them = list(findings)
    counts = ", ".join(f"{count} {kind}" for kind, count in sorted(Counter(each.kind for each in all_of_them).items()))
    return "; ".join([counts, *map(str, all_of_them[:most])])
