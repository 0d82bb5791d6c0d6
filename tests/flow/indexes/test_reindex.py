"""Indexes rebuilt while the system serves: the same answers, nothing lost, and a way back."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from openbrain.adapters.embedding.minilm import MiniLM
from openbrain.domain.access.visibility import AllOf, AtLeast, Criteria, Viewer, visible
from openbrain.domain.events.streams import RECALLED
from openbrain.ports.index import TextEntry
from openbrain.ports.store.generations import Generation, IndexKind
from openbrain.ports.store.operations import OperationStatus
from openbrain_cli.profile import ADMIN_KEY_FILE
from tests.flow.conftest import Brain, rest, started, usual
from tests.support.waiting import until

KINDS = (IndexKind.TEXT, IndexKind.VECTOR)
EVERY = 10_000
"""A limit for hits: more than is written during a rebuild."""
WORDS = "harbour lantern granite orchard signal velvet copper meadow".split()


@asynccontextmanager
async def operating(brain: Brain) -> AsyncIterator[httpx.AsyncClient]:
    """A client with the operators' key."""
    key = brain.system.key_file.with_name(ADMIN_KEY_FILE).read_text(encoding="utf-8").strip()
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(rest(brain.system)),
        base_url="http://brain",
        headers={"Authorization": f"Bearer {key}"},
    ) as client:
        yield client


@pytest.fixture
async def operator(brain: Brain) -> AsyncIterator[httpx.AsyncClient]:
    async with operating(brain) as client:
        yield client


async def filled(brain: Brain, count: int) -> list[str]:
    """Store memories that searches find."""
    ids = [
        await brain.remember(f"{WORDS[number % 8]} and {WORDS[number // 8 % 8]}, note {number}")
        for number in range(count)
    ]
    await brain.settled()
    return ids


async def begun(operator: httpx.AsyncClient, index: IndexKind, **how: Any) -> str:
    answer = await operator.post("/v1/admin/reindex", json={"index": index.value, **how})
    assert answer.status_code == 202, answer.text
    return str(answer.json()["operation"]["id"])


async def ended(operator: httpx.AsyncClient, operation: str) -> dict[str, Any]:
    """Wait for the end of the operation; return its last state."""
    while True:
        state: dict[str, Any] = (await operator.get(f"/v1/admin/operations/{operation}?wait=20")).json()
        if OperationStatus(state["status"]).ended:
            return state


async def reindexed(operator: httpx.AsyncClient, index: IndexKind, **how: Any) -> dict[str, Any]:
    state = await ended(operator, await begun(operator, index, **how))
    assert state["status"] == "done", state["error"]
    result: dict[str, Any] = state["result"]
    return {**result, "total": state["total"]}


async def hits(brain: Brain, kind: IndexKind, generation: Generation) -> Mapping[str, float]:
    """The hits of a search of this generation, with their scores."""
    everything = AllOf((AtLeast("expires_at", 0),))
    if kind is IndexKind.TEXT:
        found = await brain.container.text.search(generation.name, "granite meadow", everything, EVERY)
    else:
        (vector,) = await brain.container.embedder.embed_queries(["granite and meadow"])
        found = await brain.container.vectors.search(generation.name, vector, everything, EVERY)
    return {hit.memory_id: hit.score for hit in found}


@asynccontextmanager
async def busy(brain: Brain) -> AsyncIterator[list[str]]:
    """Write, change and recall during the block; yield the ids written. A recall that fails or is degraded fails the
    test."""
    written: list[str] = []
    over = asyncio.Event()

    async def write() -> None:
        while not over.is_set():
            written.append(await brain.remember(f"written meanwhile, number {len(written)}"))
            if len(written) % 3 == 0:
                await brain.http.patch(f"/v1/brain/memories/{written[-1]}", json={"tags": ["changed"]})
            if len(written) % 5 == 0:
                await brain.http.delete(f"/v1/brain/forget/{written[-2]}")
            await asyncio.sleep(0.02)

    async def ask() -> None:
        while not over.is_set():
            answer = await brain.post("/v1/brain/recall", {"query": "granite and meadow"})
            assert not answer.get("degraded"), answer["degraded"]
            assert answer["memories"]
            await asyncio.sleep(0.02)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(write())
        tasks.create_task(ask())
        try:
            yield written
        finally:
            over.set()


