"""The whole way of one memory: XADD or POST in, both indexes, recall out."""

from collections.abc import AsyncIterator

import orjson
import pytest
import pytest_asyncio

from openbrain.domain.access.visibility import Criteria, Viewer, visible
from openbrain.domain.events.envelope import FIELD
from openbrain.ports.store.tenants import Workspace
from tests.flow.conftest import Brain
from tests.support.waiting import until

pytestmark = pytest.mark.asyncio(loop_scope="module")
OFFER = {"specversion": "1.0", "source": "/shell", "type": "openbrain.memory.submitted.v1"}


@pytest_asyncio.fixture(loop_scope="module")
async def brain(tenant: Brain) -> AsyncIterator[Brain]:
    yield tenant


async def test_what_is_posted_is_found_by_words_and_by_meaning(brain: Brain) -> None:
    memory_id = await brain.remember("The cache key must hold the tenant, or answers leak.", project="shop")
    await brain.indexed(memory_id)

    assert await brain.recalled("tenant cache key") == [memory_id]
    assert await brain.recalled("why did a customer see somebody else's data?") == [memory_id]
    assert await brain.recalled("cache", project="shop") == [memory_id]
    assert await brain.recalled("cache", project="another") == []


async def test_one_xadd_is_enough_and_a_malformed_neighbour_hurts_nobody(brain: Brain) -> None:
    said = {"workspace_id": brain.workspace, "type": "bug"}
    good = [
        orjson.dumps({**OFFER, "id": f"b-{n}", "data": {**said, "content": text}})
        for n, text in enumerate(("Build 4711 failed for want of disk space.", "Build 4712 is green."))
    ]
    for body in (good[0], b'{"specversion": "1.0", "data": {"content": 7}}', good[1]):
        await brain.redis.xadd("memory.submitted", {FIELD: body})

    async def both_are_there() -> bool:
        return len(await brain.listed()) == 2

    await until(both_are_there)
    await brain.settled()
    dead = await brain.entries("memory.submitted.ingest.dead")

    assert len(await brain.recalled("build")) == 2
    assert len(dead) == 1
    assert b"id" in dead[0][b"message"]
    assert dead[0][FIELD.encode()] == b'{"specversion": "1.0", "data": {"content": 7}}'


async def test_a_submission_is_acknowledged_by_its_event_and_a_second_one_by_the_first_ones_memory(
    brain: Brain,
) -> None:
    await brain.submit("e-1", content="Deploys freeze on Fridays.")
    await brain.submit("e-2", content="Deploys freeze on Fridays.")
    await brain.submit("e-1", content="Deploys freeze on Fridays.")

    async def acknowledged() -> bool:
        return len(await brain.entries("memory.stored")) == 3

    await until(acknowledged)
    events = [orjson.loads(fields[FIELD.encode()]) for fields in await brain.entries("memory.stored")]

    assert sorted(event["causationid"] for event in events) == ["e-1", "e-1", "e-2"]
    assert sorted(event["data"]["change"] for event in events) == ["created", "duplicate", "duplicate"]
    assert len({event["data"]["memory_id"] for event in events}) == 1
    assert len(await brain.listed()) == 1


async def test_on_a_bound_stream_the_bodys_workspace_is_not_read(brain: Brain) -> None:
    now = brain.container.clock.now()
    await brain.container.store.workspaces.create_workspace(Workspace(id="bound", name="bound", created_at=now))
    body = {**OFFER, "id": "b-1", "data": {"workspace_id": brain.workspace, "content": "Whose is it?", "type": "fact"}}
    await brain.redis.xadd("memory.submitted.bound", {FIELD: orjson.dumps(body)})
    condition = visible(Viewer(workspace_id="bound", agent_id=""), Criteria(), brain.container.clock.now())

    async def stored() -> bool:
        return len(await brain.container.store.memories.listing(condition, 10)) == 1

    await until(stored)
    assert await brain.listed() == []


async def test_an_unknown_workspace_is_a_dead_letter(brain: Brain) -> None:
    await brain.submit(workspace_id="nobody", content="Where does it go?")

    async def dead() -> bool:
        return len(await brain.entries("memory.submitted.ingest.dead")) == 1

    await until(dead)
    [fields] = await brain.entries("memory.submitted.ingest.dead")

    assert b"workspace" in fields[b"message"]


async def test_a_memory_that_wants_no_vector_is_indexed_by_its_words_alone(brain: Brain) -> None:
    memory_id = await brain.remember("Only words lead here.", embed=False)
    await brain.indexed(memory_id)
    await brain.settled()

    assert await brain.recalled("words") == [memory_id]
    assert (await brain.container.store.memories.rows([memory_id]))[memory_id].vector_revision == 0


async def test_a_long_text_is_found_by_its_end(brain: Brain) -> None:
    filler = " ".join(f"On day {n} the harbour was quiet and {n * 7} boats lay still." for n in range(150))
    without = await brain.remember(filler)
    memory_id = await brain.remember(f"{filler} Only the penguin at the very end mattered.")
    await brain.indexed(without)
    await brain.indexed(memory_id)

    asked = {"query": "a penguin that mattered", "text_weight": 0}
    answer = await brain.post("/v1/brain/recall", asked)

    assert [memory["id"] for memory in answer["memories"]] == [memory_id, without]
    assert (await brain.container.store.memories.rows([memory_id]))[memory_id].passages_high > 5


async def test_waiting_answers_when_it_is_indexed(brain: Brain) -> None:
    answer = await brain.http.post(
        "/v1/brain/remember", json={"content": "Waited for.", "type": "fact"}, headers={"Prefer": "wait=30"}
    )

    assert answer.status_code == 201
    assert answer.json()["indexed"] is True
    assert await brain.recalled("waited") == [answer.json()["id"]]
