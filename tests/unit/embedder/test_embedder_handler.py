"""The embedder's handler on a real SQLite file and the real embedded model, with faults injected from outside."""

from array import array
from collections.abc import Sequence
from typing import Any

import pytest
from structlog.testing import capture_logs

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.errors import NeverRetry, OpenBrainError, SetupError, TryLater
from openbrain.domain.ids import uuid7
from openbrain.domain.memory import MICROSECONDS, Change, Memory
from openbrain.ports.store.writes import Edit
from openbrain_embedder.handlers.embedding import embed_known, embed_stored
from tests.support.embedder.handler import Service, database, event, model, service, store
from tests.support.store.fixtures import START, clock, origin, rows, viewer

__all__ = ["clock", "database", "model", "service", "store"]


async def test_a_memory_gets_its_vector_and_it_is_announced(service: Service) -> None:
    memory = await service.add("We deploy on Thursdays.", speaker="Caroline")
    await service.announced()
    stored = event(memory, causationid="submission-7", traceparent="00-aa-bb-01")

    failures = await embed_stored([stored], store=service.store, embedder=service.model, clock=service.clock, batch=8)

    assert failures == {}
    assert len(await service.vectors(memory)) == 1
    assert service.model.asked == [["15 January 2027 Friday Caroline: We deploy on Thursdays."]], "day and speaker"
    (announced,) = await service.announced()
    assert announced["data"]["memory_id"] == memory.id
    assert announced["data"]["model"] == (await service.model.identity()).key
    assert (announced["causationid"], announced["traceparent"]) == ("submission-7", "00-aa-bb-01")


async def test_the_same_events_again_ask_no_model(service: Service) -> None:
    memory = await service.add("We deploy on Thursdays.")
    await service.embed(memory, memory)
    before = await service.vectors(memory)
    asked = len(service.model.asked)

    assert await service.embed(memory, memory, memory) == {}

    assert asked == 1, "several events of one memory are embedded once"
    assert len(service.model.asked) == asked
    assert await service.vectors(memory) == before


async def test_memories_that_read_the_same_are_embedded_once(service: Service) -> None:
    memories = [await service.add("We deploy on Thursdays.") for _ in range(5)]

    await service.embed(*memories)

    assert len(service.model.asked) == 1
    assert len(service.model.asked[0]) == 1
    assert len({(await service.vectors(each))[0].tobytes() for each in memories}) == 1


async def test_what_needs_no_vector_is_passed_by(service: Service, store: SqlStore) -> None:
    forgotten = await service.add("forgotten")
    await store.writes.forget(forgotten.id, viewer(), origin(), "")
    plain = await service.add("text only", wants_vector=False)
    duplicate = await service.add("duplicate")
    unknown = Memory(id=uuid7(START), workspace_id="w1", content="", type=forgotten.type)

    with capture_logs() as logs:
        assert await service.embed(forgotten, plain, unknown) == {}
        assert await service.embed(duplicate, change=Change.DUPLICATE) == {}

    assert service.model.asked == []
    assert [(entry["event"], entry["count"]) for entry in logs] == [("embedder.unknown_memories", 1)]


async def test_the_row_as_it_stands_is_embedded_and_an_old_event_changes_nothing(
    service: Service, store: SqlStore
) -> None:
    old = await service.add("We deploy on Thursdays.")
    new = await store.writes.update(
        Edit(memory_id=old.id, viewer=viewer(), origin=origin(), content="We deploy on Mondays.")
    )

    await service.embed(old)
    first = await service.vectors(new)
    await service.embed(new)
    await service.embed(old)

    assert [text for asked in service.model.asked for text in asked] == ["15 January 2027 Friday We deploy on Mondays."]
    assert await service.vectors(new) == first


async def test_new_metadata_is_announced_again_without_asking_the_model(service: Service, store: SqlStore) -> None:
    memory = await service.add("We deploy on Thursdays.")
    await service.embed(memory)
    await service.announced()
    new = await store.writes.update(Edit(memory_id=memory.id, viewer=viewer(), origin=origin(), tags=("deploy",)))

    await service.embed(new, change=Change.METADATA)

    assert len(service.model.asked) == 1
    assert [each["data"]["revision"] for each in await service.announced()] == [new.revision]


async def test_a_row_that_moves_on_during_embedding_is_left_to_its_own_event(service: Service, store: SqlStore) -> None:
    memory = await service.add("We deploy on Thursdays.")
    embed = service.model.embed

    async def change_meanwhile(inputs: Sequence[str]) -> Sequence["array[float]"]:
        await store.writes.update(
            Edit(memory_id=memory.id, viewer=viewer(), origin=origin(), content="We deploy on Mondays.")
        )
        return await embed(inputs)

    service.model.embed = change_meanwhile  # type: ignore[method-assign]
    assert await service.embed(memory) == {}
    service.model.embed = embed  # type: ignore[method-assign]
    assert await service.vectors(memory) == ()

    await service.embed(memory)
    assert len(await service.vectors(memory)) == 1


async def test_a_long_memory_has_all_its_passages_and_fewer_after_it_shrinks(service: Service, store: SqlStore) -> None:
    text = " ".join(f"Sentence {number} says something of its own." for number in range(160))
    memory = await service.add(text)

    await service.embed(memory, batch=4)
    many = await service.vectors(memory)
    new = await store.writes.update(Edit(memory_id=memory.id, viewer=viewer(), origin=origin(), content="short now"))
    await service.embed(new)

    assert len(many) == len(service.model.passages(text, "2027-01-15"))
    assert len(many) > 5
    assert max(map(len, service.model.asked)) == 4, "no more inputs than a batch at once"
    assert len(await service.vectors(new)) == 1


