"""Discovery through the API on a real Elasticsearch: the same answers as on the embedded index."""

import uuid
from typing import Any

from openbrain.adapters.elasticsearch.text import ElasticsearchText
from tests.support.api.brain import Brain, http, remembered

ASKS: list[tuple[str, dict[str, Any]]] = [
    ("search", {"q": "ferry"}),
    ("search", {"q": '"blue boat"', "highlights": True}),
    ("search", {"q": '"blue boat" island "to be"', "facets": ["type", "tags", "org", "project", "agent_id", "source"]}),
    ("search", {"q": "icland", "fuzzy": True, "highlights": True}),
    ("search", {"q": "?!"}),
    ("search", {"q": "ferry", "org": "acme", "type": ["fact", "plan"]}),
    ("tags", {}),
    ("tags", {"org": "acme", "limit": 1}),
    ("scopes", {}),
]


async def test_both_engines_answer_alike(brain: Brain, elasticsearch_server: Any) -> None:
    texts = [
        "the blue boat sails to an island",
        "a ferry to the island",
        "a boat that is blue",
        "the ferry, it is late",
    ]
    index = ElasticsearchText(
        elasticsearch_server.url, f"t{uuid.uuid4().hex[:12]}", refresh_ms=50, verify_tls=True, timeout_s=60
    )
    async with http(brain.app(), await brain.key()) as here, http(brain.app(text=index), await brain.key()) as there:
        await remembered(here, *texts[:2], org="acme", project="web", tags=["a", "b"])
        await remembered(here, *texts[2:], tags=["b"], type="plan")
        await remembered(here, *(f"number {number} of the ferries" for number in range(7)), org="acme", project="p")
        await brain.settle()
        embedded, brain.text = brain.text, index
        await reindexed(brain, [each.id for each in await brain.store.memories.listing(everything(), 100)])
        brain.text = embedded
        try:
            for route, params in ASKS:
                one, other = await asked(here, route, params), await asked(there, route, params)
                assert one == other, (route, params)
            assert await pages(here, 3) == await pages(there, 3)
        finally:
            await index.close()


def everything() -> Any:
    from openbrain.domain.access.visibility import Criteria, Viewer, visible

    return visible(Viewer(workspace_id="w1", agent_id="ada"), Criteria(), 0)


async def reindexed(brain: Brain, ids: list[str]) -> None:
    """Do for a second index what `Brain.settle` did for the first."""
    from openbrain.ports.store.generations import Generation, IndexKind
    from openbrain.usecases.indexes import serving_indexes
    from openbrain_indexer.handlers.text import project_text

    served = await brain.store.generations.serving(IndexKind.TEXT)
    assert served is not None
    await brain.text.prepare(served.name)
    other = Generation(
        kind=IndexKind.TEXT,
        name=served.name,
        model="",
        dimensions=0,
        builder=brain.text.builder,
        status=serving_indexes.SERVING,
    )
    await project_text(ids, store=brain.store, index=brain.text, generations=[other])


async def asked(client: Any, route: str, params: dict[str, Any]) -> Any:
    """The answer without what may differ: its duration, and each engine's word weights."""
    response = await client.get(f"/v1/brain/{route}", params=params)
    assert response.status_code == 200, response.text
    body = response.json()
    assert body["degraded"] == []
    hits = {each["id"]: {**each, "score": None} for each in body.pop("hits", ())}
    return {**body, "hits": hits, "data": None if hits else body["data"], "took_ms": None}


async def pages(client: Any, limit: int) -> list[list[int]]:
    """Return the sizes of the pages; no memory may occur twice."""
    sizes, seen, cursor = [], set(), None
    while True:
        params = {"q": "ferry", "limit": limit, **({"cursor": cursor} if cursor else {})}
        body = (await client.get("/v1/brain/search", params=params)).json()
        seen |= {each["id"] for each in body["hits"]}
        sizes.append([body["count"], body["total"]])
        cursor = body["next_cursor"]
        if cursor is None:
            assert len(seen) == sum(count for count, _ in sizes)
            return sizes
