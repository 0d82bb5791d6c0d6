"""What a Qdrant server is sent for collections and searches; local mode ignores all of it."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest

from openbrain.adapters.qdrant.vectors import QdrantVectors
from openbrain.domain.errors import SetupError
from openbrain.ports.index import VectorSearch
from openbrain.runtime.adapters import vector_index
from openbrain.settings import Settings, Vectors
from tests.support.indexes.entries import EVERYTHING, direction
from tests.support.indexes.scripted_qdrant import DONE, INFO, Server, ok, server, vectors

__all__ = ["server", "vectors"]

pytestmark = pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection:UserWarning")
EAST = direction(1, 0, 0)
QUERY = "POST /collections/ob-first/points/query/batch"
CHOSEN: dict[str, Any] = {
    "on_disk": True,
    "on_disk_payload": True,
    "shard_number": 3,
    "replication_factor": 2,
    "write_consistency_factor": 2,
    "quantization_config": {"scalar": {"type": "int8", "always_ram": True}},
    "hnsw_config": {"on_disk": True},
    "optimizers_config": {"default_segment_number": 4},
}


@pytest.fixture
async def chosen(server: Server) -> AsyncIterator[QdrantVectors]:
    """An index configured by the settings of a process."""
    url = f"http://127.0.0.1:{server.port}"
    made = vector_index(Settings(vectors=Vectors(url=url, collection="ob", collection_settings=CHOSEN)))
    assert isinstance(made, QdrantVectors)
    yield made
    await made.close()


def _is_new(server: Server, name: str) -> str:
    """Let the collection not exist until it is created; return the call that creates it."""
    made = f"PUT /collections/ob-{name}"
    server.answers[f"GET /collections/ob-{name}/exists"] = lambda _: ok({"exists": made in server.calls()})
    server.answers[f"GET /collections/ob-{name}"] = ok(INFO)
    server.answers[made] = ok(True)
    server.answers[f"{made}/index"] = DONE
    return made


async def test_an_operators_settings_are_those_of_every_collection(server: Server, chosen: QdrantVectors) -> None:
    """Also for the collection that a reindex creates."""
    calls = [_is_new(server, name) for name in ("first", "second")]
    for name in ("first", "second"):
        await chosen.prepare(name, 3)
    for call in calls:
        assert server.bodies(call) == [
            {
                **{name: value for name, value in CHOSEN.items() if name != "on_disk"},
                "vectors": {"v": {"size": 3, "distance": "Cosine", "on_disk": True}},
                "hnsw_config": {"m": 0, "payload_m": 16, "on_disk": True},
            }
        ]


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"vectors": {"size": 4, "distance": "Dot"}}, "vectors"),
        ({"sharding_method": "custom"}, "sharding_method"),
        ({"shards": 3}, "shards"),
        ({"shard_number": "many"}, "shard_number"),
        ({"on_disk": "elsewhere"}, "on_disk"),
        ({"quantization_config": {"scalar": {"type": "int2"}}}, "quantization_config"),
        ({"hnsw_config": {"fast": True}}, "hnsw_config"),
        ({"hnsw_config": 3}, "hnsw_config"),
        ({"hnsw_config": [1]}, "hnsw_config"),
    ],
)
def test_what_qdrant_does_not_know_is_refused_at_start(wrong: dict[str, Any], named: str) -> None:
    with pytest.raises(SetupError, match="OPENBRAIN_VECTORS__COLLECTION_SETTINGS") as caught:
        QdrantVectors("http://127.0.0.1:1", "ob", settings=wrong)
    assert named in str(caught.value)


@pytest.mark.parametrize(
    ("within_s", "told"), [(None, None), (3.0, "3"), (2.125, "3"), (0.4, "1"), (0.0, "1"), (-1.0, "1")]
)
async def test_a_search_tells_the_server_how_long_it_may_take(
    server: Server, vectors: QdrantVectors, within_s: float | None, told: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In whole seconds, at least one."""
    server.answers[QUERY] = ok([{"points": []}])
    loop = asyncio.get_running_loop()
    monkeypatch.setattr(loop, "time", partial(float, int(loop.time())))  # it stands still, however slow the machine
    assert await vectors.search_many("first", [VectorSearch(EAST, EVERYTHING, 5)], within_s=within_s) == [[]]
    assert [query.get("timeout") for call, query, _ in server.asked if call == QUERY] == [told]


async def test_scores_are_the_cosine_also_of_what_is_quantized(server: Server, vectors: QdrantVectors) -> None:
    server.answers[QUERY] = ok([{"points": []}])
    await vectors.search("first", EAST, EVERYTHING, 5)
    (search,) = server.bodies(QUERY)[0]["searches"]
    assert search["params"] == {"quantization": {"rescore": True, "oversampling": 2.0}}
