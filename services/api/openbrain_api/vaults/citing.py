"""The memories that a hot arc's lessons, decisions and milestones are, told beside the feed's table."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from openbrain.domain.visibility import Criteria, Viewer, matches, visible
from openbrain.ports.memories import Memories
from openbrain.ports.vault import Vault

Entry = dict[str, Any]
"""Of the feed, as its route answers it."""
MOST = 20
"""Memories of one arc."""
_ROW = re.compile(r"^\| (?:\[\[)?([^\[\]|]+?)(?:\]\])? \| \d+ \|", re.MULTILINE)


async def cited(entries: Sequence[Entry], viewer: Viewer, now: int, *, made: Vault, rows: Memories) -> list[Entry]:
    """These entries, with `memories` in their metadata: arc -> ids of living memories that the viewer sees."""
    arcs = {arc for entry in entries for arc in _ROW.findall(entry["content"])}
    found = await made.memories_of_arcs(viewer.workspace_id, arcs) if arcs else {}
    if not found:
        return list(entries)
    known = await rows.rows([each for ids in found.values() for each in ids])
    condition = visible(viewer, Criteria(), now)
    seen = {each for each, row in known.items() if row.alive(now) and matches(condition, row)}
    told = {arc: [each for each in ids if each in seen][:MOST] for arc, ids in found.items()}
    return [
        _with(entry, {arc: told[arc] for arc in _ROW.findall(entry["content"]) if told.get(arc)}) for entry in entries
    ]


def _with(entry: Entry, memories: Mapping[str, Any]) -> Entry:
    return {**entry, "metadata": {**entry["metadata"], "memories": memories}} if memories else entry
