"""The revision fence: a batch as every index filters it before it writes."""

from collections.abc import Iterable
from typing import TypeVar

from openbrain.ports.index import TextEntry, Tombstone, VectorEntry

Entry = TypeVar("Entry", bound=TextEntry | VectorEntry | Tombstone)


def highest_per_id(entries: Iterable[Entry]) -> dict[str, Entry]:
    """Each id once, with its highest revision; of equal ones the later."""
    highest: dict[str, Entry] = {}
    for entry in entries:
        current = highest.get(entry.id)
        if current is None or entry.revision >= current.revision:
            highest[entry.id] = entry
    return highest
