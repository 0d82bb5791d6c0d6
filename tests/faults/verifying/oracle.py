"""The expected final state, derived from acknowledgements."""

from collections import Counter
from dataclasses import dataclass, field

ALIVE = ""


@dataclass(slots=True)
class Expected:
    """One acknowledged memory."""

    memory_id: str
    operation: int
    contents: set[str]
    """The content must be one of these; there are several only if two changes raced."""
    tags: set[tuple[str, ...]]
    wants_vector: bool
    reason: str = ALIVE
    """Why it was excluded from recall; '' while it is active."""


@dataclass(slots=True)
class Oracle:
    """Collects acknowledgements."""

    memories: dict[str, Expected] = field(default_factory=dict)
    acknowledged: Counter[str] = field(default_factory=Counter)
    """Number of acknowledgements by kind of operation."""
    problems: list[str] = field(default_factory=list)
    """Answers that must not occur."""
    refused: set[str] = field(default_factory=set)
    """Event ids of submissions whose acknowledgement is a dead letter."""

    def remembered(self, memory_id: str, number: int, content: str, tags: tuple[str, ...], *, embed: bool) -> None:
        known = self.memories.get(memory_id)
        if known is not None:
            self.problems.append(
                f"operation {number} was answered with {memory_id}, which operation {known.operation} made"
            )
            return
        self.memories[memory_id] = Expected(memory_id, number, {content}, {tags}, embed)
