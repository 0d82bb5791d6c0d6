"""What stands in the indexes after all, held against the truth by plain SQL and plain HTTP: trusts none of our own
comparisons, sums or adapters."""

from collections.abc import Mapping, Sequence
from typing import Any

import httpx
import numpy as np

from openbrain.adapters.models import model
from openbrain.adapters.passages import passages
from openbrain.ids import point_id
from openbrain.passage_header import header
from tests.integration.conftest import Servers
from tests.properties.model_double import vector
from tests.truth_support import rows

PAGE = 5_000
SAMPLED = 300
"""Vectors that are held against the model's own."""
SHOWN = 5

_LIVING = "deleted_at IS NULL AND archived_at IS NULL AND reason IS NULL"


async def checked(servers: Servers, elasticsearch: str, expected: Mapping[str, str | None]) -> dict[str, Any]:
    """Every generation that serves or is kept holds every living row in its present revision, and no other. `expected`:
    what was acknowledged last of each memory that was written, None where it was forgotten."""
    found = await rows(
        servers.truth._database,
        f"SELECT id, revision, content, ({_LIVING}) AS living, wants_vector, passages_high FROM memories",
    )
    truth = {each["id"]: each for each in found}
    report: dict[str, Any] = {
        "memories": len(truth),
        "living": sum(bool(each["living"]) for each in found),
        "written_under_load": len(expected),
        "not_as_acknowledged": _told(
            [each for each, content in expected.items() if not _as_said(truth, each, content)]
        ),
    }
    generations = await rows(
        servers.truth._database,
        "SELECT kind, name, status, model, model_name, dimensions FROM index_generations "
        "WHERE status IN ('serving', 'kept') ORDER BY kind, created_at",
    )
    async with httpx.AsyncClient(base_url=elasticsearch, timeout=120) as http:
        for generation in generations:
            due = await _due(servers, truth, generation)
            standing = await _standing(http, generation["name"])
            told: dict[str, Any] = {
                "status": generation["status"],
                "due": len(due),
                "lacking": _told([each for each in due if each not in standing]),
                "other_revision": _told([each for each in due if standing.get(each, due[each]) != due[each]]),
                "too_much": _told([each for each in standing if each not in due]),
            }
            written = [each for each, content in expected.items() if content is not None]
            told["written_and_lacking"] = _told([each for each in written if each not in standing])
            if generation["kind"] == "vector":
                told["model"] = generation["model_name"]
                told["other_vectors"] = await _other_vectors(
                    servers, http, generation, sorted(due)[:: max(1, len(due) // SAMPLED)]
                )
            report[generation["name"]] = told
    return report


def broken(report: Mapping[str, Any]) -> list[str]:
    """What differs."""
    parts = {"": report, **{name: part for name, part in report.items() if isinstance(part, dict) and "due" in part}}
    return [
        f"{name or 'truth'}: {what} {told['count']}, the first {told['first']}"
        for name, part in parts.items()
        for what, told in part.items()
        if isinstance(told, dict) and told.get("count")
    ]


def _told(ids: Sequence[str]) -> dict[str, Any]:
    return {"count": len(ids), "first": list(ids[:SHOWN])}


def _as_said(truth: Mapping[str, Any], memory_id: str, content: str | None) -> bool:
    row = truth.get(memory_id)
    if row is None:
        return False
    return not row["living"] if content is None else bool(row["living"]) and row["content"] == content


async def _due(servers: Servers, truth: Mapping[str, Any], generation: Mapping[str, Any]) -> dict[str, int]:
    """Entry to revision. A vector index holds an entry for each passage that the model made of the present revision."""
    living = {each["id"]: int(each["revision"]) for each in truth.values() if each["living"]}
    if generation["kind"] == "text":
        return living
    found = await rows(
        servers.truth._database,
        "SELECT memory_id, COUNT(*) AS n FROM memory_passages WHERE model = :model GROUP BY memory_id",
        model=generation["model"],
    )
    passages_of = {each["memory_id"]: each["n"] for each in found}
    return {
        point_id(memory_id, number): revision
        for memory_id, revision in living.items()
        if truth[memory_id]["wants_vector"]
        for number in range(passages_of.get(memory_id, 1))
    }


async def _standing(http: httpx.AsyncClient, index: str) -> dict[str, int]:
    """Revision by entry, without tombstones."""
    (await http.post(f"/{index}/_refresh")).raise_for_status()
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
        hits = (await http.post(f"/{index}/_search", json=asked)).raise_for_status().json()["hits"]["hits"]
        found.update((each["_id"], int(each["_source"]["revision"])) for each in hits)
        if len(hits) < PAGE:
            return found
        # Another entry of the memory at the border may come twice, and none is left out.
        border = hits[-1]["sort"]
        keep = [each for each in hits if each["sort"] != border]
        after = keep[-1]["sort"] if keep else border


async def _other_vectors(
    servers: Servers, http: httpx.AsyncClient, generation: Mapping[str, Any], sample: Sequence[str]
) -> dict[str, Any]:
    """Those that are not what the model says of the row's present text."""
    asked = {"size": len(sample), "query": {"ids": {"values": list(sample)}}, "_source": {"exclude_vectors": False}}
    answer = (await http.post(f"/{generation['name']}/_search", json=asked)).raise_for_status().json()
    standing = {each["_id"]: each["_source"]["vector"] for each in answer["hits"]["hits"]}
    truth = await servers.truth.indexable(list(standing))
    name = generation["model_name"]
    return _told(
        [
            each
            for each, row in truth.items()
            if not np.allclose(
                standing[each], vector(name, passages(row.content, header(row), model(name))[0]), atol=1e-4
            )
        ]
    )
