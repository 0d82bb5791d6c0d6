"""Property 1: what was committed reaches both indexes, whoever dies between the commit, the XADD and the delete."""

from pathlib import Path

import pytest

from openbrain.domain.events.streams import STORED
from tests.properties.doomed import Blow, dies, process
from tests.properties.fleet import fleet
from tests.properties.world import SERVERS, differences
from tests.servers.processes.process import Server

COUNT = 40
REST = ("ingest", "embedder", "indexer-text", "indexer-vector")
POINTS = {
    "taken and not published": Blow("store.outbox", "take", after=True),
    "published and not deleted": Blow("store.outbox", "delete"),
}


@pytest.mark.parametrize("server", SERVERS)
async def test_every_committed_row_reaches_both_indexes(
    request: pytest.FixtureRequest, mariadb_url: str, elasticsearch_server: Server, tmp_path: Path, server: str
) -> None:
    url = request.getfixturevalue(f"{server}_server").url
    async with fleet(url, mariadb_url, elasticsearch_server, tmp_path) as made:
        await made.submit(0, COUNT)
        with process(made.settings, "ingest", Blow("store.writes", "remember", after=True)) as ingest:
            await dies(ingest)
        waiting = await made.container.store.outbox.take(1000)
        assert waiting, "committed together with its announcement"
        assert not await made.redis.exists(made.name(STORED.name)), "and not published yet"
        for blow in POINTS.values():
            with process(made.settings, "housekeeper", blow) as relay:
                await dies(relay)
        async with made.services("housekeeper", *REST):
            await made.indexed(COUNT)

        assert await made.acknowledged() == {f"s-{number}" for number in range(COUNT)}
        assert await made.redis.xlen(made.name(STORED.name)) > COUNT, "published twice if a relay died in between"
        assert await differences(made.container) == []
        await made.once_each()
