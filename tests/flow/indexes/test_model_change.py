"""Change the embedding model of everything while the system serves.

The second model is the real small one with its vectors reversed (`tests.support.embedder.second_model`), so that a
query vector of one model that is sent to the other's index is recognised by its numbers. (The command's tests use the
real second model.)
"""

from array import array
from collections.abc import AsyncIterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import httpx
import pytest

from openbrain.adapters.embedding.minilm import IDENTITY
from openbrain.domain.errors import SetupError
from openbrain.ports.index import Hit, VectorIndex, VectorSearch
from openbrain.ports.models import Embedder, QueryEncoding
from openbrain.ports.store.generations import IndexKind
from openbrain.runtime.container import Container
from openbrain.settings import Recall, Settings, Streams
from openbrain.settings.tuning import RecallTuning, StreamTuning
from openbrain.usecases.indexes.embedders import Embedders
from openbrain_cli.profile import ADMIN_KEY_FILE
from tests.flow.conftest import Brain, rest, started
from tests.flow.indexes.test_reindex import busy, ended, filled
from tests.support.embedder.handler import WithFaults
from tests.support.embedder.second_model import SECOND, Second
from tests.support.waiting import until

CHANGE = "/v1/admin/models:change"


class Watching(WithFaults):
    """The first model, which records the vectors that it gave for queries."""

    def __init__(self) -> None:
        super().__init__()
        self.given: set[bytes] = set()

    async def embed_queries(self, queries: Sequence[str]) -> Sequence["array[float]"]:
        vectors = await super().embed_queries(queries)
        self.given |= {vector.tobytes() for vector in vectors}
        return vectors

    async def encode_queries(self, queries: Sequence[str]) -> Sequence[QueryEncoding]:
        encodings = await super().encode_queries(queries)
        self.given |= {encoding.vector.tobytes() for encoding in encodings}
        return encodings


class WatchingSecond(Second):
    """The same for the second model."""

    def __init__(self, digest: str = SECOND.digest) -> None:
        super().__init__(digest)
        self.given: set[bytes] = set()

    async def embed_queries(self, queries: Sequence[str]) -> Sequence["array[float]"]:
        vectors = await super().embed_queries(queries)
        self.given |= {vector.tobytes() for vector in vectors}
        return vectors