@pytest.mark.slow("two indexes are made anew, and settle before they are switched")
async def test_both_indexes_are_made_anew_while_they_serve(brain: Brain, operator: httpx.AsyncClient) -> None:
    await filled(brain, 60)
    before = {kind: await brain.container.store.generations.serving(kind) for kind in KINDS}

    async with busy(brain) as written:
        operations = [await begun(operator, kind) for kind in KINDS]
        reports = [await ended(operator, operation) for operation in operations]
    await brain.settled()

    assert written
    for kind, report in zip(KINDS, reports, strict=True):
        assert report["status"] == "done", report["error"]
        assert report["result"]["failures"] == 0
        serving, kept = await brain.container.store.generations.written(kind)
        was = before[kind]
        assert was is not None
        assert (kept.name, kept.status) == (was.name, "kept")
        assert serving.name == report["result"]["generation"]["name"]
        # The old index still counts removed entries in its scores, so only the new one's are exact.
        assert (await hits(brain, kind, serving)).keys() == (await hits(brain, kind, kept)).keys()
    everything = visible(Viewer(workspace_id="default", agent_id=""), Criteria(), 2**52)
    listed = {row.id for row in await brain.container.store.memories.listing(everything, EVERY)}
    found = (await brain.post("/v1/brain/recall", {"query": "written meanwhile", "top_k": 100}))["memories"]
    alive = {memory for memory in written if memory in listed}
    assert {each["id"] for each in found} & set(written) <= alive
    waiting = {each.stream for each in await brain.container.store.outbox.take(EVERY)}
    assert waiting <= {RECALLED.name}, "recalls are recorded after the answer"
    assert len(await brain.entries("reindex.completed")) == 2


async def with_epoch(brain: Brain, kind: IndexKind) -> Generation:
    """The serving index, once it holds the entry that distinguishes it from a lost one; engines count
    that entry too."""

    async def noted() -> bool:
        serving = await brain.container.store.generations.serving(kind)
        return serving is not None and serving.epoch > 0

    await until(noted)
    serving = await brain.container.store.generations.serving(kind)
    assert serving is not None
    return serving


async def test_twice_gives_the_same(brain: Brain, operator: httpx.AsyncClient) -> None:
    ids = await filled(brain, 40)
    for kind in KINDS:
        scores = []
        for _ in range(2):
            report = await reindexed(operator, kind)
            assert (report["total"], report["successes"], report["failures"]) == (len(ids), len(ids), 0)
            serving = await with_epoch(brain, kind)
            scores.append(await hits(brain, kind, serving))
        assert scores[0] == scores[1]
        assert scores[0]


async def test_going_back_and_dropping(brain: Brain, operator: httpx.AsyncClient) -> None:
    await filled(brain, 5)
    kind = IndexKind.TEXT
    first = await brain.container.store.generations.serving(kind)
    assert first is not None
    await reindexed(operator, kind)
    later = await brain.remember("a zeppelin over the harbour")
    await brain.indexed(later)

    answer = await operator.post(f"/v1/admin/generations/text/{first.name}:switch")

    assert answer.status_code == 200, answer.text
    await until(lambda: _finds(brain, "zeppelin", later))
    serving, kept = await brain.container.store.generations.written(kind)
    assert serving.name == first.name
    path = f"/v1/admin/generations/text/{kept.name}"
    assert (await operator.delete(path, params={"dry_run": "1"})).status_code == 200
    assert len(await brain.container.store.generations.written(kind)) == 2
    dropped = await operator.delete(path)
    assert dropped.status_code == 200, dropped.text
    assert [each.name for each in await brain.container.store.generations.generations(kind)] == [first.name]
    folder = brain.container.settings.data_dir / "text"
    assert [each.name for each in folder.iterdir()] == [first.name]
    after = await brain.remember("a balloon over the harbour")
    await brain.indexed(after)


