"""Property 6: every event is delivered two to five times, and the final state is the same.

Signals are not in this pipeline: the service that raises them has to ensure one signal per dedup key.
"""

import random
from pathlib import Path

import pytest

from openbrain.domain.events.envelope import FIELD, encode
from openbrain.domain.events.streams import EMBEDDED, STORED, SUBMITTED, SUPERSEDED
from openbrain.domain.events.submission import MemorySubmitted
from openbrain.domain.memory import MemoryType
from tests.properties.world import SERVERS, at, deliver, differences, everything, living, nothing_failed, published
from tests.servers.plugin import Starter

COUNT = 20


@pytest.mark.parametrize("server", SERVERS)
async def test_duplicates_change_nothing(private_server: Starter, tmp_path: Path, server: str) -> None:
    chance = random.Random(6)
    async with living(at(tmp_path, private_server(server).url)) as brain:
        submissions = [(SUBMITTED.name, {FIELD.encode(): _submission(number)}) for number in range(COUNT)]
        await deliver(brain, _repeated(submissions, chance), chance)
        await brain.settled()
        first = await everything(brain)
        assert len(first["rows"]) == COUNT
        for memory_id, *_ in first["rows"][:5]:
            changed = await brain.http.patch(f"/v1/brain/memories/{memory_id}", json={"content": f"now {memory_id}"})
            assert changed.status_code == 200
        for memory_id, *_ in first["rows"][3:9]:
            assert (await brain.http.delete(f"/v1/brain/memories/{memory_id}")).status_code == 200
        await brain.settled()
        once = await everything(brain)

        again = await published(brain, [SUBMITTED.name, STORED.name, EMBEDDED.name, SUPERSEDED.name])
        await deliver(brain, _repeated(again, chance), chance)
        await brain.settled()

        assert await everything(brain) == once
        assert await differences(brain.container) == []
        await nothing_failed(brain)


def _submission(number: int) -> bytes:
    offered = MemorySubmitted(type=MemoryType.FACT, workspace_id="default", content=f"Lamp {number} burns at night.")
    return encode(SUBMITTED.name, offered, event_id=f"lamp-{number}", at=0)


def _repeated(
    entries: list[tuple[str, dict[bytes, bytes]]], chance: random.Random
) -> list[tuple[str, dict[bytes, bytes]]]:
    return [entry for entry in entries for _ in range(chance.randint(2, 5))]
