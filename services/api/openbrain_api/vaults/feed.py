"""The feed folder, as agents' clients read it over HTTP."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from openbrain.domain.access.visibility import Criteria, Viewer, matches, visible
from openbrain.domain.errors import NeverRetry
from openbrain.domain.ids import content_hash
from openbrain.ports.store.memories import Memories
from openbrain.ports.store.vault import Vault
from openbrain.vault.files.folder import Folder
from openbrain.vault.front_matter.document import read

FEED = "brain-feed"
ALARM = "amygdala-active.md"
"""Left out of the feed: `/signal` returns it, and a session that reads both would see it twice."""
_PRIORITY, _TTL_S, _SEVERITY = 5, 3600, "info"
_CITED = 20
"""Most memories listed for one arc."""
_ROW = re.compile(r"^\| (?:\[\[)?([^\[\]|]+?)(?:\]\])? \| \d+ \|", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class FeedEntry:
    """A page of the feed, and its file's `mtime_ns`."""

    fields: dict[str, Any]
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Feed:
    """All entries, the highest priority first."""

    entries: Sequence[FeedEntry]

    @property
    def hash(self) -> str:
        """A hash of all entries."""
        text = json.dumps([entry.fields for entry in self.entries], sort_keys=True)
        return content_hash(text)[:16]

    def named(self, word: str) -> list[dict[str, Any]]:
        """Entries with this word in their id."""
        return [entry.fields for entry in self.entries if word in entry.fields["id"]]

    def others(self, *words: str) -> list[dict[str, Any]]:
        """Entries with none of these words in their id."""
        return [entry.fields for entry in self.entries if not any(word in entry.fields["id"] for word in words)]


def read_feed(folder: Folder) -> Feed:
    """Read the pages that have front matter and a body; of several with the same id, the first by name. Blocking."""
    entries: dict[str, FeedEntry] = {}
    for file in folder.walk(FEED):
        name = file.path.removeprefix(f"{FEED}/")
        if "/" in name or not name.endswith(".md") or name == ALARM:
            continue
        try:
            fields = _fields(folder.read(file.path), name)
        except NeverRetry:
            continue
        if fields is not None:
            entries.setdefault(fields["id"], FeedEntry(fields, file.mtime_ns))
    return Feed(sorted(entries.values(), key=lambda entry: -entry.fields["priority"]))


def _fields(text: str, name: str) -> dict[str, Any] | None:
    page = read(text, name)
    body = page.body.strip()
    if not page.front.present or page.front.broken or not body:
        return None
    front = page.front
    priority, ttl = front.number("priority"), front.number("ttl")
    if (priority is None and "priority" in front) or (ttl is None and "ttl" in front):
        return None  # invalid numbers: the client, too, skips such a file
    stem = name.removesuffix(".md")
    own = {
        "id": front.text("id") or stem,
        "title": front.text("title") or stem,
        "priority": _PRIORITY if priority is None else priority,
        "ttl": _TTL_S if ttl is None else ttl,
        "severity": front.text("severity") or _SEVERITY,
    }
    return {**own, "content": body, "metadata": {key: front.get(key) for key in front} | own}


async def cited(
    entries: Sequence[dict[str, Any]], viewer: Viewer, now: int, *, made: Vault, rows: Memories
) -> list[dict[str, Any]]:
    """Add `memories` to the entries' metadata: for each arc, the ids of its active memories (lessons, decisions,
    milestones) that the viewer may see."""
    arcs = {arc for entry in entries for arc in _ROW.findall(entry["content"])}
    by_arc = await made.memories_of_arcs(viewer.workspace_id, arcs) if arcs else {}
    if not by_arc:
        return list(entries)
    known = await rows.rows([memory_id for ids in by_arc.values() for memory_id in ids])
    condition = visible(viewer, Criteria(), now)
    seen = {memory_id for memory_id, row in known.items() if row.alive(now) and matches(condition, row)}
    visible_ids = {arc: [memory_id for memory_id in ids if memory_id in seen][:_CITED] for arc, ids in by_arc.items()}
    return [
        _with(entry, {arc: visible_ids[arc] for arc in _ROW.findall(entry["content"]) if visible_ids.get(arc)})
        for entry in entries
    ]


def _with(entry: dict[str, Any], memories: Mapping[str, Any]) -> dict[str, Any]:
    return {**entry, "metadata": {**entry["metadata"], "memories": memories}} if memories else entry
