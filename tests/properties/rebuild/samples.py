"""Samples of a steady load while indexes were rebuilt, and what they show."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

MOST = 2.0
"""The allowed factor of slowdown: for p95 of recalls, and of the time from submitting to indexed."""


LEAST = 100
"""With fewer samples a p95 proves nothing: then it is reported, and not judged."""


@dataclass(frozen=True, slots=True)
class Recall:
    """One recall. Seconds by the clock of the run."""

    at: float
    seconds: float
    failed: str = ""
    """The reason, if it failed or was degraded."""


@dataclass(slots=True)
class Write:
    """One change."""

    how: str
    at: float
    memory_id: str = ""
    answered: float | None = None
    indexed: float | None = None
    """The time when both indexes held it, according to the database."""
    failed: str = ""


@dataclass(frozen=True, slots=True)
class Span:
    """From one moment to another."""

    begin: float
    end: float

    @property
    def seconds(self) -> float:
        return self.end - self.begin

    def meets(self, begin: float, end: float) -> bool:
        return begin <= self.end and end >= self.begin


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of a part of the run. Milliseconds."""

    recalls: int
    failed_recalls: Counter[str]
    recall_p50: float
    recall_p95: float
    writes: int
    failed_writes: Counter[str]
    indexed: int
    """Indexed writes that met no kill; the next two figures are computed from these."""
    indexed_p50: float
    indexed_p95: float
    waiting: int
    """Writes that were never seen as indexed."""


@dataclass
class Samples:
    """All samples of a run."""

    recalls: list[Recall] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)
    kills: list[Span] = field(default_factory=list)
    """Each from a kill -9 until everything submitted before the service was back is indexed."""
    down: list[Span] = field(default_factory=list)
    """Times when nothing answered because the API was killed too: requests in them are not counted."""

    def figures(self, *spans: Span) -> Figures:
        """Figures of what began in these spans. A write that met a kill waits for the dead reader's lease: it counts
        as written, but not in the latencies."""
        recalls = [each for each in self.recalls if self._counts(each.at, each.at + each.seconds, spans)]
        writes = [each for each in self.writes if self._counts(each.at, each.answered or each.at, spans)]
        indexed = [
            each.indexed - each.at
            for each in writes
            if each.indexed is not None and not any(kill.meets(each.at, each.indexed) for kill in self.kills)
        ]
        took = [each.seconds for each in recalls if not each.failed]
        return Figures(
            recalls=len(recalls),
            failed_recalls=Counter(each.failed for each in recalls if each.failed),
            recall_p50=_percentile(took, 50),
            recall_p95=_percentile(took, 95),
            writes=len(writes),
            failed_writes=Counter(each.failed for each in writes if each.failed),
            indexed=len(indexed),
            indexed_p50=_percentile(indexed, 50),
            indexed_p95=_percentile(indexed, 95),
            waiting=sum(each.indexed is None and not each.failed for each in writes),
        )

    def _counts(self, begin: float, end: float, spans: Sequence[Span]) -> bool:
        answered = not any(each.meets(begin, end) for each in self.down)
        return answered and any(span.meets(begin, begin) for span in spans)


@dataclass
class Phase:
    """One operation under load, compared with the quiet phases before and after it."""

    name: str
    span: Span
    quiet: tuple[Span, Span]
    killed: Sequence[str]
    report: dict[str, Any]

    def told(self, samples: Samples) -> dict[str, Any]:
        """The results as numbers."""
        busy, quiet, before = samples.figures(self.span), samples.figures(*self.quiet), samples.figures(self.quiet[0])
        return {
            "name": self.name,
            "seconds": round(self.span.seconds, 1),
            "killed": list(self.killed),
            "kill_seconds": [round(each.seconds, 1) for each in samples.kills if self.span.meets(each.begin, each.end)],
            "status": self.report["status"],
            "error": self.report.get("error") or "",
            "recalls": busy.recalls,
            "failed_recalls": dict(busy.failed_recalls),
            "recall_ms": [round(busy.recall_p50, 1), round(busy.recall_p95, 1)],
            "recall_ms_quiet": [round(quiet.recall_p50, 1), round(quiet.recall_p95, 1)],
            "recall_p95_before": round(before.recall_p95, 1),
            "recall_ratio": _ratio(busy.recall_p95, quiet.recall_p95),
            "writes": busy.writes,
            "failed_writes": dict(busy.failed_writes),
            "never_indexed": busy.waiting,
            "indexed": busy.indexed,
            "indexed_ms": [round(busy.indexed_p50), round(busy.indexed_p95)],
            "indexed_ms_quiet": [round(quiet.indexed_p50), round(quiet.indexed_p95)],
            "indexed_p95_before": round(before.indexed_p95),
            "indexed_ratio": _ratio(busy.indexed_p95, quiet.indexed_p95),
            "result": self.report.get("result") or {},
        }


def broken(phases: Sequence[dict[str, Any]]) -> list[str]:
    """The promises that did not hold."""
    found = []
    for each in phases:
        name = each["name"]
        if each["status"] != "done":
            found.append(f"{name}: ended as {each['status']}: {each['error']}")
        if each["failed_recalls"]:
            found.append(f"{name}: recalls failed: {each['failed_recalls']}")
        if each["failed_writes"] or each["never_indexed"]:
            found.append(f"{name}: writes failed: {each['failed_writes']}, never indexed: {each['never_indexed']}")
        found += [
            f"{name}: {what} {each[what]} > {MOST}"
            for what, counted in RATIOS.items()
            if each[counted] >= LEAST and not each[what] <= MOST
        ]
        if each["result"].get("failures") or each["result"].get("differences"):
            found.append(f"{name}: not whole: {each['result']}")
    return found


def unjudged(phases: Sequence[dict[str, Any]]) -> list[str]:
    """What could not be judged for lack of samples."""
    return [
        f"{each['name']}: {what} {each[what]} of {each[counted]}, which are too few"
        for each in phases
        for what, counted in RATIOS.items()
        if each[counted] < LEAST
    ]


RATIOS = {"recall_ratio": "recalls", "indexed_ratio": "indexed"}
"""Each result with the name of the number of samples that it is computed from."""


def table(phases: Sequence[dict[str, Any]]) -> str:
    """The results as a table for people."""
    head = (
        "phase",
        "s",
        "recalls",
        "failed",
        "p50/p95 ms",
        "quiet",
        "ratio",
        "writes",
        "indexed p50/p95",
        "quiet",
        "ratio",
    )
    lines = [head, *(_line(each) for each in phases)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return "\n".join(
        "  ".join(
            f"{cell:>{width}}" if column else f"{cell:{width}}"
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    )


def _line(each: dict[str, Any]) -> Sequence[str]:
    return (
        each["name"],
        f"{each['seconds']:.0f}",
        str(each["recalls"]),
        str(sum(each["failed_recalls"].values())),
        _pair(each["recall_ms"]),
        _pair(each["recall_ms_quiet"]),
        f"{each['recall_ratio']:.2f}",
        str(each["writes"]),
        _pair(each["indexed_ms"]),
        _pair(each["indexed_ms_quiet"]),
        f"{each['indexed_ratio']:.2f}",
    )


def _pair(values: Sequence[float]) -> str:
    return "/".join(f"{each:.0f}" for each in values)


def _ratio(one: float, other: float) -> float:
    return round(one / other, 2) if other else float("nan")


def _percentile(seconds: Sequence[float], part: float) -> float:
    return float(np.percentile(seconds, part)) * 1000 if seconds else float("nan")
