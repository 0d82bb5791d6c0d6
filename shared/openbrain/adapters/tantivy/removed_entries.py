"""Finds segments with removed entries. These stay in their segment until it has no live entry; then it is deleted with
its files. So the live entries of such a segment are written again."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tantivy import Index, Query, Searcher

from openbrain.adapters.tantivy.documents import memory_ids, numbers
from openbrain.domain.errors import TryLater
from openbrain.ports.index import Tombstone

_LOOKS = 20


@dataclass(frozen=True, slots=True)
class Unclean:
    """Segments with removed entries, and their other entries."""

    segments: tuple[str, ...]
    memories: tuple[str, ...]
    tombstones: tuple[Tombstone, ...]
    """Tombstones, complete, to be written again."""


def unclean(index: Index, path: Path, segments: Sequence[str] | None) -> Unclean:
    """Examine the segments that contain removed entries now, or the given ones."""
    names, searcher = _view(index, path)
    wanted = {place for place, (name, _) in enumerate(names) if segments is not None and name in segments}
    if segments is None:
        wanted = {place for place, (_, removed) in enumerate(names) if removed}
    if not wanted:
        return Unclean((), (), ())
    hits = searcher.search(Query.all_query(), limit=max(1, searcher.num_docs), count=False).hits
    places = [address for _, address in hits if address.segment_ord in wanted]
    columns = [numbers(searcher, name, places) for name in ("tombstone", "revision", "bucket", "removed_at")]
    memories: list[str] = []
    tombstones: list[Tombstone] = []
    for owner, dead, revision, bucket, at in zip(memory_ids(searcher, places), *columns, strict=True):
        if dead:
            # In a text index an entry's id is its memory's id.
            tombstones.append(Tombstone(id=owner, memory_id=owner, revision=revision, bucket=bucket, at=at))
        else:
            memories.append(owner)
    return Unclean(
        tuple(names[place][0] for place in sorted(wanted)), tuple(dict.fromkeys(memories)), tuple(tombstones)
    )


def _view(index: Index, path: Path) -> tuple[list[tuple[str, bool]], Searcher]:
    """Return the segments (name, whether entries were removed from it) in the searcher's order. If a merge changes them
    meanwhile, read them again."""
    for _ in range(_LOOKS):
        before = _segments(path)
        index.reload()
        searcher = index.searcher()
        if _segments(path) == before and searcher.num_segments == len(before):
            return before, searcher
    raise TryLater("the text index is merging its segments: it is examined again later")


def _segments(path: Path) -> list[tuple[str, bool]]:
    about = json.loads((path / "meta.json").read_bytes())
    return [(item["segment_id"], bool(item.get("deletes"))) for item in about["segments"]]
