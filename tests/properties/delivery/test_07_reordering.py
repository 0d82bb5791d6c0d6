"""Property 7: in whatever order events arrive, the final state is that of the highest revision."""

import asyncio
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import httpx
import pytest

from openbrain.domain.access.visibility import Viewer
from openbrain.domain.events.streams import EMBEDDED, STORED, SUPERSEDED
from openbrain.ports.index import TextEntry, TextIndex, Tombstone
from openbrain.ports.store.writes import Origin
from openbrain_indexer.handlers.text import project_text
from tests.flow.conftest import Brain
from tests.properties.fleet import fleet
from tests.properties.world import (
    SERVERS,
    at,
    deliver,
    differences,
    ids_of,
    living,
    nothing_failed,
    published,
    services,
)
from tests.servers.plugin import Starter
from tests.servers.processes.process import Server
from tests.support.waiting import PATIENCE_S, until


@pytest.mark.parametrize("server", SERVERS)
async def test_events_in_any_order_end_in_the_newest_state(
    private_server: Starter, tmp_path: Path, server: str
) -> None:
    """The end of a memory arrives before its change and its creation, and old copies arrive after everything."""
    chance = random.Random(7)
    async with living(at(tmp_path, private_server(server).url)) as brain:
        readers = services(brain, "indexer-text", "indexer-vector", "embedder")
        for service in readers:
            await service.stop()
        made = [await brain.remember(f"Gate {number} is painted green.") for number in range(30)]
        for memory_id in made[:12]:
            answer = await brain.http.patch(f"/v1/brain/memories/{memory_id}", json={"content": f"Gate {memory_id}."})
            assert answer.status_code == 200
        for memory_id in made[8:20]:
            assert (await brain.http.delete(f"/v1/brain/memories/{memory_id}")).status_code == 200
        for memory_id in made[18:20]:
            assert (await brain.http.post(f"/v1/brain/memories/{memory_id}:restore")).status_code == 200
        for memory_id in made[20:24]:
            await brain.remember(f"Gate {memory_id} was replaced.", supersedes=memory_id)
        await _relayed(brain)

        streams = [STORED.name, SUPERSEDED.name]
        entries = await published(brain, streams)
        assert len(entries) == 30 + 12 + 12 + 2 + 8
        await brain.redis.delete(*streams)
        await deliver(brain, [*entries, *chance.sample(entries, 20)], chance)
        for service in readers:
            await service.start()
        await brain.settled()
        assert await differences(brain.container) == []

        late = await published(brain, [*streams, EMBEDDED.name])
        await deliver(brain, late, chance)
        await brain.settled()
        assert await differences(brain.container) == []
        await nothing_failed(brain)


async def _relayed(brain: Brain) -> None:
    async def empty() -> bool:
        return not await brain.container.store.outbox.take(1)

    await until(empty)


GC_DELETES_MS = 100
"""Elasticsearch remembers a delete for 60 s by default; less here, so that the test need not wait a minute."""


@pytest.mark.parametrize("server", SERVERS)
async def test_an_old_write_that_comes_after_a_delete_was_forgotten_changes_nothing(
    request: pytest.FixtureRequest, mariadb_url: str, elasticsearch_server: Server, tmp_path: Path, server: str
) -> None:
    """An indexer reads the row, stalls, and writes when the memory is long gone and Elasticsearch has forgotten the
    delete."""
    url = request.getfixturevalue(f"{server}_server").url
    async with fleet(url, mariadb_url, elasticsearch_server, tmp_path) as made:
        store, name = made.container.store, (await made.container.text_generation()).name
        async with httpx.AsyncClient(base_url=elasticsearch_server.url) as http:
            told = await http.put(f"/{name}/_settings", json={"index": {"gc_deletes": f"{GC_DELETES_MS}ms"}})
            assert told.status_code == 200, told.text
        async with made.services("housekeeper", "ingest"):
            await made.submit(0, 6, embed=False)
            await made.caught_up(["ingest"])
        ids = await ids_of(made.container)
        assert len(ids) == 6
        slow = Slow(made.container.text)
        serving = [await made.container.text_generation()]
        late = asyncio.create_task(project_text(ids, store=store, index=slow, generations=serving))
        await asyncio.wait_for(slow.holds.wait(), PATIENCE_S)

        viewer, origin = Viewer(workspace_id="default", agent_id=""), Origin(actor="test")
        for memory_id in ids[:4]:
            await store.writes.forget(memory_id, viewer, origin, "")
        async with made.services("housekeeper", "indexer-text"):
            await made.caught_up(["indexer-text"])
        await asyncio.sleep(10 * GC_DELETES_MS / 1000)
        before = await made.container.text.read(name, ids)
        assert [before[each].tombstone for each in ids] == [True] * 4 + [False] * 2

        slow.can_continue.set()
        assert await asyncio.wait_for(late, PATIENCE_S) == {}
        assert await made.container.text.read(name, ids) == before
        assert await differences(made.container) == []


class Slow:
    """A text index whose first write waits."""

    def __init__(self, index: TextIndex) -> None:
        self._index = index
        self.builder, self.at_once = index.builder, index.at_once
        self.holds, self.can_continue = asyncio.Event(), asyncio.Event()

    async def write(
        self, name: str, entries: Sequence[TextEntry | Tombstone], *, visible: bool = True
    ) -> Mapping[str, Exception]:
        self.holds.set()
        await self.can_continue.wait()
        return await self._index.write(name, entries, visible=visible)
