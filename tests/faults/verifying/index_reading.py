"""The verifier's independent view of the indexes: Elasticsearch over HTTP, tantivy and qdrant-edge from their
folders."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx

_PAGE = 10_000


@dataclass(frozen=True, slots=True)
class Entry:
    """What an index holds under one id."""

    id: str
    memory_id: str
    revision: int
    tombstone: bool
    text: str | None = None
    """None if the engine does not store it, or in a vector index."""
    tags: tuple[str, ...] | None = None
    project: str | None = None
    vector: Sequence[float] | None = None


def elasticsearch(url: str, index: str) -> dict[str, Entry]:
    """Return all searchable entries of an index; empty if the index does not exist."""
    with httpx.Client(base_url=url, timeout=20) as http:
        asked: dict[str, Any] = {"size": _PAGE, "query": {"match_all": {}}, "_source": {"exclude_vectors": False}}
        answer = http.post(f"/{index}/_search", json=asked)
        if answer.status_code == 400:  # versions that always return vectors do not know this option
            answer = http.post(f"/{index}/_search", json={**asked, "_source": True})
        if answer.status_code == 404:
            return {}
        answer.raise_for_status()
        hits = answer.json()["hits"]
        if hits["total"]["value"] >= _PAGE:
            raise ValueError(f"{index} holds more than the {_PAGE} entries that one look takes")
        return {hit["_id"]: _of_source(hit["_id"], hit["_source"]) for hit in hits["hits"]}


def _of_source(entry_id: str, source: Mapping[str, Any]) -> Entry:
    tags = source.get("tags")
    return Entry(
        id=entry_id,
        memory_id=source["memory_id"],
        revision=source["revision"],
        tombstone=bool(source.get("tombstone")),
        text=source.get("text"),
        tags=None if tags is None else tuple(tags),
        project=source.get("project"),
        vector=source.get("vector"),
    )


def tantivy(folder: Path, most: int = _PAGE) -> dict[str, Entry]:
    """Return all live entries of a folder that no process has open; it must not hold more than `most`. Passages of a
    long text have no revision; each must belong to a live entry."""
    from tantivy import Index, Query

    if not folder.exists():
        return {}
    index = Index.open(str(folder))
    searcher = index.searcher()
    found: dict[str, Entry] = {}
    owners: set[str] = set()
    for _, address in searcher.search(Query.all_query(), limit=most).hits:
        (high,), (low,), (revision,), (tombstone,) = (
            searcher.fast_field_values(name, [address]) for name in ("id_high", "id_low", "revision", "tombstone")
        )
        memory_id = str(UUID(bytes=struct.pack(">qq", high, low)))
        if revision is None:
            owners.add(memory_id)
            continue
        if memory_id in found:
            raise ValueError(f"the text index holds {memory_id} twice")
        found[memory_id] = Entry(memory_id, memory_id, int(revision), bool(tombstone))
    if ownerless := owners - {memory_id for memory_id, entry in found.items() if not entry.tombstone}:
        raise ValueError(f"the text index holds passages of {sorted(ownerless)}, which it does not hold")
    return found


def qdrant_edge(folder: Path, most: int = _PAGE, *, vectors: bool = True) -> dict[str, Entry]:
    """Return all points of a shard that no process has open, at most `most`; with or without their vectors."""
    from qdrant_edge import EdgeShard, ScrollRequest

    if not folder.exists():
        return {}
    shard = EdgeShard.load(str(folder / "shard"))
    try:
        points, _ = shard.scroll(ScrollRequest(limit=most, with_payload=True, with_vector=vectors))
        return {str(each.id): _of_point(each) for each in points}
    finally:
        shard.close()


def _of_point(point: Any) -> Entry:
    payload = point.payload or {}
    return Entry(
        id=str(point.id),
        memory_id=payload.get("memory_id", str(point.id)),
        revision=payload["revision"],
        tombstone="terms" not in payload,
        vector=point.vector if isinstance(point.vector, list) and point.vector else None,
    )
