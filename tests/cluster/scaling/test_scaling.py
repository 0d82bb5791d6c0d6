"""The real KEDA reads a real Redis and decides; replicas are processes; a burst scales services up and down."""

import asyncio
import contextlib
import os
import shutil
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import redis

from tests.cluster.conftest import Cluster
from tests.cluster.scaling import overlay
from tests.cluster.scaling.burst import Seen, submit, waiting
from tests.cluster.scaling.kubelet import Kubelet
from tests.deploy.manifests import copied
from tests.faults.planning.plan import SETTINGS
from tests.faults.processes.fleet import Fleet
from tests.faults.running.world import World, connection, world
from tests.faults.verifying.streams_reading import dead_letters
from tests.servers.plugin import need
from tests.servers.processes.process import Server
from tests.support.forms import long_form
from tests.support.processes.forked import run

pytestmark = [
    pytest.mark.servers("kubernetes", "keda", "crds", "redis", "mariadb", "elasticsearch"),
    pytest.mark.timeout(7200 if long_form() else 1800),
]
SCALED = ("ingest", "embedder", "indexer-text", "indexer-vector", "matcher")
COUNT, MOST = (200_000, 3) if long_form() else (4_000, 3)
PATIENCE_S = 6000 if long_form() else 900
SEEN = "OPENBRAIN_TEST_SEEN"
"""A file for what was seen, to draw it."""


@pytest.fixture(scope="module")
def servers(elasticsearch_server: Server) -> Iterator[World]:
    for name in ("redis", "mariadb", "keda"):
        need(name)
    with world(elasticsearch_url=elasticsearch_server.url, stream_servers=("redis",), small_disk=False) as made:
        yield made


@dataclass(frozen=True, slots=True)
class Scene:
    """A cluster whose pods are processes."""

    servers: World
    kubelet: Kubelet
    fleet: Fleet
    index: str


@pytest.fixture
async def scene(cluster: Cluster, servers: World, tmp_path: Path) -> AsyncIterator[Scene]:
    index = f"scaling-{uuid.uuid4().hex[:8]}"
    streams = servers.streams["redis"]
    servers.reset_streams("redis").close()
    await servers.reset_truth()
    environment = {
        **SETTINGS,
        "OPENBRAIN_STREAMS__LEASE_S": "10",
        "OPENBRAIN_STREAMS__BATCH": "64",
        "OPENBRAIN_STREAMS__URL": streams.url,
        "OPENBRAIN_TRUTH__URL": servers.mariadb.url,
        "OPENBRAIN_TEXT__URL": servers.elasticsearch_url,
        "OPENBRAIN_TEXT__INDEX": index,
        "OPENBRAIN_TEXT__TUNING__TIMEOUT_S": "20",
        "OPENBRAIN_VECTORS__URL": f"elasticsearch+{servers.elasticsearch_url}",
        "OPENBRAIN_VECTORS__COLLECTION": index,
        "OPENBRAIN_VECTORS__TUNING__TIMEOUT_S": "20",
        "OPENBRAIN_EMBEDDING__URL": f"http://127.0.0.1:{servers.double.port}",
        "OPENBRAIN_EMBEDDING__MODEL": "double",
        "OPENBRAIN_EMBEDDING__TIMEOUT_S": "30",
        "OPENBRAIN_DATA_DIR": str(tmp_path),
    }
    fleet = Fleet(servers.zygote, environment, tmp_path)
    # As the job does, before the scaler looks.
    prepare = ("streams", "groups", "prepare")
    own = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **environment}
    code, _, said = await asyncio.to_thread(run, prepare, env=own, cwd=tmp_path, stdin=b"", timeout=120)
    assert code == 0, said
    await fleet.ready(fleet.start("housekeeper"))
    files = Path(shutil.copytree(copied(), tmp_path / "k8s"))
    folder = overlay.write(files, f"127.0.0.1:{streams.port}", SCALED, MOST)
    cluster.asks("apply", "--server-side", "-f", str(folder / "namespace.yaml"))
    cluster.apply(folder)
    kubelet = Kubelet(fleet, cluster.asks, overlay.NAMESPACE, SCALED)
    following = asyncio.create_task(kubelet.follow())
    ready = ("-n", overlay.NAMESPACE, "wait", "--for=condition=Ready", "scaledobject", *SCALED, "--timeout=120s")
    await asyncio.to_thread(cluster.asks, *ready)
    try:
        yield Scene(servers, kubelet, fleet, index)
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        await fleet.stop()
        cluster.asks("delete", "namespace", overlay.NAMESPACE, "--wait=false")
        servers.drop_indexes(index)


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

    # The others are given no more than the embedder gives on.
    assert {service for service in SCALED if seen.most(service) > 1} >= {"ingest", "embedder", "indexer-text"}
    assert scene.kubelet.killed == []
    assert scene.fleet.unexpected == []
    assert letters == []
    assert counted(scene, "SELECT COUNT(DISTINCT content), COUNT(*) FROM memories") == (COUNT, COUNT)
    # Both indexes hold each once, and the model was given each once.
    behind = "SELECT COUNT(*) FROM memories WHERE text_revision < revision OR vector_revision < revision"
    assert counted(scene, behind) == (0,)
    assert [text for text, times in scene.servers.double.served.items() if times > 1 and text != "a"] == []


def stored(scene: Scene) -> int:
    return int(counted(scene, "SELECT COUNT(*) FROM memories WHERE vector_revision = revision")[0])


def counted(scene: Scene, statement: str) -> tuple[int, ...]:
    with contextlib.closing(connection(scene.servers.mariadb.url)) as link, link.cursor() as cursor:
        cursor.execute(statement)
        return tuple(int(each) for each in cursor.fetchone())
