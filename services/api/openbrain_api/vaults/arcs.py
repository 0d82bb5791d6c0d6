"""Arcs of a vault for a brief: recently changed ones, and those in mind, which may be stuck. Blocking."""

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import nlargest
from typing import Final

from openbrain.domain.errors import NeverRetry
from openbrain.vault.files.folder import Entry, Folder
from openbrain.vault.pages.arc_parsing import parse_arc
from openbrain.vault.pages.arcs import Arc
from openbrain.vault.pages.index import REGIONS

FOLDERS: Final = (*REGIONS, "clusters")
IN_MIND: Final = ("frontal-lobe/conscious", "frontal-lobe/unconscious")
MOST: Final = 500
"""Most pages read of each sort."""
_STILL: Final = frozenset({"stalled", "abandoned"})


@dataclass(frozen=True, slots=True)
class Seen:
    """An arc, and the time of its page's last change (microseconds). A tick that changes only its heat keeps the file's
    time."""

    arc: Arc
    at: int

    @property
    def stuck(self) -> bool:
        """True if the arc is stalled or abandoned, or an open incident."""
        incident = self.arc.path.startswith("amygdala/") and self.arc.status == "active"
        return incident or self.arc.status in _STILL


def recent_arcs(folder: Folder, since: int, project: str) -> list[Seen]:
    """Arcs whose page changed since then, newest first, then those referred to from the (un)conscious folders."""
    entries = (entry for name in FOLDERS for entry in folder.walk(name) if _is_page(entry))
    newest = nlargest(
        MOST, (entry for entry in entries if entry.mtime_ns // 1000 >= since), key=lambda entry: entry.mtime_ns
    )
    arcs: dict[str, Seen] = {}
    for entry in (*newest, *_in_mind(folder)):
        if entry.path not in arcs and (arc := _read(folder, entry)) is not None:
            arcs[entry.path] = Seen(arc, entry.mtime_ns // 1000)
    return [
        entry
        for entry in arcs.values()
        if entry.arc.ranked and not entry.arc.merged and project in {"", entry.arc.project}
    ]


def _in_mind(folder: Folder) -> Iterator[Entry]:
    for name in IN_MIND:
        for entry, _ in zip(folder.walk(name), range(MOST), strict=False):
            reference = _read(folder, entry)
            if reference is not None and reference.reference:
                try:
                    yield folder.stat(reference.reference)
                except NeverRetry:
                    continue


def _is_page(entry: Entry) -> bool:
    return entry.path.endswith(".md") and not entry.path.rsplit("/", 1)[1].startswith("_")


def _read(folder: Folder, entry: Entry) -> Arc | None:
    try:
        return parse_arc(entry.path, folder.read(entry.path), entry.mtime_ns)
    except NeverRetry:
        return None
