"""The embedder's handler on a real SQLite file and the real embedded model; faults come from outside of both."""

from array import array
from collections.abc import Sequence
from typing import Any

import pytest
from structlog.testing import capture_logs

from openbrain.adapters.sql.engine.database import Database
from openbrain.adapters.sql.store import SqlTruth
from openbrain.domain.errors import NeverRetry, OpenBrainError, SetupError, TryLater
from openbrain.domain.ids import uuid7
from openbrain.domain.memory import MICROSECONDS, Change, Memory
from openbrain.ports.store import Edit
from openbrain_embedder.handlers import embed_known, embed_stored
from tests.support.embedder.handler import Room, database, event, model, room, truth
from tests.support.store.fixtures import START, clock, origin, rows, viewer

__all__ = ["clock", "database", "model", "room", "truth"]


async def test_a_memory_gets_its_vector_and_it_is_announced(room: Room) -> None:
    memory = await room.store("We deploy on Thursdays.", speaker="Caroline")
    await room.announced()
    stored = event(memory, causationid="submission-7", traceparent="00-aa-bb-01")

    failures = await embed_stored([stored], truth=room.truth, embedder=room.model, clock=room.clock, batch=8)

    assert failures == {}
    assert len(await room.vectors(memory)) == 1
    assert room.model.asked == [["2027-01-15 Caroline: We deploy on Thursdays."]], "date and speaker come first"
    (announced,) = await room.announced()
    assert announced["data"]["memory_id"] == memory.id
    assert announced["data"]["model"] == (await room.model.identity()).key
    assert (announced["causationid"], announced["traceparent"]) == ("submission-7", "00-aa-bb-01")


async def test_the_same_events_again_ask_no_model(room: Room) -> None:
    memory = await room.store("We deploy on Thursdays.")
    await room.embed(memory, memory)
    before = await room.vectors(memory)
    asked = len(room.model.asked)

    assert await room.embed(memory, memory, memory) == {}

    assert asked == 1, "several events of one memory are one"
    assert len(room.model.asked) == asked
    assert await room.vectors(memory) == before


async def test_memories_that_read_the_same_are_embedded_once(room: Room) -> None:
    memories = [await room.store("We deploy on Thursdays.") for _ in range(5)]

    await room.embed(*memories)

    assert len(room.model.asked) == 1
    assert len(room.model.asked[0]) == 1
    assert len({(await room.vectors(each))[0].tobytes() for each in memories}) == 1


async def test_what_needs_no_vector_is_passed_by(room: Room, truth: SqlTruth) -> None:
    forgotten = await room.store("forgotten")
    await truth.forget(forgotten.id, viewer(), origin(), "")
    plain = await room.store("text only", wants_vector=False)
    duplicate = await room.store("duplicate")
    unknown = Memory(id=uuid7(START), workspace_id="w1", content="", type=forgotten.type)

    with capture_logs() as logs:
        assert await room.embed(forgotten, plain, unknown) == {}
        assert await room.embed(duplicate, change=Change.DUPLICATE) == {}

    assert room.model.asked == []
    assert [(entry["event"], entry["count"]) for entry in logs] == [("embedder.unknown_memories", 1)]


async def test_the_row_as_it_stands_is_embedded_and_an_old_event_changes_nothing(room: Room, truth: SqlTruth) -> None:
    old = await room.store("We deploy on Thursdays.")
    new = await truth.update(Edit(memory_id=old.id, viewer=viewer(), origin=origin(), content="We deploy on Mondays."))

    await room.embed(old)
    first = await room.vectors(new)
    await room.embed(new)
    await room.embed(old)

    assert [text for asked in room.model.asked for text in asked] == ["2027-01-15 We deploy on Mondays."]
    assert await room.vectors(new) == first


async def test_new_metadata_is_announced_again_without_asking_the_model(room: Room, truth: SqlTruth) -> None:
    memory = await room.store("We deploy on Thursdays.")
    await room.embed(memory)
    await room.announced()
    new = await truth.update(Edit(memory_id=memory.id, viewer=viewer(), origin=origin(), tags=("deploy",)))

    await room.embed(new, change=Change.METADATA)

    assert len(room.model.asked) == 1
    assert [each["data"]["revision"] for each in await room.announced()] == [new.revision]


async def test_a_row_that_moves_on_during_embedding_is_left_to_its_own_event(room: Room, truth: SqlTruth) -> None:
    memory = await room.store("We deploy on Thursdays.")
    embed = room.model.embed

    async def change_meanwhile(inputs: Sequence[str]) -> Sequence["array[float]"]:
        await truth.update(Edit(memory_id=memory.id, viewer=viewer(), origin=origin(), content="We deploy on Mondays."))
        return await embed(inputs)

    room.model.embed = change_meanwhile  # type: ignore[method-assign]
    assert await room.embed(memory) == {}
    room.model.embed = embed  # type: ignore[method-assign]
    assert await room.vectors(memory) == ()

    await room.embed(memory)
    assert len(await room.vectors(memory)) == 1


async def test_a_long_memory_has_all_its_passages_and_fewer_after_it_shrinks(room: Room, truth: SqlTruth) -> None:
    text = " ".join(f"Sentence {number} says something of its own." for number in range(160))
    memory = await room.store(text)

    await room.embed(memory, batch=4)
    many = await room.vectors(memory)
    new = await truth.update(Edit(memory_id=memory.id, viewer=viewer(), origin=origin(), content="short now"))
    await room.embed(new)

    assert len(many) == len(room.model.passages(text, "2027-01-15"))
    assert len(many) > 5
    assert max(map(len, room.model.asked)) == 4, "no more inputs than a batch at once"
    assert len(await room.vectors(new)) == 1


