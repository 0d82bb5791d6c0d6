"""What is looked for in texts."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """Its kind, and where it stands."""

    kind: str
    start: int
    end: int
