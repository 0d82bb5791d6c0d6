"""Parses Prometheus's text format, and compares two readings."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Samples:
    """Values of one process since its start."""

    values: Mapping[str, Mapping[Labels, float]]

    @classmethod
    def of(cls, text: str) -> "Samples":
        from prometheus_client.parser import text_string_to_metric_families

        values: dict[str, dict[Labels, float]] = {}
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                values.setdefault(sample.name, {})[tuple(sorted(sample.labels.items()))] = sample.value
        return cls(values)

    def gauge(self, name: str) -> float | None:
        """The largest value of the series; None if the process has none."""
        return max(self.values.get(name, {}).values(), default=None)

    def total(self, name: str, **labels: str) -> float:
        """The sum over all series with these labels."""
        return sum(value for _, value in self._matching(name, labels))

    def by(self, name: str, label: str) -> dict[str, float]:
        """The sums by the value of a label."""
        sums: dict[str, float] = {}
        for labels, value in self._matching(name, {}):
            sums[labels.get(label, "")] = sums.get(labels.get(label, ""), 0.0) + value
        return sums

    def buckets(self, name: str, **labels: str) -> dict[float, float]:
        """The cumulative buckets of a histogram, by upper bound."""
        bounds = self.by(f"{name}_bucket", "le")
        return {float(text): self.total(f"{name}_bucket", le=text, **labels) for text in bounds}

    def _matching(self, name: str, wanted: Mapping[str, str]) -> Iterator[tuple[dict[str, str], float]]:
        for labels, value in self.values.get(name, {}).items():
            own = dict(labels)
            if wanted.items() <= own.items():
                yield own, value


def quantile(share: float, now: Mapping[float, float], before: Mapping[float, float]) -> float | None:
    """Prometheus's estimate of the quantile; None without new counts. In the last bucket, its lower bound."""
    counts = {bound: count - before.get(bound, 0.0) for bound, count in sorted(now.items())}
    rank = share * max(counts.values(), default=0.0)
    if not rank:
        return None
    lower, below = 0.0, 0.0
    for bound, count in counts.items():
        if count >= rank:
            return lower if bound == float("inf") else lower + (bound - lower) * (rank - below) / (count - below)
        lower, below = bound, count
    return lower
