"""The real KEDA reads a real Redis and decides; replicas are processes; a burst scales services up and down."""

import asyncio
import contextlib
import os
import time
from pathlib import Path

import pytest
import redis

from tests.cluster.scaling.burst import Seen, submit, waiting
from tests.cluster.scaling.conftest import SCALED, Scene
from tests.faults.running.world import connection
from tests.faults.verifying.streams_reading import dead_letters
from tests.support.forms import long_form

pytestmark = [
    pytest.mark.servers("kubernetes", "keda", "crds", "redis", "mariadb", "elasticsearch"),
    pytest.mark.timeout(7200 if long_form() else 1800),
]
COUNT = 200_000 if long_form() else 4_000
PATIENCE_S = 6000 if long_form() else 900
SEEN = "OPENBRAIN_TEST_SEEN"
"""A file for the observations, to draw them: `python -m tests.cluster.scaling.drawing`."""


@pytest.mark.slow("a burst is worked off by processes that KEDA asks for")
async def test_a_burst_scales_services_up_and_down_to_their_least(scene: Scene) -> None:
    seen = Seen(SCALED)
    with contextlib.closing(redis.Redis.from_url(scene.servers.streams["redis"].url, protocol=2)) as link:
        began = time.monotonic()
        await asyncio.to_thread(submit, link, COUNT)
        while True:
            waits = await asyncio.to_thread(waiting, link)
            seen.note(time.monotonic() - began, scene.kubelet.running, waits)
            least = all(count == 1 for count in scene.kubelet.running.values())
            if not any(waits.values()) and least and seen.most("ingest") > 1 and stored(scene) == COUNT:
                break
            assert time.monotonic() - began < PATIENCE_S, (waits, scene.kubelet.running)
            await asyncio.sleep(1)
        letters = dead_letters(link, "")
    if os.environ.get(SEEN):
        Path(os.environ[SEEN]).write_text(seen.json(), encoding="utf-8")
    print({service: seen.most(service) for service in SCALED}, f"{seen.seconds[-1]:.0f} s")  # noqa: T201

    # The other services receive no more than the embedder passes on.
    assert {service for service in SCALED if seen.most(service) > 1} >= {"ingest", "embedder", "indexer-text"}
    assert scene.kubelet.killed == []
    assert scene.fleet.unexpected == []
    assert letters == []
    assert counted(scene, "SELECT COUNT(DISTINCT content), COUNT(*) FROM memories") == (COUNT, COUNT)
    # Both indexes hold each memory once, and the model received each once.
    behind = "SELECT COUNT(*) FROM memories WHERE text_revision < revision OR vector_revision < revision"
    assert counted(scene, behind) == (0,)
    assert [text for text, times in scene.servers.double.served.items() if times > 1 and text != "a"] == []


def stored(scene: Scene) -> int:
    return int(counted(scene, "SELECT COUNT(*) FROM memories WHERE vector_revision = revision")[0])


def counted(scene: Scene, statement: str) -> tuple[int, ...]:
    with contextlib.closing(connection(scene.servers.mariadb.url)) as link, link.cursor() as cursor:
        cursor.execute(statement)
        return tuple(int(each) for each in cursor.fetchone())
