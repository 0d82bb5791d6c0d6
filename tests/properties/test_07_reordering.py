"""Property 7: whatever the order in which events come, the final state is that of the highest revision."""

import random
from pathlib import Path

import pytest

from openbrain.streams.table import EMBEDDED, STORED, SUPERSEDED
from tests.flow.conftest import Brain
from tests.properties.world import SERVERS, at, deliver, differences, living, nothing_failed, published, rooms
from tests.servers.plugin import Starter
from tests.waiting import until


@pytest.mark.parametrize("server", SERVERS)
async def test_events_in_any_order_end_in_the_newest_state(
    private_server: Starter, tmp_path: Path, server: str
) -> None:
    """The end of a memory before its change before its making, old copies of everything after."""
    chance = random.Random(7)
    async with living(at(tmp_path, private_server(server).url)) as brain:
        readers = rooms(brain, "indexer-text", "indexer-vector", "embedder")
        for room in readers:
            await room.stop()
        made = [await brain.remember(f"Gate {number} is painted green.") for number in range(30)]
        for memory_id in made[:12]:
            answer = await brain.http.patch(f"/v1/brain/memories/{memory_id}", json={"content": f"Gate {memory_id}."})
            assert answer.status_code == 200
        for memory_id in made[8:20]:
            assert (await brain.http.delete(f"/v1/brain/memories/{memory_id}")).status_code == 200
        for memory_id in made[18:20]:
            assert (await brain.http.post(f"/v1/brain/memories/{memory_id}:restore")).status_code == 200
        for memory_id in made[20:24]:
            await brain.remember(f"Gate {memory_id} was replaced.", supersedes_id=memory_id)
        await _relayed(brain)

        streams = [STORED.name, SUPERSEDED.name]
        entries = await published(brain, streams)
        assert len(entries) == 30 + 12 + 12 + 2 + 8
        await brain.redis.delete(*streams)
        await deliver(brain, [*entries, *chance.sample(entries, 20)], chance)
        for room in readers:
            await room.start()
        await brain.settled()
        assert await differences(brain.parts) == []

        late = await published(brain, [*streams, EMBEDDED.name])
        await deliver(brain, late, chance)
        await brain.settled()
        assert await differences(brain.parts) == []
        await nothing_failed(brain)


async def _relayed(brain: Brain) -> None:
    async def empty() -> bool:
        return not await brain.parts.truth.take(1)

    await until(empty)
