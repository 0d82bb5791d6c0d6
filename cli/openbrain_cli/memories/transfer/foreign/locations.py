"""The format of a file or database: the one that is named, else the first that fits."""

from collections.abc import Mapping
from pathlib import Path

from openbrain.domain.errors import Invalid
from openbrain_cli.memories.transfer.foreign import databases
from openbrain_cli.memories.transfer.foreign.formats import (
    brain_memories,
    claude_mem,
    graphiti,
    letta,
    lossless_claw,
    openclaw,
    thoughts,
)
from openbrain_cli.memories.transfer.foreign.formats.format import Format
from openbrain_cli.memories.transfer.foreign.rows import Table
from openbrain_cli.memories.transfer.foreign.tables import DATABASES

FORMATS: Mapping[str, Format] = {
    form.name: form
    for form in (
        *(brain_memories.FORMAT, thoughts.FORMAT, graphiti.FORMAT, letta.FORMAT),
        *(claude_mem.FORMAT, openclaw.FORMAT, lossless_claw.FORMAT),
    )
}
"""In the order in which they are tried."""


def table_in(path: Path, named: str = "") -> Table | None:
    """The table in a file, or None if its format is unknown."""
    if not path.is_file():
        return None
    if path.suffix.lower() in DATABASES and not databases.is_sqlite(path):
        return None
    for form in [FORMATS[named]] if named else FORMATS.values():
        if (rows := form.rows_of(path)) is not None:
            return Table(form.name, path.name, rows)
    return None


def table_at(url: str, named: str = "") -> Table:
    form = FORMATS[named or brain_memories.FORMAT.name]
    if not form.table:
        raise Invalid("--database", f"is read for {brain_memories.FORMAT.name} only: name a file")
    return databases.table_at(url, form.table, form.name)
