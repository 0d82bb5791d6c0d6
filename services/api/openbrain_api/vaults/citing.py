"""The memories that a hot arc's lessons, decisions and milestones are, told beside the feed's table."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from openbrain.domain.access.visibility import Criteria, Viewer, matches, visible
from openbrain.ports.store.memories import Memories
from openbrain.ports.store.vault import Vault

Entry = dict[str, Any]
"""Of the feed, as its route answers it."""
MOST = 20
"""Memories of one arc."""
_ROW = re.compile(r"^\| (?:\[\[)?([^\[\]|]+?)(?:\]\])? \| \d+ \|", re.MULTILINE)


async def cited(entries: Sequence[Entry], viewer: Viewer, now: int, *, made: Vault, rows: Memories) -> list[Entry]:
    """Add `memories` to the metadata of these entries: arc -> ids of living memories that the viewer sees."""
    arcs = {arc for entry in entries for arc in _ROW.findall(entry["content"])}
    by_arc = await made.memories_of_arcs(viewer.workspace_id, arcs) if arcs else {}
    if not by_arc:
        return list(entries)
    known = await rows.rows([memory_id for ids in by_arc.values() for memory_id in ids])
    condition = visible(viewer, Criteria(), now)
    seen = {memory_id for memory_id, row in known.items() if row.alive(now) and matches(condition, row)}
    visible_ids = {arc: [memory_id for memory_id in ids if memory_id in seen][:MOST] for arc, ids in by_arc.items()}
    return [
        _with(entry, {arc: visible_ids[arc] for arc in _ROW.findall(entry["content"]) if visible_ids.get(arc)})
        for entry in entries
    ]


def _with(entry: Entry, memories: Mapping[str, Any]) -> Entry:
    return {**entry, "metadata": {**entry["metadata"], "memories": memories}} if memories else entry
