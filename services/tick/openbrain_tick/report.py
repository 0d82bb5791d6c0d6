"""The report of a tick. Its members and phases have the names of the original's; only a dry run has `diff`."""

import difflib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from openbrain.domain.errors import OpenBrainError
from openbrain.domain.times import to_iso
from openbrain.ports.store.vault import TickJob
from openbrain.vault.files.changes import Change
from openbrain.vault.values import Problem

PROBLEMS, PATHS = 100, 200
DIFF_CHARS = 200_000
FILE_CHARS = 200_000
"""A longer file is named in the diff, but not shown."""


@dataclass(slots=True)
class Report:
    """Filled while the tick runs."""

    job: TickJob
    now_us: int
    phases: dict[str, dict[str, Any]] = field(default_factory=dict)
    more: dict[str, Any] = field(default_factory=dict)
    began: float = field(default_factory=time.perf_counter)

    @contextmanager
    def phase(self, name: str) -> Iterator[dict[str, Any]]:
        """Open a phase and yield its members; its duration is added at the end."""
        figures: dict[str, Any] = {}
        self.phases[name] = figures
        began = time.perf_counter()
        try:
            yield figures
        finally:
            figures["duration_ms"] = _ms(began)

    def changed(self, changes: Sequence[Change]) -> None:
        """Add the files of one write; a tick may write twice."""
        before = self.more.get("changes", {"written": 0, "removed": 0, "paths": []})
        paths = [*dict.fromkeys((*before["paths"], *(change.path for change in changes)))]
        removed = sum(1 for change in changes if change.after is None)
        self.more["changes"] = {
            "written": before["written"] + len(changes) - removed,
            "removed": before["removed"] + removed,
            "paths": paths[:PATHS],
        }

    def problems(self, problems: Sequence[Problem]) -> None:
        """Set the problems: file, line, reason."""
        once = list(dict.fromkeys(problems))
        self.more["problem_count"] = len(once)
        self.more["problems"] = [
            {"path": item.path, "line": item.line, "reason": item.reason} for item in once[:PROBLEMS]
        ]

    def document(self) -> dict[str, Any]:
        """The report as it is stored and published."""
        return {
            "timestamp": to_iso(self.now_us),
            "workspace_id": self.job.workspace_id,
            "slot": self.job.slot,
            "dry_run": self.job.dry_run,
            "extract": self.job.extract,
            "phases": self.phases,
            **self.more,
            "total_ms": _ms(self.began),
        }


def stats(counts: Mapping[str, int]) -> dict[str, int]:
    """The counts above 0, by name."""
    return {name: count for name, count in sorted(counts.items()) if count}


def diff(changes: Sequence[Change], read: Callable[[str], str]) -> str:
    """The planned changes as a unified diff of up to DIFF_CHARS; the rest is counted."""
    parts: list[str] = []
    used = 0
    for number, change in enumerate(changes):
        text = _diff(change, read)
        if used + len(text) > DIFF_CHARS:
            parts.append(f"# {len(changes) - number} more files would change\n")
            break
        parts.append(text)
        used += len(text)
    return "".join(parts)


def _diff(change: Change, read: Callable[[str], str]) -> str:
    try:
        before = "" if change.before is None else read(change.path)
    except OpenBrainError:
        before = ""
    after = "" if change.after is None else change.after.decode()
    if len(before) + len(after) > FILE_CHARS:
        return f"# {change.path} would change\n"
    lines = difflib.unified_diff(
        before.splitlines(keepends=True),
        after.splitlines(keepends=True),
        "/dev/null" if change.before is None else change.path,
        "/dev/null" if change.after is None else change.path,
    )
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def _ms(began: float) -> float:
    return round((time.perf_counter() - began) * 1000, 1)
