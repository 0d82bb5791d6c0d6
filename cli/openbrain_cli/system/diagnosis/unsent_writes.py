"""Writes of tools and hooks that wait on this machine for the brain, or that the brain refused."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from openbrain.client.outbox import Outbox


@dataclass(frozen=True, slots=True)
class UnsentWrites:
    """One outbox that is not empty."""

    file: str
    waiting: int = 0
    refused: int = 0
    problem: str = ""
    """Why the last refused write was refused, or why the file can't be read."""

    def __str__(self) -> str:
        if not self.waiting and not self.refused:
            return f"{self.file} can't be read: {self.problem}"
        waiting = [f"{self.waiting} waiting for the brain"] if self.waiting else []
        refused = [f"{self.refused} refused, the last one because: {self.problem}"] if self.refused else []
        return f"{'; '.join(waiting + refused)} ({self.file})"


def unsent_writes(data_dir: Path) -> Sequence[UnsentWrites]:
    """The outboxes of a data folder that hold writes: those of tools, then those of connected clients' hooks."""
    files = (*data_dir.glob("outbox/*.sqlite3"), *data_dir.glob("agents/*/outbox.sqlite3"))
    return [found for file in sorted(files) if (found := _in(file)).waiting or found.refused or found.problem]


def _in(file: Path) -> UnsentWrites:
    try:
        with closing(Outbox(file)) as outbox:
            return UnsentWrites(str(file), outbox.waiting(), outbox.refused(), outbox.last_refusal())
    except (sqlite3.Error, OSError) as error:
        return UnsentWrites(str(file), problem=f"{type(error).__name__}: {error}")