async def test_known_inputs_pass_while_the_model_is_down(service: Service) -> None:
    known = await service.add("We deploy on Thursdays.")
    await service.embed(known)
    twin = await service.add("We deploy on Thursdays.")
    other = await service.add("Something new.")
    await service.announced()
    service.model.fault = lambda _: TryLater("the model is down")

    failures = await service.embed(twin, other)

    assert set(failures) == {other.id}
    assert isinstance(failures[other.id], TryLater)
    assert [each["data"]["memory_id"] for each in await service.announced()] == [twin.id]


async def test_without_the_model_what_is_known_is_saved_and_the_model_is_not_even_looked_for(service: Service) -> None:
    known = await service.add("We deploy on Thursdays.")
    await service.embed(known)
    twin, other = await service.add("We deploy on Thursdays."), await service.add("Something new.")
    unwanted = await service.add("text only", wants_vector=False)
    await service.announced()
    key, asked = (await service.model.identity()).key, len(service.model.asked)
    service.model.missing = TryLater("away")
    events = [event(each) for each in (twin, other, unwanted)]
    ports: dict[str, Any] = {"store": service.store, "embedder": service.model}

    failures = await embed_known(events, **ports, model=key)
    of_another_model = await embed_known(events, **ports, model="another")

    assert set(failures) == {other.id}
    assert set(of_another_model) == {twin.id, other.id}, "vectors of one model do not count for another"
    assert isinstance(failures[other.id], TryLater)
    assert [each["data"]["memory_id"] for each in await service.announced()] == [twin.id]
    assert len(service.model.asked) == asked


async def test_what_was_done_before_the_model_went_away_stays_done(service: Service, database: Database) -> None:
    memories = [await service.add(f"memory number {number}") for number in range(6)]
    service.model.fault = lambda _: TryLater("down") if len(service.model.asked) == 3 else None

    failures = await service.embed(*memories, batch=2)

    assert len(failures) == 2
    assert [len(await service.vectors(each)) for each in memories] == [
        0 if each.id in failures else 1 for each in memories
    ]
    assert await rows(database, "SELECT COUNT(*) AS count FROM embeddings") == [{"count": 4}]


@pytest.mark.parametrize("error", [NeverRetry("not this one"), OpenBrainError("failed"), ValueError("bug")])
async def test_a_text_that_the_model_refuses_does_not_fail_its_neighbours(service: Service, error: Exception) -> None:
    memories = [await service.add(f"memory number {number}") for number in range(9)]
    bad = memories[4]
    service.model.fault = lambda inputs: error if any("number 4" in text for text in inputs) else None

    assert await service.embed(*memories) == {bad.id: error}

    assert [len(await service.vectors(each)) for each in memories] == [0 if each is bad else 1 for each in memories]
    assert len(service.model.asked) <= 9, "found by halving"


async def test_a_long_memory_with_one_refused_passage_has_no_vectors_yet(service: Service) -> None:
    error = NeverRetry("not this one")
    memory = await service.add(" ".join(f"Sentence {number} is here." for number in range(180)))
    service.model.fault = lambda inputs: error if any("Sentence 150 " in text for text in inputs) else None

    assert await service.embed(memory) == {memory.id: error}
    assert await service.vectors(memory) == ()

    service.model.fault = lambda _: None
    service.model.asked.clear()
    assert await service.embed(memory) == {}
    assert all("Sentence 150 " in text for text in service.model.asked[0]), "the other passages were kept"


async def test_a_refusal_stays_a_refusal_when_the_model_then_goes_away(service: Service) -> None:
    refusal = NeverRetry("not this one")
    memories = [await service.add(f"memory number {number}") for number in range(2)]
    service.model.fault = lambda inputs: refusal if "number 0" in inputs[0] else TryLater("down")

    failures = await service.embed(*memories, batch=1)

    assert failures[memories[0].id] is refusal
    assert isinstance(failures[memories[1].id], TryLater)


@pytest.mark.parametrize("missing", [TryLater("down"), SetupError("run `ollama pull x`")])
async def test_a_model_that_can_not_be_asked_for_is_waited_for(service: Service, missing: Exception) -> None:
    memory = await service.add("We deploy on Thursdays.")
    service.model.missing = missing

    with pytest.raises(TryLater, match=str(missing)):
        await service.embed(memory)

    service.model.missing = None
    assert await service.embed(memory) == {}


@pytest.mark.parametrize(("took", "saved"), [(0.0, [0, 0, 0]), (0.3, [0, 2, 4])])
async def test_a_quick_model_s_slices_are_saved_together_and_a_slow_one_s_each(
    service: Service, database: Database, took: float, saved: list[int]
) -> None:
    memories = [await service.add(f"memory number {number}") for number in range(6)]
    embed, found = service.model.embed, []

    async def look_first(inputs: Sequence[str]) -> Sequence["array[float]"]:
        (count,) = await rows(database, "SELECT COUNT(*) AS count FROM embeddings")
        found.append(count["count"])
        service.clock.advance(int(took * MICROSECONDS))
        return await embed(inputs)

    service.model.embed = look_first  # type: ignore[method-assign]
    assert await service.embed(*memories, batch=2) == {}
    assert found == saved
    assert all([await service.vectors(each) for each in memories])
