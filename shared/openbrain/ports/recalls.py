"""What was recalled: kept off the answer's path, for feedback, usage and analytics."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallRecord:
    """One answered recall."""

    id: str
    workspace_id: str
    agent_id: str
    query: str
    """'' where settings keep no questions."""
    results: tuple[tuple[str, float], ...]
    """Memory id and score, best first."""
    took_ms: float
    at: int


class Recalls(Protocol):
    """Answered recalls."""

    async def record_recalls(self, recalls: Sequence[RecallRecord]) -> None:
        """Keep them, count the use of what they found, announce `memory.recalled`. One that is there is left alone."""

    async def purge_recalls(self, before: int, limit: int) -> int:
        """Remove those answered before that time (microseconds); returns how many."""
