"""Property 2: each consumer is killed in the middle of a batch: before its effect, after it, and before the XACK.

Its entries come again when its lease ends, without counting as a failed attempt (the pause after one is ten minutes
here), and an effect that is repeated changes nothing.
"""

from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.properties.doomed import ACK, Blow, dies, process
from tests.properties.fleet import fleet
from tests.properties.world import SERVERS, differences
from tests.servers.processes.process import Server

EFFECTS = {
    "ingest": ("store.writes", "remember"),
    "embedder": ("store.vectors", "save"),
    "indexer-text": ("text", "write"),
    "indexer-vector": ("vectors", "write"),
}
POINTS = ("before its effect", "after its effect", "before the XACK")
STAGES = (("ingest",), ("embedder", "indexer-text"), ("indexer-vector",))
"""Which services are killed in one stage; each stage gets its events from the stages before."""
COUNT = 12


def blow(service: str, point: str) -> Blow:
    part, method = EFFECTS[service]
    return Blow(ACK) if point == POINTS[2] else Blow(part, method, after=point == POINTS[1])


@pytest.mark.slow("a kill at every point of every service, and each lease must run out")
@pytest.mark.parametrize("server", SERVERS)
async def test_what_a_killed_consumer_held_is_done_once_its_lease_ends(
    request: pytest.FixtureRequest, mariadb_url: str, elasticsearch_server: Server, tmp_path: Path, server: str
) -> None:
    url = request.getfixturevalue(f"{server}_server").url
    async with fleet(url, mariadb_url, elasticsearch_server, tmp_path) as made, made.services("housekeeper"):
        for number, point in enumerate(POINTS):
            await made.submit(number * COUNT, COUNT)
            for stage in STAGES:
                with ExitStack() as children:
                    victims = [
                        children.enter_context(process(made.settings, service, blow(service, point)))
                        for service in stage
                    ]
                    for victim in victims:
                        await dies(victim)
                async with made.services(*stage):
                    await made.caught_up(stage)
            await made.indexed((number + 1) * COUNT)

        assert await differences(made.container) == []
        await made.once_each()
