"""Vectors in an import: used only for their own memories, and only if they are from our model."""

from array import array
from collections.abc import Sequence
from typing import Any

import pytest

from openbrain.adapters.embedding.minilm import IDENTITY
from openbrain.domain.errors import TryLater
from openbrain.domain.ids import content_hash, given_input
from tests.support.api.brain import Brain, http, offer, unknown_id
from tests.support.api.transfer import HEADER, Line, admin, as_file, brain_database_url, memory_line, take_in
from tests.support.embedder.handler import WithFaults

__all__ = ["brain_database_url"]

TEXTS = ("The quay is closed at night.", "Cranes are greased on Mondays.", "Pilots board at the outer buoy.")
NAME = IDENTITY.name


async def vectors_of(brain: Brain, *texts: str) -> list["array[float]"]:
    """Vectors as another store has them: of the bare text, slightly different, not normalised."""
    return [array("f", [3 * number + 0.01 for number in vector]) for vector in await brain.embedder.embed(list(texts))]


def with_vector(text: str, vector: Sequence[float] | None, model: str = NAME) -> Line:
    more = {} if vector is None else {"vector": list(vector), "vector_model": model}
    return memory_line(text, id=unknown_id(), **more)


async def kept(brain: Brain, memory_id: str) -> "array[float]":
    """The vector in the database."""
    (vector,) = (await brain.store.vectors.passages([memory_id], IDENTITY.key))[memory_id].vectors
    return vector


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    both = sum(x * y for x, y in zip(one, other, strict=True))
    return float(both / (sum(x * x for x in one) * sum(y * y for y in other)) ** 0.5)


async def ids(client: Any) -> dict[str, str]:
    return {each["content"]: each["id"] for each in (await client.get("/v1/brain/list")).json()["memories"]}


async def test_vectors_of_the_same_model_are_kept_and_the_model_is_asked_for_the_others(brain: Brain) -> None:
    await brain.settle()  # creates the index
    given = await vectors_of(brain, *TEXTS)
    lines = [with_vector(text, vector) for text, vector in zip(TEXTS[:2], given, strict=False)]
    body = as_file([HEADER, *lines, with_vector(TEXTS[2], None)])
    brain.embedder = model = WithFaults()

    async with http(brain.app(), await admin(brain)) as client:
        dry = await take_in(client, body, dry_run=1)
        answer = await take_in(client, body)
        again = await take_in(client, body)
        model.asked.clear()
        await brain.settle()
        found = await ids(client)
        recalled = (await client.post("/v1/brain/recall", json={"query": "when is the quay closed"})).json()

    assert [(each["vectors"], each["vectors_left"]) for each in (dry, answer, again)] == [(2, 0), (2, 0), (0, 0)]
    for text, vector in zip(TEXTS[:2], given, strict=False):
        assert cosine(await kept(brain, found[text]), vector) == pytest.approx(1, abs=1e-5)
    # Token states are computed for every text, and replace no vector.
    inputs = await brain.store.vectors.inputs(list(found.values()), IDENTITY.key)
    assert inputs.keys() == set(found.values())
    states = await brain.store.vectors.states([item for some in inputs.values() for item in some], IDENTITY.key)
    assert states.keys() == {item for some in inputs.values() for item in some}
    assert recalled["memories"][0]["content"] == TEXTS[0]


async def test_nobody_else_is_answered_by_a_vector_that_was_given(brain: Brain) -> None:
    await brain.settle()
    (given,) = await vectors_of(brain, TEXTS[0])
    async with http(brain.app(), await admin(brain)) as client:
        assert (await take_in(client, as_file([HEADER, with_vector(TEXTS[0], given)])))["vectors"] == 1
        await brain.settle()
    async with http(brain.app(), await brain.key("w2", "eve")) as client:
        other = (await client.post("/v1/brain/remember", json=offer(TEXTS[0]))).json()["id"]
        await brain.settle()
    assert cosine(await kept(brain, other), given) < 0.9999