class TwoModels(Container):
    """A system with both models; each opening of the second gets the weights that its name has at that time."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings, shared=True)
        self.one = Watching()
        self.seconds: list[WatchingSecond] = []
        self.digest = SECOND.digest
        self.asked: list[tuple[str, bytes]] = []
        """Generation and vector of each search."""

    @cached_property
    def embedder(self) -> Embedder:
        return self.one

    @cached_property
    def embedders(self) -> Embedders:
        return Embedders(lambda: self.embedder, self._named, lambda name: name or IDENTITY.name)

    def _named(self, name: str) -> Embedder:
        if name != "second":
            raise SetupError(f"there is no model {name}")
        self.seconds.append(WatchingSecond(self.digest))
        return self.seconds[-1]

    def pull(self, digest: str) -> None:
        """Let the name `second` stand for other weights from now on."""
        self.digest = digest
        for each in self.seconds:
            each.now = digest

    @cached_property
    def vectors(self) -> VectorIndex:
        index = super().vectors
        search = index.search_many

        async def watched(
            name: str, searches: Sequence[VectorSearch], *, within_s: float | None = None
        ) -> Sequence[Sequence[Hit]]:
            self.asked += [(name, each.vector.tobytes()) for each in searches]
            return await search(name, searches, within_s=within_s)

        index.search_many = watched  # type: ignore[method-assign]
        return index

    async def mixed(self) -> list[str]:
        """Generations that were searched with a vector of another model."""
        models = {each.name: each.model for each in await self.store.generations.generations(IndexKind.VECTOR)}
        given = {IDENTITY.key: self.one.given}
        for second in self.seconds:
            given.setdefault((await Second.identity(second)).key, set()).update(second.given)
        return [name for name, vector in self.asked if vector not in given[models[name]]]


@pytest.fixture
async def brain(tmp_path: Path) -> AsyncIterator[Brain]:
    settings = Settings(
        _env_file=None,
        data_dir=tmp_path / "data",
        streams=Streams(tuning=StreamTuning(poll_s=0.5, reap_s=0.2, breaker_s=0.1, breaker_max_s=0.5)),
        # A slow answer of a busy machine is not what these tests are about.
        recall=Recall(text_weight=0.3, tuning=RecallTuning(index_timeout_s=60)),
    )
    async with started(settings, TwoModels) as begun:
        yield begun


@pytest.fixture
async def operator(brain: Brain) -> AsyncIterator[httpx.AsyncClient]:
    key = brain.system.key_file.with_name(ADMIN_KEY_FILE).read_text(encoding="utf-8").strip()
    transport = httpx.ASGITransport(rest(brain.system))
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx.AsyncClient(transport=transport, base_url="http://brain", headers=headers) as client:
        yield client


def two(brain: Brain) -> TwoModels:
    assert isinstance(brain.container, TwoModels)
    return brain.container


async def changed(operator: httpx.AsyncClient, model: str, status: int = 202, **how: Any) -> dict[str, Any]:
    answer = await operator.post(CHANGE, json={"model": model, **how})
    assert answer.status_code == status, answer.text
    found: dict[str, Any] = answer.json()
    if status == 202:
        found["operation"] = await ended(operator, found["operation"]["id"])
    return found


async def serving(brain: Brain) -> str:
    found = await brain.container.store.generations.serving(IndexKind.VECTOR)
    assert found is not None
    return found.model


async def _by_the_serving_one(brain: Brain) -> bool:
    """True if queries are sent to the index that serves now."""
    await brain.recalled("which one is asked")
    name, _ = two(brain).asked[-1]
    current = await brain.container.store.generations.serving(IndexKind.VECTOR)
    return current is not None and current.name == name


@pytest.mark.slow("everything is embedded three times")
@pytest.mark.timeout(300)
async def test_the_model_changes_while_it_serves_and_back(brain: Brain, operator: httpx.AsyncClient) -> None:
    await filled(brain, 40)
    assert await serving(brain) == IDENTITY.key

    async with busy(brain) as written:
        report = (await changed(operator, "second"))["operation"]
        assert report["status"] == "done", report["error"]
        assert await serving(brain) == SECOND.key
        await until(lambda: _by_the_serving_one(brain))
        at_the_swap = len(written)
        await until(lambda: _more(written, at_the_swap + 5))
    await brain.settled()

    assert report["result"]["failures"] == 0
    assert await two(brain).mixed() == [], "no index was searched with another model's vector"
    assert await brain.container.store.vectors.unembedded(SECOND.key, 2**62, "", 10) == [], (
        "every write is in the new index"
    )
    assert await brain.container.store.vectors.unembedded(IDENTITY.key, 2**62, "", 10) == [], (
        "and in the index that was kept"
    )
    found = await brain.recalled("a lantern by the harbour", top_k=5)
    assert len(found) == 5

    after = await brain.remember("a zeppelin over the meadow")
    await brain.indexed(after)
    await brain.settled()
    embedded = len(two(brain).one.asked)
    back = await changed(operator, IDENTITY.name, 200)

    assert (back["how"], await serving(brain)) == ("switch", IDENTITY.key)
    await until(lambda: _by_the_serving_one(brain))
    assert after in await brain.recalled("an airship above the grass", top_k=3), "what was added meanwhile is there"
    assert len(two(brain).one.asked) == embedded, "going back embedded nothing"
    assert await two(brain).mixed() == []


async def _more(written: list[str], count: int) -> bool:
    return len(written) >= count


@pytest.mark.timeout(300)
async def test_a_change_that_is_cancelled_changes_nothing(brain: Brain, operator: httpx.AsyncClient) -> None:
    await filled(brain, 20)
    answer = await operator.post(CHANGE, json={"model": "second", "rate": 1})
    operation = answer.json()["operation"]["id"]

    async def embeds() -> bool:
        return any(each.asked for each in two(brain).seconds)

    await until(embeds)
    assert (await operator.post(f"/v1/admin/operations/{operation}:cancel")).status_code == 200
    assert (await ended(operator, operation))["status"] == "cancelled"
    await brain.settled()
    asked = sum(len(each.asked) for each in two(brain).seconds)

    await brain.indexed(await brain.remember("after all that"))
    await brain.settled()

    assert sum(len(each.asked) for each in two(brain).seconds) == asked, "it embeds nothing any more"
    assert [each.model for each in await brain.container.store.generations.written(IndexKind.VECTOR)] == [IDENTITY.key]

    known = (await operator.post(CHANGE, json={"model": "second", "dry_run": True})).json()["cached"]
    assert known > 0, "nothing is embedded twice"
    report = (await changed(operator, "second"))["operation"]
    assert report["status"] == "done", report["error"]
    texts = [text for each in two(brain).seconds for batch in each.asked for text in batch]
    assert len(texts) == len(set(texts)), "each input once, over both attempts"


@pytest.mark.timeout(300)
async def test_other_weights_under_the_name_are_told_and_taken_by_a_change(
    brain: Brain, operator: httpx.AsyncClient
) -> None:
    await filled(brain, 10)
    assert (await changed(operator, "second"))["operation"]["status"] == "done"
    await until(lambda: _by_the_serving_one(brain))

    two(brain).pull("6" * 64)
    meanwhile = await brain.remember("a zeppelin over the meadow")
    answer = await brain.post("/v1/brain/recall", {"query": "a question that nobody asked before"})
    told = (await operator.get("/v1/admin/models")).json()

    async def red() -> bool:
        found = (await operator.get("/ready")).json()
        return "openbrain models change second" in str(found["failing"].get("embedder"))

    assert answer["degraded"] == ["vectors"]
    assert "openbrain models change second" in told["problem"]
    await until(red)

    report = (await changed(operator, "second"))["operation"]

    assert report["status"] == "done", report["error"]
    assert (await serving(brain)).startswith("second-666666666666")
    await brain.indexed(meanwhile)
    await until(lambda: _by_the_serving_one(brain))
    assert meanwhile in await brain.recalled("an airship above the grass", top_k=3)
    assert await two(brain).mixed() == []


@pytest.mark.timeout(300)
async def test_all_is_embedded_again_where_that_is_asked_for(brain: Brain, operator: httpx.AsyncClient) -> None:
    ids = await filled(brain, 6)
    before = sum(len(batch) for batch in two(brain).one.asked)

    report = (await changed(operator, IDENTITY.name, re_embed=True))["operation"]

    assert report["status"] == "done", report["error"]
    assert sum(len(batch) for batch in two(brain).one.asked) - before >= len(ids)
    assert len(await brain.container.store.generations.written(IndexKind.VECTOR)) == 2
