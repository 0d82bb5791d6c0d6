"""The result of a benchmark: raw figures, ratios of sides measured in the same run, and goals."""

import json
import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True, slots=True)
class Row:
    """One line: a figure over several repeats, and the side it is compared with."""

    what: str
    unit: str
    values: tuple[float, ...]
    """One per repeat; the report shows the median."""
    against: str = ""
    """The side it is compared with, in words."""
    ratios: tuple[float, ...] = ()
    """This side divided by the other, per repeat."""
    goal: float | None = None
    """The lowest acceptable median (`at_most`: the highest) of the ratios if there are any, else of the values."""
    at_most: bool = False

    @property
    def measured(self) -> float:
        """The number compared with the goal."""
        return statistics.median(self.ratios or self.values)

    @property
    def met(self) -> bool | None:
        """True if the goal is met; None without a goal."""
        if self.goal is None:
            return None
        return self.measured <= self.goal if self.at_most else self.measured >= self.goal


@dataclass(frozen=True, slots=True)
class Report:
    """A benchmark's result."""

    name: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = field(default=())


def share(hits: Iterable[bool]) -> tuple[float, float, float]:
    """The share and its 95 % Wilson score interval."""
    values = list(hits)
    n, p, z = len(values), sum(values) / len(values), 1.96
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return p, middle - half, middle + half


def show(report: Report) -> None:
    """A table for people."""
    table = Table(title=report.name, title_justify="left")
    for heading in ("what", "median", "min to max", "against", "ratio", "goal", ""):
        table.add_column(heading, justify="left" if heading in {"what", "against"} else "right")
    for row in report.rows:
        goal = "" if row.goal is None else f"{'<=' if row.at_most else '>='} {row.goal:g}"
        table.add_row(
            row.what,
            f"{statistics.median(row.values):,.4g} {row.unit}" if row.values else "",
            f"{min(row.values):,.4g} to {max(row.values):,.4g}" if row.values else "",
            row.against,
            f"{statistics.median(row.ratios):.3g}" if row.ratios else "",
            goal,
            {True: "met", False: "SHORT", None: ""}[row.met],
        )
    console = Console(width=140)
    console.print(table)
    for note in report.notes:
        console.print(note)


def save(reports: Sequence[Report], path: Path) -> None:
    """Write the reports as JSON."""
    plain = [asdict(report) | {"rows": [asdict(row) | {"met": row.met} for row in report.rows]} for report in reports]
    path.write_text(json.dumps(plain, indent=2) + "\n", encoding="utf-8")
