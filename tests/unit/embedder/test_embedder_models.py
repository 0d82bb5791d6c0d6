"""Which model an event is embedded by, on a real SQLite file. The second model is
`tests.support.embedder.second_model`'s."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import orjson
import pytest
from structlog.testing import capture_logs

from openbrain.adapters.embedding.minilm import IDENTITY
from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.errors import ModelChanged, NeverRetry, SetupError, TryLater
from openbrain.domain.events.data import MemoryReindex
from openbrain.domain.events.envelope import CloudEvent
from openbrain.domain.ids import uuid7
from openbrain.domain.memory import Change, Memory
from openbrain.ports.store.generations import Generation, GenerationStatus, IndexKind
from openbrain.usecases.indexes.embedders import Embedders
from openbrain_embedder.handlers.memory_stored import Embedding
from tests.support.embedder.handler import Service, WithFaults, database, event, model, service, store
from tests.support.embedder.second_model import SECOND, Second, named
from tests.support.store.fixtures import START, clock

__all__ = ["clock", "database", "model", "service", "store"]

FIRST_NAME = IDENTITY.name


def generation(identity: Any, status: GenerationStatus, name: str = "") -> Generation:
    return Generation(
        kind=IndexKind.VECTOR,
        name=name or f"v-{identity.name}",
        model=identity.key,
        model_name=identity.name,
        dimensions=identity.dimensions,
        builder="b",
        status=status.value,
    )


BESIDE = generation(SECOND, GenerationStatus.BUILDING)


@pytest.fixture
async def second() -> AsyncIterator[Second]:
    opened = Second()
    yield opened
    await opened.close()


@pytest.fixture
async def embedding(store: SqlStore, model: WithFaults, second: Second, service: Service) -> Embedding:
    await store.generations.ensure(generation(IDENTITY, GenerationStatus.SERVING))
    return Embedding(store, named({FIRST_NAME: model, "second": second}, FIRST_NAME), service.clock, 32)


def reindex(memory: Memory, name: str | None = BESIDE.name, **more: Any) -> CloudEvent[MemoryReindex]:
    data = MemoryReindex(
        memory_id=memory.id,
        workspace_id=memory.workspace_id,
        version=memory.version,
        revision=memory.revision,
        change=Change.REINDEX,
        generation=name,
        **more,
    )
    return CloudEvent(id=uuid7(START), source="/test", type="openbrain.memory.reindex.v1", data=data)


async def _outbox(store: SqlStore, stream: str) -> list[dict[str, Any]]:
    return [data for name, data in await _announced(store) if name == stream]


async def _announced(store: SqlStore) -> list[tuple[str, dict[str, Any]]]:
    entries = await store.outbox.take(1000)
    await store.outbox.delete([entry.id for entry in entries])
    return [(entry.stream, orjson.loads(entry.body)["data"]) for entry in entries]


async def _has(store: SqlStore, memory: Memory, identity: Any) -> bool:
    return memory.id in await store.vectors.passages([memory.id], identity.key)


async def test_while_one_serves_its_model_alone_is_asked(
    embedding: Embedding, service: Service, second: Second
) -> None:
    memory = await service.add("We deploy on Thursdays.")

    assert await embedding.stored([event(memory)]) == {}

    assert await _has(service.store, memory, IDENTITY)
    assert second.asked == []
    assert await _outbox(service.store, "memory.reindex") == []


async def test_the_serving_model_comes_first_and_the_other_is_asked_for_behind_it(
    embedding: Embedding, service: Service, second: Second
) -> None:
    await service.store.generations.begin(BESIDE)
    memory, again = await service.add("We deploy on Thursdays."), await service.add("stored twice, told twice")
    await _outbox(service.store, "memory.stored")

    assert await embedding.stored([event(memory), event(again), event(again, Change.DUPLICATE)]) == {}

    assert second.asked == [], "nothing live waits for it"
    asked = await _outbox(service.store, "memory.reindex")
    assert [(each["memory_id"], each["generation"]) for each in asked] == [
        (each.id, BESIDE.name) for each in sorted((memory, again), key=lambda each: each.id)
    ]

    assert await embedding.stored([reindex(memory)]) == {}

    assert await _has(service.store, memory, SECOND)
    entries = await _announced(service.store)
    assert [stream for stream, _ in entries] == ["memory.reindex"], "nothing live waits for its vectors either"
    told = MemoryReindex.model_validate(entries[0][1])
    assert (told.model, told.generation, told.version) == (SECOND.key, None, memory.version)
    assert len(second.asked) == 1

    done = CloudEvent[MemoryReindex](id=uuid7(START), source="/test", type="openbrain.memory.reindex.v1", data=told)
    assert await embedding.stored([reindex(memory), reindex(memory), done]) == {}
    assert await embedding.known([done]) == await embedding.imported([done]) == {}
    assert len(second.asked) == 1, "memories that have vectors are not embedded again"
    assert await _announced(service.store) == [], "nor announced again"


async def test_embedding_again_asks_the_model_and_replaces_what_was_known(
    embedding: Embedding, service: Service, second: Second
) -> None:
    await service.store.generations.begin(BESIDE)
    memory = await service.add("We deploy on Thursdays.")
    await embedding.stored([reindex(memory)])
    before = (await service.store.vectors.passages([memory.id], SECOND.key))[memory.id].vectors
    other = [vector[::-1] for vector in before]
    await service.store.vectors.save(
        dict(zip(await _hashes(service, memory), other, strict=True)), [], SECOND.key, replace=True
    )
    assert (await service.store.vectors.passages([memory.id], SECOND.key))[memory.id].vectors != before

    assert await embedding.stored([reindex(memory, re_embed=True)]) == {}

    assert (await service.store.vectors.passages([memory.id], SECOND.key))[memory.id].vectors == before
    assert len(second.asked) == 2


async def _hashes(service: Service, memory: Memory) -> list[str]:
    from tests.support.store.fixtures import rows

    table = f"SELECT input_hash FROM memory_passages WHERE memory_id = '{memory.id}' AND model = '{SECOND.key}'"
    return [row["input_hash"] for row in await rows(service.store._database, table)]


async def test_a_slow_or_absent_second_model_fails_its_own_events_alone(
    embedding: Embedding, service: Service, second: Second
) -> None:
    await service.store.generations.begin(BESIDE)
    one, other = await service.add("one"), await service.add("other")
    second.fault = lambda _: TryLater("its server is away")

    failures = await embedding.stored([event(one), reindex(other)])

    assert {name: type(error) for name, error in failures.items()} == {other.id: TryLater}
    assert await _has(service.store, one, IDENTITY)

    again = await embedding.imported([reindex(one, None), reindex(other)])

    assert list(again) == [other.id], "an import continues while the other model is away"


async def test_a_generation_that_was_given_up_is_embedded_for_no_more(
    embedding: Embedding, service: Service, second: Second
) -> None:
    await service.store.generations.begin(BESIDE)
    memory = await service.add("We deploy on Thursdays.")
    await service.store.generations.retire(IndexKind.VECTOR, BESIDE.name)

    assert await embedding.stored([reindex(memory), event(memory)]) == {}

    assert second.asked == []
    assert await _outbox(service.store, "memory.reindex") == []


async def test_after_the_swap_the_kept_one_is_kept_up(embedding: Embedding, service: Service, second: Second) -> None:
    await service.store.generations.begin(BESIDE)
    await service.store.generations.swap(IndexKind.VECTOR, BESIDE.name)
    memory = await service.add("written after the swap")
    await _outbox(service.store, "memory.stored")

    assert await embedding.stored([event(memory)]) == {}

    assert [len(second.asked), len(service.model.asked)] == [1, 0], "the new model serves, whatever the settings name"
    (asked,) = await _outbox(service.store, "memory.reindex")
    assert asked["generation"] == f"v-{FIRST_NAME}"
    assert await embedding.stored([reindex(memory, asked["generation"])]) == {}
    assert await _has(service.store, memory, IDENTITY)


@pytest.mark.parametrize("change", ["changed", "removed"])
async def test_a_kept_one_whose_model_is_gone_is_not_gone_back_to(
    store: SqlStore, service: Service, second: Second, model: WithFaults, change: str
) -> None:
    await store.generations.ensure(generation(SECOND, GenerationStatus.SERVING))
    await store.generations.begin(generation(IDENTITY, GenerationStatus.BUILDING))
    await store.generations.swap(IndexKind.VECTOR, f"v-{FIRST_NAME}")
    models = {FIRST_NAME: model} if change == "removed" else {FIRST_NAME: model, "second": Second("6" * 64)}
    embedding = Embedding(store, named(models, FIRST_NAME), service.clock, 32)
    memory = await service.add("written after the swap")

    with capture_logs() as logs:
        assert await embedding.stored([event(memory), reindex(memory, "v-second")]) == {}

    assert [each["event"] for each in logs if each["log_level"] == "warning"] == ["embedder.kept_no_more"]
    assert [each.name for each in await store.generations.written(IndexKind.VECTOR)] == [f"v-{FIRST_NAME}"]


async def test_other_weights_under_the_name_are_never_mixed_in(
    store: SqlStore, service: Service, second: Second
) -> None:
    """The event waits until somebody begins the change of models; then live memories go to the generation being
    built."""
    await store.generations.ensure(generation(SECOND, GenerationStatus.SERVING))
    changed = Second("6" * 64)
    opened = iter([second, changed])
    embedders = Embedders(lambda: next(opened), lambda _: next(opened), lambda _: "second")
    embedding = Embedding(store, embedders, service.clock, 32)
    before, after = await service.add("before"), await service.add("after")
    assert await embedding.stored([event(before)]) == {}
    second.now = changed.now
    await _outbox(store, "memory.stored")

    failures = await embedding.stored([event(after)])

    assert {name: type(error) for name, error in failures.items()} == {after.id: ModelChanged}
    with pytest.raises(ModelChanged, match="openbrain models change second"):
        await embedders.check(generation(SECOND, GenerationStatus.SERVING))

    _, identity = await embedders.current("second")
    assert identity.digest == changed.digest
    await store.generations.begin(generation(identity, GenerationStatus.BUILDING, "v-6"))
    assert await embedding.stored([event(after)]) == {}
    (asked,) = await _outbox(store, "memory.reindex")
    assert (asked["memory_id"], asked["generation"]) == (after.id, "v-6")
    assert await embedding.stored([reindex(after, "v-6")]) == {}
    assert await _has(store, after, identity)
    assert not await _has(store, after, SECOND)


async def test_the_setting_does_not_decide_once_something_serves(
    store: SqlStore, service: Service, second: Second
) -> None:
    await store.generations.ensure(generation(SECOND, GenerationStatus.SERVING))
    embedding = Embedding(store, named({"second": second}, "no-longer-installed"), service.clock, 32)
    memory = await service.add("We deploy on Thursdays.")

    assert await embedding.stored([event(memory)]) == {}
    assert await _has(store, memory, SECOND)


async def test_a_serving_model_that_is_not_to_be_had_waits(
    store: SqlStore, service: Service, model: WithFaults
) -> None:
    await store.generations.ensure(generation(SECOND, GenerationStatus.SERVING))
    embedding = Embedding(store, named({FIRST_NAME: model}, FIRST_NAME), service.clock, 32)
    memory = await service.add("We deploy on Thursdays.")

    failures = await embedding.stored([event(memory)])

    assert isinstance(failures[memory.id], TryLater)
    assert "there is no model second" in str(failures[memory.id])
    assert model.asked == []


async def test_what_the_second_model_refuses_is_its_own_failure(
    embedding: Embedding, service: Service, second: Second
) -> None:
    await service.store.generations.begin(BESIDE)
    memory = await service.add("We deploy on Thursdays.")
    second.fault = lambda _: NeverRetry("no direction")

    assert await embedding.stored([event(memory)]) == {}
    assert isinstance((await embedding.stored([reindex(memory)]))[memory.id], NeverRetry)


async def test_models_are_opened_once_and_closed_together(model: WithFaults, second: Second) -> None:
    opened: list[str] = []

    def make(name: str) -> WithFaults:
        opened.append(name)
        if name == "none":
            raise SetupError("there is none")
        return second

    embedders = Embedders(lambda: model, make, lambda name: name or "first")
    serving = generation(SECOND, GenerationStatus.SERVING)

    assert await embedders.ready(serving) is second
    assert await embedders.ready(replace(serving, name="another of this model")) is second
    assert embedders.for_passages(serving) is second
    assert (await embedders.current(""))[0] is model
    assert (await embedders.current("first"))[0] is model
    with pytest.raises(SetupError):
        await embedders.current("none")
    assert opened == ["second", "none"]

    await embedders.close()
    with pytest.raises(RuntimeError):
        await second.embed(["after the end"])
    with pytest.raises(RuntimeError):
        await model.embed(["after the end"])


async def test_a_model_that_cuts_otherwise_now_is_asked_and_embeds_no_document(model: WithFaults) -> None:
    def another(name: str) -> WithFaults:
        raise SetupError(f"there is no model {name}")

    embedders = Embedders(lambda: model, another, lambda name: name or FIRST_NAME)
    before = replace(IDENTITY, splitter_version=IDENTITY.splitter_version - 1)
    otherwise = generation(before, GenerationStatus.SERVING)

    assert await embedders.for_questions(otherwise) is model
    assert await embedders.for_questions(otherwise) is model, "the model that is known by now"
    with pytest.raises(ModelChanged):
        await embedders.ready(otherwise)
    for change in ({"prompt_version": 9}, {"digest": "9" * 64}, {"dimensions": 9}):
        with pytest.raises(ModelChanged):
            await embedders.for_questions(generation(replace(before, **change), GenerationStatus.SERVING))