async def _finds(brain: Brain, query: str, memory: str) -> bool:
    return memory in await brain.recalled(query)


async def test_a_cancelled_one_leaves_nothing(brain: Brain, operator: httpx.AsyncClient) -> None:
    await filled(brain, 20)
    operation = await begun(operator, IndexKind.VECTOR, rate=1)
    await until(lambda: _written(brain, 2))

    assert (await operator.post(f"/v1/admin/operations/{operation}:cancel")).status_code == 200

    assert (await ended(operator, operation))["status"] == "cancelled"
    assert await _written(brain, 1)
    assert len([*(brain.container.settings.data_dir / "vectors").iterdir()]) == 1
    await brain.indexed(await brain.remember("after all that"))


async def _written(brain: Brain, count: int) -> bool:
    return len(await brain.container.store.generations.written(IndexKind.VECTOR)) == count


async def test_in_place_writes_again_what_the_index_lacks(brain: Brain, operator: httpx.AsyncClient) -> None:
    (kept, lost) = await filled(brain, 2)
    for kind in KINDS:
        before = await brain.container.store.generations.generations(kind)
        report = await reindexed(operator, kind, in_place=True)
        assert (report["total"], report["successes"], report["failures"]) == (2, 2, 0)
        assert await brain.container.store.generations.generations(kind) == before
        report = await reindexed(operator, kind, stale=True)
        assert report["total"] == 0
    assert {kept, lost} <= set(await brain.recalled("harbour", top_k=10))


@pytest.mark.parametrize(("anew", "calls"), [(False, 0), (True, 3)])
async def test_vectors_that_are_known_are_made_again_only_when_asked(
    brain: Brain, operator: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, anew: bool, calls: int
) -> None:
    await filled(brain, 3)
    asked: list[str] = []
    model = brain.container.embedder
    assert isinstance(model, MiniLM)
    encode = model.encode

    async def counting(texts: Sequence[str]) -> Any:
        asked.extend(texts)
        return await encode(texts)

    monkeypatch.setattr(model, "encode", counting)

    report = await reindexed(operator, IndexKind.VECTOR, re_embed=anew)

    assert (report["total"], report["failures"], len(asked)) == (3, 0, calls)


@pytest.mark.parametrize("most", [0, 1])
async def test_an_index_without_some_serves_only_where_so_many_may_fail(
    brain: Brain, operator: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """An engine that loses one memory, only in a new index; none of ours can be made to do that."""
    (lost, *others) = await filled(brain, 4)
    first = await brain.container.store.generations.serving(IndexKind.TEXT)
    assert first is not None
    write = brain.container.text.write

    async def losing(name: str, entries: Sequence[TextEntry], *more: Any, **named: Any) -> Any:
        kept = [each for each in entries if name == first.name or each.memory_id != lost]
        return await write(name, kept, *more, **named)

    monkeypatch.setattr(brain.container.text, "write", losing)

    state = await ended(operator, await begun(operator, IndexKind.TEXT, max_failures=most))

    serving = await brain.container.store.generations.serving(IndexKind.TEXT)
    assert serving is not None
    if most:
        assert (state["status"], state["result"]["failures"]) == ("done", 1), state["error"]
        assert serving.name != first.name
    else:
        assert state["status"] == "failed"
        assert lost in state["error"]
        assert serving == first
        assert len(await brain.container.store.generations.written(IndexKind.TEXT)) == 1
    assert set(others) <= set(await brain.recalled("note", top_k=10))


async def test_a_kept_index_is_open_after_a_start_although_nothing_is_written(tmp_path: Path) -> None:
    async with started(usual(tmp_path)) as brain, operating(brain) as operator:
        await filled(brain, 3)
        for kind in KINDS:
            await reindexed(operator, kind)

    async with started(usual(tmp_path)) as brain, operating(brain) as operator:
        answer = await operator.get("/ready")
        assert (answer.status_code, answer.json()["failing"]) == (200, {})
        checked = await operator.post("/v1/admin/verify", json={})
        verified = await ended(operator, checked.json()["id"])

    assert (verified["status"], verified["result"]["equal"]) == ("done", True)
