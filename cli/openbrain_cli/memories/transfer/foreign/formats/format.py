"""Description of a store whose rows can be imported."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openbrain_cli.memories.transfer.foreign.rows import Row, Rows

Reader = Callable[[], Rows]
"""Starts reading anew at each call. Rows have `id`, `created_at`, and `supersedes_id` if the store has chains."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One kind of store."""

    name: str
    """Name for --from."""
    rows_of: Callable[[Path], Reader | None]
    """Returns a reader of the file's rows, or None for a file of another format."""
    line: Callable[[Row, str], Mapping[str, Any]]
    """Converts a row to a memory's line without its chain. The second argument is the agent that the user named."""
    workspace: Callable[[Row], str] = lambda _: ""
    """Returns a row's workspace; '' in stores without workspaces."""
    table: str = ""
    """Name of its table in a database; '' for a store that is read from files only."""
    vector_column: str = ""
    """Column with a vector of the content; '' if there is none."""
    needs_agent: bool = False
    """True if its rows belong to an agent that they do not name."""
