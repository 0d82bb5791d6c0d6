"""Property 4: while the database is down, writes are refused and nothing is acknowledged; afterwards the backlog
drains."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from openbrain.domain.events.streams import SUBMITTED
from openbrain.settings import Truth
from tests.flow.conftest import Brain
from tests.properties.world import SERVERS, all_indexed, at, differences, living, nothing_failed, quick
from tests.servers.plugin import Starter
from tests.support.waiting import until

COUNT = 40
BATCH = 8


@pytest.mark.parametrize("server", SERVERS)
async def test_the_backlog_waits_unharmed_and_drains(private_server: Starter, tmp_path: Path, server: str) -> None:
    database = private_server("mariadb")
    streams = quick(private_server(server).url, batch=BATCH)
    async with living(at(tmp_path, "", streams=streams, truth=Truth(url=database.url))) as brain:
        await brain.indexed(await brain.remember("Before the storm."))
        database.kill()
        refused = await brain.http.post("/v1/brain/remember", json={"content": "In the storm.", "type": "fact"})
        assert refused.status_code == 503, refused.text
        assert int(refused.headers["Retry-After"]) >= 1
        for number in range(COUNT):
            await brain.submit(f"s-{number}", content=f"Submitted in the storm, {number}.")

        async def stopped_trying() -> bool:
            (group,) = await _groups(brain)
            return bool(group["pending"]) and "truth" in (await brain.http.get("/ready")).text

        await until(stopped_trying)
        for _ in range(5):
            await asyncio.sleep(0.3)
            (group,) = await _groups(brain)
            assert 0 < group["pending"] <= BATCH, "one batch is pending, the rest stays in the stream"
            assert group["pending"] + group["lag"] == COUNT, "nothing is acknowledged without effect"
        assert (await brain.http.get("/ready")).status_code == 503
        assert (await brain.http.get("/live")).status_code == 200

        database.start()
        await all_indexed(brain, COUNT + 1)
        assert await differences(brain.container) == []
        await nothing_failed(brain)
        await brain.indexed(await brain.remember("After the storm."))


async def _groups(brain: Brain) -> list[dict[str, Any]]:
    found: Any = await brain.redis.xinfo_groups(SUBMITTED.name)
    return list(found)
