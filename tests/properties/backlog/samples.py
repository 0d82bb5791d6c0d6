"""Samples of a backlog's drain, and what they show."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any


@dataclass(frozen=True)
class Sample:
    """The system at one moment."""

    seconds: float
    lag: int | None
    exact: int
    """Entries not yet delivered, counted by the producer's own numbering."""
    pending: int
    length: int
    stored_lag: int
    redis_bytes: int
    resident_kb: Mapping[str, int]


@dataclass
class Backlog:
    """The samples of a run; its methods evaluate them."""

    entries: int
    server: str
    samples: list[Sample] = field(default_factory=list)
    handled: dict[str, float] = field(default_factory=dict)
    stored: int = 0
    left: int = 0
    """Entries in the stream at the end."""
    dead: int = 0

    @property
    def seconds(self) -> float:
        return self.samples[-1].seconds

    def growth(self) -> dict[str, float]:
        """For each process, the largest memory in the second half of the drain divided by the largest before."""
        half = [each for each in self.samples if each.exact > self.entries / 2]
        rest = [each for each in self.samples if each.exact <= self.entries / 2]
        if not half or not rest:
            return {}
        return {
            name: max(each.resident_kb[name] for each in rest) / max(each.resident_kb[name] for each in half)
            for name in self.samples[0].resident_kb
        }

    def report(self) -> dict[str, Any]:
        """The results as numbers."""
        resident = {
            name: {
                "median_mb": round(median(each.resident_kb[name] for each in self.samples) / 1024, 1),
                "most_mb": round(max(each.resident_kb[name] for each in self.samples) / 1024, 1),
            }
            for name in self.samples[0].resident_kb
        }
        return {
            "server": self.server,
            "entries": self.entries,
            "seconds": round(self.seconds, 1),
            "entries_a_second": round(self.entries / self.seconds),
            "handled": self.handled,
            "memories": self.stored,
            "dead_letters": self.dead,
            "most_pending": max(each.pending for each in self.samples),
            "wrong_lags": sum(each.lag != each.exact for each in self.samples),
            "samples": len(self.samples),
            "stream_at_the_end": self.left,
            "stream_at_most": max(each.length for each in self.samples),
            "redis_mb": [round(each.redis_bytes / 2**20, 1) for each in (self.samples[0], self.samples[-1])],
            "resident": resident,
            "growth_in_the_second_half": {name: round(each, 3) for name, each in self.growth().items()},
        }