async def test_known_inputs_pass_while_the_model_is_down(room: Room) -> None:
    known = await room.store("We deploy on Thursdays.")
    await room.embed(known)
    twin = await room.store("We deploy on Thursdays.")
    other = await room.store("Something new.")
    await room.announced()
    room.model.fault = lambda _: TryLater("the model is down")

    failures = await room.embed(twin, other)

    assert set(failures) == {other.id}
    assert isinstance(failures[other.id], TryLater)
    assert [each["data"]["memory_id"] for each in await room.announced()] == [twin.id]


async def test_without_the_model_what_is_known_is_saved_and_the_model_is_not_even_looked_for(room: Room) -> None:
    known = await room.store("We deploy on Thursdays.")
    await room.embed(known)
    twin, other = await room.store("We deploy on Thursdays."), await room.store("Something new.")
    unwanted = await room.store("text only", wants_vector=False)
    await room.announced()
    key, asked = (await room.model.identity()).key, len(room.model.asked)
    room.model.missing = TryLater("away")
    events = [event(each) for each in (twin, other, unwanted)]
    ports: dict[str, Any] = {"truth": room.truth, "embedder": room.model}

    failures = await embed_known(events, **ports, model=key)
    of_another_model = await embed_known(events, **ports, model="another")

    assert set(failures) == {other.id}
    assert set(of_another_model) == {twin.id, other.id}, "vectors of one model are none of another"
    assert isinstance(failures[other.id], TryLater)
    assert [each["data"]["memory_id"] for each in await room.announced()] == [twin.id]
    assert len(room.model.asked) == asked


async def test_what_was_done_before_the_model_went_away_stays_done(room: Room, database: Database) -> None:
    memories = [await room.store(f"memory number {number}") for number in range(6)]
    room.model.fault = lambda _: TryLater("down") if len(room.model.asked) == 3 else None

    failures = await room.embed(*memories, batch=2)

    assert len(failures) == 2
    assert [len(await room.vectors(each)) for each in memories] == [
        0 if each.id in failures else 1 for each in memories
    ]
    assert await rows(database, "SELECT COUNT(*) AS count FROM embeddings") == [{"count": 4}]


@pytest.mark.parametrize("error", [NeverRetry("not this one"), OpenBrainError("failed"), ValueError("bug")])
async def test_a_text_that_the_model_refuses_does_not_fail_its_neighbours(room: Room, error: Exception) -> None:
    memories = [await room.store(f"memory number {number}") for number in range(9)]
    bad = memories[4]
    room.model.fault = lambda inputs: error if any("number 4" in text for text in inputs) else None

    assert await room.embed(*memories) == {bad.id: error}

    assert [len(await room.vectors(each)) for each in memories] == [0 if each is bad else 1 for each in memories]
    assert len(room.model.asked) <= 9, "found by halving"


async def test_a_long_memory_with_one_refused_passage_has_no_vectors_yet(room: Room) -> None:
    error = NeverRetry("not this one")
    memory = await room.store(" ".join(f"Sentence {number} is here." for number in range(180)))
    room.model.fault = lambda inputs: error if any("Sentence 150 " in text for text in inputs) else None

    assert await room.embed(memory) == {memory.id: error}
    assert await room.vectors(memory) == ()

    room.model.fault = lambda _: None
    room.model.asked.clear()
    assert await room.embed(memory) == {}
    assert all("Sentence 150 " in text for text in room.model.asked[0]), "the other passages were kept"


async def test_a_refusal_stays_a_refusal_when_the_model_then_goes_away(room: Room) -> None:
    refusal = NeverRetry("not this one")
    memories = [await room.store(f"memory number {number}") for number in range(2)]
    room.model.fault = lambda inputs: refusal if "number 0" in inputs[0] else TryLater("down")

    failures = await room.embed(*memories, batch=1)

    assert failures[memories[0].id] is refusal
    assert isinstance(failures[memories[1].id], TryLater)


@pytest.mark.parametrize("missing", [TryLater("down"), SetupError("run `ollama pull x`")])
async def test_a_model_that_can_not_be_asked_for_is_waited_for(room: Room, missing: Exception) -> None:
    memory = await room.store("We deploy on Thursdays.")
    room.model.missing = missing

    with pytest.raises(TryLater, match=str(missing)):
        await room.embed(memory)

    room.model.missing = None
    assert await room.embed(memory) == {}


@pytest.mark.parametrize(("took", "saved"), [(0.0, [0, 0, 0]), (0.3, [0, 2, 4])])
async def test_a_quick_model_s_slices_are_saved_together_and_a_slow_one_s_each(
    room: Room, database: Database, took: float, saved: list[int]
) -> None:
    memories = [await room.store(f"memory number {number}") for number in range(6)]
    embed, found = room.model.embed, []

    async def look_first(inputs: Sequence[str]) -> Sequence["array[float]"]:
        (count,) = await rows(database, "SELECT COUNT(*) AS count FROM embeddings")
        found.append(count["count"])
        room.clock.advance(int(took * MICROSECONDS))
        return await embed(inputs)

    room.model.embed = look_first  # type: ignore[method-assign]
    assert await room.embed(*memories, batch=2) == {}
    assert found == saved
    assert all([await room.vectors(each) for each in memories])