async def test_an_erased_memory_takes_its_vector_along(brain: Brain) -> None:
    await brain.settle()
    (given,) = await vectors_of(brain, TEXTS[0])
    async with http(brain.app(), await admin(brain)) as client:
        await take_in(client, as_file([HEADER, with_vector(TEXTS[0], given)]))
        await brain.settle()
        own = (await ids(client))[TEXTS[0]]
        name = given_input(own, content_hash(TEXTS[0]))
        assert await brain.store.vectors.known([name], IDENTITY.key) == {name}
        erased = await client.delete(f"/v1/brain/memories/{own}", params={"erase": 1})
    assert erased.status_code in {200, 202}, erased.text
    assert await brain.store.vectors.drop_embeddings([name]) == 1


LEFT: list[tuple[str, Any, str]] = [
    (NAME, lambda vector: vector[:-1], "383 numbers, and those of the index 384"),
    (NAME, lambda vector: vector[::-1], "another vector of the first of these texts"),
    (NAME, lambda vector: [0.0] * len(vector), "zero"),
    ("nomic-embed-text", lambda vector: vector, f"they are of nomic-embed-text, and the index has {NAME}"),
    ("", lambda vector: vector, "a model without a name"),
]


@pytest.mark.parametrize(("model", "changed", "why"), LEFT, ids=[each[2] for each in LEFT])
async def test_other_vectors_are_left_and_the_memories_embedded_here(
    brain: Brain, model: str, changed: Any, why: str
) -> None:
    await brain.settle()
    (given,) = await vectors_of(brain, TEXTS[0])
    async with http(brain.app(), await admin(brain)) as client:
        answer = await take_in(client, as_file([HEADER, with_vector(TEXTS[0], changed(given), model)]))
        await brain.settle()
        own = (await ids(client))[TEXTS[0]]
    assert (answer["created"], answer["vectors"], answer["vectors_left"]) == (1, 0, 1)
    assert why in answer["vectors_problem"]
    assert cosine(await kept(brain, own), given) > 0.5


async def test_a_text_of_several_passages_keeps_none(brain: Brain) -> None:
    await brain.settle()
    long = " ".join(f"Berth {number} is for ferries." for number in range(150))
    longer = " ".join(f"Berth {number} is for tugs." for number in range(500))
    given = await vectors_of(brain, *TEXTS)
    lines = [with_vector(text, vector) for text, vector in zip((TEXTS[0], long, longer), given, strict=True)]
    async with http(brain.app(), await admin(brain)) as client:
        answer = await take_in(client, as_file([HEADER, *lines]))
    assert (answer["created"], answer["vectors"], answer["vectors_left"]) == (3, 1, 2)
    assert "several passages" in answer["vectors_problem"]


async def test_only_an_admin_brings_vectors_along(brain: Brain) -> None:
    await brain.settle()
    (given,) = await vectors_of(brain, TEXTS[0])
    async with http(brain.app(), await brain.key("w1", "eve")) as client:
        answer = await take_in(client, as_file([HEADER, with_vector(TEXTS[0], given)]))
    assert (answer["created"], answer["vectors"], answer["vectors_left"]) == (1, 0, 1)
    assert "admin" in answer["vectors_problem"]


async def test_a_model_that_is_away_delays_no_import(brain: Brain) -> None:
    await brain.settle()
    given = (await vectors_of(brain, TEXTS[0]))[0]
    lines = [with_vector(f"{TEXTS[0]} Berth {number}.", given) for number in range(150)]
    model = WithFaults()
    model.fault = lambda _: TryLater("the model does not answer")
    async with http(brain.app(embedder=model), await admin(brain)) as client:
        answer = await take_in(client, as_file([HEADER, *lines]))
    assert (answer["created"], answer["vectors"], answer["vectors_left"]) == (150, 0, 150)
    assert "the model does not answer" in answer["vectors_problem"]
    assert len(model.asked) == 1


async def test_a_vector_with_too_many_numbers_is_one_clear_error(brain: Brain) -> None:
    async with http(brain.app(), await admin(brain)) as client:
        answer = await take_in(client, as_file([HEADER, with_vector(TEXTS[0], [0.1] * 4097)]))
    (refusal,) = answer["refusals"]
    assert refusal["field"] == "vector"
    assert "4096" in refusal["message"]
