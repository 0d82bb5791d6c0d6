"""Supersede, forget, expire, update: removed or changed in list, recall and both indexes; kept in the history."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from openbrain.domain.events.envelope import FIELD
from openbrain.domain.ids import point_id
from openbrain.domain.times import to_iso
from tests.flow.conftest import Brain
from tests.support.waiting import until

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module")
async def brain(tenant: Brain) -> AsyncIterator[Brain]:
    yield tenant


async def standing(brain: Brain, memory_id: str) -> tuple[bool, bool]:
    """Whether the text index and the vector index hold the memory (a tombstone does not count)."""
    text = await brain.container.text.read((await brain.container.text_generation()).name, [memory_id])
    ids = [point_id(memory_id, 0)]
    vectors = await brain.container.vectors.read((await brain.container.vector_generation()).name, ids)
    return tuple(bool(found) and not found[memory_id].tombstone for found in (text, vectors))  # type: ignore[return-value]


async def gone(brain: Brain, memory_id: str, query: str) -> None:
    """Check that it is gone from list and recall at once, and from both indexes soon; the history stays."""
    assert memory_id not in await brain.listed()
    assert memory_id not in await brain.recalled(query)
    await brain.settled()
    assert await standing(brain, memory_id) == (False, False)
    assert memory_id not in await brain.recalled(query)


async def replay(brain: Brain) -> None:
    """Publish all earlier events again, the newest first."""
    for stream in ("memory.superseded", "memory.embedded", "memory.stored"):
        for fields in reversed(await brain.entries(stream)):
            await brain.redis.xadd(stream, {FIELD: fields[FIELD.encode()]})
    await brain.settled()


async def test_a_forgotten_memory_is_gone_and_stays_gone_when_old_events_come_again(brain: Brain) -> None:
    memory_id = await brain.remember("The staging password rotates on Mondays.")
    await brain.indexed(memory_id)
    answer = await brain.http.request("DELETE", f"/v1/brain/forget/{memory_id}", json={"reason": "no longer true"})
    assert answer.status_code == 200, answer.text

    await gone(brain, memory_id, "staging password")
    await replay(brain)

    assert await standing(brain, memory_id) == (False, False)
    assert await brain.recalled("staging password") == []
    rows = await brain.container.store.memories.history(memory_id)
    assert [(line.action, line.reason) for line in rows] == [("created", ""), ("forgotten", "no longer true")]


async def test_what_supersedes_takes_the_place_of_what_it_supersedes(brain: Brain) -> None:
    old = await brain.remember("The service listens on port 8000.")
    await brain.indexed(old)
    new = await brain.remember("The service listens on port 9000.", supersedes=old)
    await brain.indexed(new)

    await gone(brain, old, "service port")
    await replay(brain)

    assert await brain.recalled("service port") == [new]
    assert await brain.listed() == [new]
    told = await brain.memory(new, history=1)
    assert told["supersedes_id"] == old
    assert told["supersedes_count"] == 1


async def test_a_due_memory_leaves_recall_at_once_and_the_indexes_soon(brain: Brain) -> None:
    memory_id = await brain.remember("The build queue is blocked for an hour.", expires_in=3600)
    await brain.indexed(memory_id)
    assert await brain.recalled("build queue") == [memory_id]

    async def ends_sooner() -> bool:
        soon = to_iso(brain.container.clock.now() + 500_000)
        answer = await brain.http.patch(f"/v1/brain/memories/{memory_id}", json={"expires_at": soon})
        return answer.status_code == 200  # on a stalled machine the requested time may have passed: ask again

    await until(ends_sooner)

    async def left_recall() -> bool:
        return await brain.recalled("build queue") == []

    await until(left_recall)

    async def left_the_indexes() -> bool:
        return await standing(brain, memory_id) == (False, False)

    await until(left_the_indexes)
    assert await brain.listed() == []
    assert [line.action for line in await brain.container.store.memories.history(memory_id)] == [
        "created",
        "updated",
        "expired",
    ]


async def test_an_update_changes_what_is_found(brain: Brain) -> None:
    memory_id = await brain.remember("The lighthouse keeper counts ships.", tags=["harbour"])
    await brain.indexed(memory_id)
    before = (await brain.container.store.memories.rows([memory_id]))[memory_id]

    async def patched(**change: object) -> None:
        answer = await brain.http.patch(f"/v1/brain/memories/{memory_id}", json=change)
        assert answer.status_code == 200, answer.text
        await brain.indexed(memory_id)

    await patched(content="The baker bakes bread at dawn.")
    assert await brain.recalled("bread dawn") == [memory_id]
    text_hits = await brain.post("/v1/brain/recall", {"query": "lighthouse", "text_weight": 1.0})
    assert text_hits["count"] == 0

    await patched(tags=["kitchen"])
    assert await brain.recalled("bread", tags=["harbour"]) == []
    assert await brain.recalled("bread", tags=["kitchen"]) == [memory_id]

    await replay(brain)
    after = (await brain.container.store.memories.rows([memory_id]))[memory_id]
    assert await brain.recalled("bread dawn", tags=["kitchen"]) == [memory_id]
    assert (after.version, after.revision > before.revision, after.indexed) == (3, True, True)
    history = await brain.container.store.memories.history(memory_id)
    assert [line.action for line in history] == ["created", "updated", "updated"]


async def test_a_text_that_became_short_loses_its_other_passages(brain: Brain) -> None:
    long = " ".join(f"On day {n} the harbour was quiet and {n * 7} boats lay still." for n in range(150))
    memory_id = await brain.remember(long)
    await brain.indexed(memory_id)
    high = (await brain.container.store.memories.rows([memory_id]))[memory_id].passages_high
    await brain.http.patch(f"/v1/brain/memories/{memory_id}", json={"content": "Short now."})
    await brain.indexed(memory_id)
    ids = [point_id(memory_id, number) for number in range(high)]
    found = await brain.container.vectors.read((await brain.container.vector_generation()).name, ids)

    assert high > 5
    assert [found[each].tombstone for each in ids] == [False] + [True] * (high - 1)
    assert (await brain.container.store.memories.rows([memory_id]))[memory_id].passages_high == high
