"""Upload of an export in parts. If it is interrupted, repeating the command sends the rest."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from openbrain.client import OpenBrain
from openbrain.contract.brain.transfer import Imported
from openbrain.domain.errors import TryLater
from openbrain_cli.memories.transfer.export_file import parts

REFUSALS = 1000


@dataclass(slots=True)
class Totals:
    """Totals of a file's import."""

    export_id: str
    dry_run: bool
    exact: bool = False
    created: int = 0
    present: int = 0
    skipped: int = 0
    history: int = 0
    lineage: int = 0
    vectors: int = 0
    vectors_left: int = 0
    vectors_problem: str | None = None
    refused: int = 0
    refusals: list[dict[str, Any]] = field(default_factory=list)

    def add(self, answer: Imported, first: int) -> None:
        """Add the response to a part whose first line has the number `first`."""
        self.exact = answer.exact
        for name in ("created", "present", "skipped", "history", "lineage", "vectors", "vectors_left", "refused"):
            setattr(self, name, getattr(self, name) + getattr(answer, name))
        self.vectors_problem = self.vectors_problem or answer.vectors_problem
        for refusal in answer.refusals[: REFUSALS - len(self.refusals)]:
            self.refusals.append({**refusal.model_dump(exclude_none=True), "line": refusal.line - 2 + first})

    def summary(self) -> str:
        named = {
            "created": self.created,
            "already there": self.present,
            "ended before and left out": self.skipped,
            "lines of history": self.history,
            "links": self.lineage,
            "vectors imported": self.vectors,
            "refused": self.refused,
        }
        summary = ", ".join(f"{count} {name}" for name, count in named.items() if count) or "nothing to do"
        return f"{summary}{' (as they were)' if self.exact else ''}"


async def send(
    brain: OpenBrain, path: Path, export_id: str, *, dry_run: bool, cut: bool = False, progress: Callable[[int], None]
) -> Totals:
    """Send the file. `cut`: it has no footer."""
    totals = Totals(export_id, dry_run)
    for part in parts(path, cut=cut):
        try:
            answer = await brain.import_lines(part.body, dry_run=dry_run)
        except TryLater as error:
            raise TryLater(f"{error} (imported up to line {part.first - 1}: the same command does the rest)") from error
        totals.add(answer, part.first)
        progress(part.size)
    return totals
