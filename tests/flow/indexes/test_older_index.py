"""A store whose embedded indexes were made by another version repairs itself: after a start, everything stored is
found."""

from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from sqlalchemy import func, update

from openbrain.adapters.embedding.models import SPLITTER_VERSION
from openbrain.adapters.local.clock import SystemClock
from openbrain.adapters.sql.engine.opening import open_database
from openbrain.adapters.sql.schema.tables import embeddings, index_generations, memory_passages
from openbrain.adapters.sql.store import SqlStore, store_url
from openbrain.domain.ids import uuid7
from openbrain.ports.store.generations import GenerationStatus, IndexKind
from openbrain.ports.store.index_entries import REINDEX
from openbrain.ports.store.operations import Operation, OperationStatus, Progress
from openbrain.settings import Housekeeping, Settings, Streams
from openbrain.settings.tuning import HousekeepingTuning, StreamTuning
from openbrain.usecases.auth import OPERATORS
from openbrain_cli.system.embedded.pipeline import Running, running
from tests.flow.conftest import PATIENT, rest
from tests.support.waiting import until


def client(system: Running) -> httpx.AsyncClient:
    key = system.key_file.read_text(encoding="utf-8").strip()
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(rest(system)),
        base_url="http://brain",
        headers={"Authorization": f"Bearer {key}"},
    )


async def recalled(http: httpx.AsyncClient, query: str) -> tuple[set[str], list[str]]:
    answer = await http.post("/v1/brain/recall", json={"query": query})
    assert answer.status_code == 200, answer.text
    told = answer.json()
    return {memory["id"] for memory in told["memories"]}, told.get("degraded") or []


async def indexed(http: httpx.AsyncClient, memory_id: str) -> bool:
    return bool((await http.get(f"/v1/brain/memories/{memory_id}")).json()["indexed"])


async def reindex_begun(store: SqlStore) -> Operation:
    """A reindex of the vectors that was under way: this version can't write its index, and could not end it."""
    serving = await store.generations.serving(IndexKind.VECTOR)
    assert serving is not None
    await store.generations.begin(replace(serving, name="begun", builder="older-1", status=GenerationStatus.BUILDING))
    planned = {name: getattr(serving, name) for name in ("model", "model_name", "dimensions")}
    operation = Operation(id=uuid7(1), workspace_id=OPERATORS, kind=REINDEX, actor="ada", request={"index": "vector"})
    await store.operations.start_operation(operation)
    assert await store.operations.hold_operation("gone", 600, {REINDEX})
    result = {"phase": "scan", "generation": {"name": "begun", "builder": "older-1", **planned}}
    assert await store.operations.advance_operation(operation.id, "gone", Progress(done=0, result=result))
    return operation


@pytest.mark.timeout(600)
async def test_an_index_of_another_version_is_made_anew(tmp_path: Path) -> None:
    # Only the rebuild itself handles what is written meanwhile.
    settings = Settings(
        data_dir=tmp_path / "data",
        streams=Streams(tuning=StreamTuning(poll_s=0.5, reap_s=0.2)),
        housekeeping=Housekeeping(tuning=HousekeepingTuning(reconcile_every_s=10_000)),
        recall=PATIENT,
    )
    async with running(settings) as system, client(system) as http:
        made = await http.post("/v1/brain/remember", json={"content": "The ferry leaves at noon.", "type": "fact"})
        first = made.json()["id"]

        await until(lambda: indexed(http, first))
        assert first in (await recalled(http, "ferry"))[0]
    database = open_database(store_url(settings.truth.url, settings.data_dir))
    before, now = f"s{SPLITTER_VERSION - 1}", f"s{SPLITTER_VERSION}"
    older = update(index_generations).where(index_generations.c.kind == IndexKind.TEXT).values(builder="older-1")
    await database.write(lambda connection: connection.execute(older).rowcount)
    for table in (index_generations, memory_passages, embeddings):
        cut = update(table).values(model=func.replace(table.c.model, now, before))
        await database.write(lambda connection, cut=cut: connection.execute(cut).rowcount)  # type: ignore[misc]
    asked = await reindex_begun(SqlStore(database, SystemClock()))
    await database.close()

    async with running(settings) as system, client(system) as http:
        made = await http.post("/v1/brain/remember", json={"content": "The tram leaves at one.", "type": "fact"})
        second = made.json()["id"]
        assert first in (await recalled(http, "ferry"))[0], "it answers meanwhile, from the database if necessary"
        store = system.container.store

        async def renewed() -> bool:
            serving = [await store.generations.serving(kind) for kind in IndexKind]
            return all(each is not None and each.builder != "older-1" for each in serving) and all(
                each is not None and not each.model.endswith(before) for each in serving
            )

        await until(renewed)

        async def whole() -> bool:
            ids, degraded = await recalled(http, "when does it leave: ferry or tram")
            return not degraded and {first, second} <= ids

        await until(whole)

        await until(lambda: indexed(http, second))

        async def cleared() -> bool:
            return len(await store.generations.generations()) == len(IndexKind)

        await until(cleared)
        ended = await store.operations.operation(OPERATORS, asked.id)
        assert ended is not None
        assert ended.status is OperationStatus.CANCELLED
