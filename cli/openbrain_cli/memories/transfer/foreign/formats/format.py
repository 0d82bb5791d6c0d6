"""Description of a store whose rows can be imported."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openbrain_cli.memories.transfer.foreign.rows import Row, Rows

Reader = Callable[[], Rows]
"""Reads anew each time it is called. A row has `id`, `created_at`, and `supersedes_id` where the store has chains."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One kind of store."""

    name: str
    """Name for --from."""
    rows_of: Callable[[Path], Reader | None]
    """The rows of a file, or None where it is of another kind."""
    line: Callable[[Row, str], Mapping[str, Any]]
    """A row, with the agent that was named, as a memory's line, without what its chain says."""
    workspace: Callable[[Row], str] = lambda _: ""
    """Of a row; '' of stores that know none."""
    table: str = ""
    """In a database; '' where it is only known as a file."""
    vector_column: str = ""
    """Where its rows may hold a vector of their content."""
    needs_agent: bool = False
    """Whether its rows belong to an agent and do not say to which."""
