"""Compare the final contents of the indexes with the database by plain SQL and plain HTTP, without using any of our
own comparisons, sums or adapters."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import httpx
import numpy as np

from openbrain.adapters.embedding.models import model
from openbrain.adapters.embedding.passages import passages
from openbrain.domain.ids import point_id
from openbrain.domain.memory import Memory
from openbrain.domain.text.passages import header
from tests.faults.verifying import index_reading
from tests.integration.conftest import Servers
from tests.properties.rebuild.model_double import vector
from tests.support.store.fixtures import rows

PAGE = 5_000
MOST = 2_000_000
SAMPLED = 300
"""How many vectors are compared with the model's."""
SHOWN = 5

_LIVING = "deleted_at IS NULL AND archived_at IS NULL AND reason IS NULL"


class Standing(Protocol):
    """What is read from the indexes."""

    async def revisions(self, generation: Mapping[str, Any]) -> dict[str, int]:
        """Revisions by entry, without tombstones."""

    async def vectors(self, generation: Mapping[str, Any], ids: Sequence[str]) -> dict[str, Sequence[float]]:
        """The vectors of these entries."""


async def checked(servers: Servers, standing: Standing, expected: Mapping[str, str | None]) -> dict[str, Any]:
    """Check that every generation that serves or is kept holds the current revision of every live row, and no other.
    `expected`: the last acknowledged content of each memory that was written, None if it was forgotten."""
    found = await rows(
        servers.store._database,
        f"SELECT id, revision, content, ({_LIVING}) AS living, wants_vector, passages_high FROM memories",
    )
    store = {each["id"]: each for each in found}
    report: dict[str, Any] = {
        "memories": len(store),
        "living": sum(bool(each["living"]) for each in found),
        "written_under_load": len(expected),
        "not_as_acknowledged": _told(
            [each for each, content in expected.items() if not _as_said(store, each, content)]
        ),
    }
    generations = await rows(
        servers.store._database,
        "SELECT kind, name, status, model, model_name, dimensions FROM index_generations "
        "WHERE status IN ('serving', 'kept') ORDER BY kind, created_at",
    )
    for generation in generations:
        report[generation["name"]] = await _compared(servers, standing, generation, store, expected)
    return report


async def _compared(
    servers: Servers,
    standing: Standing,
    generation: Mapping[str, Any],
    store: Mapping[str, Any],
    expected: Mapping[str, str | None],
) -> dict[str, Any]:
    due, there = await _due(servers, store, generation), await standing.revisions(generation)
    told: dict[str, Any] = {
        "status": generation["status"],
        "due": len(due),
        "lacking": _told([each for each in due if each not in there]),
        "other_revision": _told([each for each in due if there.get(each, due[each]) != due[each]]),
        "too_much": _told([each for each in there if each not in due]),
    }
    written = [each for each, content in expected.items() if content is not None]
    told["written_and_lacking"] = _told([each for each in written if each not in there])
    if generation["kind"] == "vector":
        told["model"] = name = generation["model_name"]
        sample = sorted(due)[:: max(1, len(due) // SAMPLED)]
        vectors = await standing.vectors(generation, sample)
        rows_of = await servers.store.memories.indexable(list(vectors))
        told["other_vectors"] = _told([each for each, row in rows_of.items() if not _is_of(vectors[each], name, row)])
    return told


def _is_of(found: Sequence[float], name: str, row: Memory) -> bool:
    (text, *_) = passages(row.content, header(row), model(name))
    return bool(np.allclose(found, vector(name, text), atol=1e-4))


def broken(report: Mapping[str, Any]) -> list[str]:
    """The differences found."""
    parts = {"": report, **{name: part for name, part in report.items() if isinstance(part, dict) and "due" in part}}
    return [
        f"{name or 'truth'}: {what} {told['count']}, the first {told['first']}"
        for name, part in parts.items()
        for what, told in part.items()
        if isinstance(told, dict) and told.get("count")
    ]


def _told(ids: Sequence[str]) -> dict[str, Any]:
    return {"count": len(ids), "first": list(ids[:SHOWN])}


def _as_said(store: Mapping[str, Any], memory_id: str, content: str | None) -> bool:
    row = store.get(memory_id)
    if row is None:
        return False
    return not row["living"] if content is None else bool(row["living"]) and row["content"] == content


async def _due(servers: Servers, store: Mapping[str, Any], generation: Mapping[str, Any]) -> dict[str, int]:
    """Map each due entry to its revision. A vector index holds an entry for each passage that the model made of the
    current revision."""
    living = {each["id"]: int(each["revision"]) for each in store.values() if each["living"]}
    if generation["kind"] == "text":
        return living
    found = await rows(
        servers.store._database,
        "SELECT memory_id, COUNT(*) AS n FROM memory_passages WHERE model = :model GROUP BY memory_id",
        model=generation["model"],
    )
    passages_of = {each["memory_id"]: each["n"] for each in found}
    return {
        point_id(memory_id, number): revision
        for memory_id, revision in living.items()
        if store[memory_id]["wants_vector"]
        for number in range(passages_of.get(memory_id, 1))
    }


class Elasticsearch:
    """An index read over plain HTTP."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http

    async def revisions(self, generation: Mapping[str, Any]) -> dict[str, int]:
        """Read page by page."""
        index = generation["name"]
        (await self._http.post(f"/{index}/_refresh")).raise_for_status()
        found: dict[str, int] = {}
        after: Any = None
        while True:
            asked: dict[str, Any] = {
                "size": PAGE,
                "query": {"exists": {"field": "workspace_id"}},
                "sort": [{"memory_id": "asc"}],
                "_source": ["revision", "memory_id"],
                **({} if after is None else {"search_after": after}),
            }
            hits = (await self._http.post(f"/{index}/_search", json=asked)).raise_for_status().json()["hits"]["hits"]
            found.update((each["_id"], int(each["_source"]["revision"])) for each in hits)
            if len(hits) < PAGE:
                return found
            # Entries of the memory at the page border may come twice, but none is left out.
            border = hits[-1]["sort"]
            keep = [each for each in hits if each["sort"] != border]
            after = keep[-1]["sort"] if keep else border

    async def vectors(self, generation: Mapping[str, Any], ids: Sequence[str]) -> dict[str, Sequence[float]]:
        """Read in one request."""
        asked = {"size": len(ids), "query": {"ids": {"values": list(ids)}}, "_source": {"exclude_vectors": False}}
        answer = (await self._http.post(f"/{generation['name']}/_search", json=asked)).raise_for_status().json()
        return {each["_id"]: each["_source"]["vector"] for each in answer["hits"]["hits"]}


class Folders:
    """The embedded indexes, while no process has them open."""

    def __init__(self, data: Path) -> None:
        self._data = data

    async def revisions(self, generation: Mapping[str, Any]) -> dict[str, int]:
        """Read all at once."""
        if generation["kind"] == "text":
            found = index_reading.tantivy(self._data / "text" / generation["name"], MOST)
        else:
            found = index_reading.qdrant_edge(self._data / "vectors" / generation["name"], MOST, vectors=False)
        return {each.id: each.revision for each in found.values() if not each.tombstone}

    async def vectors(self, generation: Mapping[str, Any], ids: Sequence[str]) -> dict[str, Sequence[float]]:
        """Read by id."""
        from qdrant_edge import EdgeShard

        shard = EdgeShard.load(str(self._data / "vectors" / generation["name"] / "shard"))
        try:
            found: Sequence[Any] = shard.retrieve(list(ids), False, True)
            return {str(each.id): each.vector for each in found}
        finally:
            shard.close()
