"""A cluster whose pods are local processes, on real servers."""

import asyncio
import os
import shutil
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cluster.conftest import Cluster
from tests.cluster.scaling import overlay
from tests.cluster.scaling.kubelet import Kubelet
from tests.deploy.manifests import copied
from tests.faults.planning.plan import SETTINGS
from tests.faults.processes.fleet import Fleet
from tests.faults.running.world import World, world
from tests.servers.plugin import need
from tests.servers.processes.process import Server
from tests.support.processes.forked import run

SCALED = ("ingest", "embedder", "indexer-text", "indexer-vector", "matcher")
MOST = 3


@pytest.fixture(scope="session")
def servers(elasticsearch_server: Server) -> Iterator[World]:
    for name in ("redis", "mariadb", "keda"):
        need(name)
    with world(elasticsearch_url=elasticsearch_server.url, stream_servers=("redis",), small_disk=False) as made:
        yield made


@dataclass(frozen=True, slots=True)
class Scene:
    """The cluster, the processes and the servers of one test."""

    cluster: Cluster
    servers: World
    kubelet: Kubelet
    fleet: Fleet
    namespace: str
    """A unique namespace, also the name of its indexes: a deleted namespace takes a while to disappear."""


@pytest.fixture
def least() -> Mapping[str, int]:
    """Minimum replicas by service, to override the scaler's own minimum."""
    return {}


@pytest.fixture
def settings() -> Mapping[str, str]:
    """Settings of the services, in addition to those of all tests."""
    return {}


@pytest.fixture
async def scene(
    cluster: Cluster, servers: World, least: Mapping[str, int], settings: Mapping[str, str], tmp_path: Path
) -> AsyncIterator[Scene]:
    name = f"scaling-{uuid.uuid4().hex[:8]}"
    streams = servers.streams["redis"]
    servers.reset_streams("redis").close()
    servers.double.reset()
    await servers.reset_truth()
    environment = {
        **SETTINGS,
        "OPENBRAIN_STREAMS__LEASE_S": "10",
        "OPENBRAIN_STREAMS__BATCH": "64",
        "OPENBRAIN_STREAMS__URL": streams.url,
        "OPENBRAIN_TRUTH__URL": servers.mariadb.url,
        "OPENBRAIN_TEXT__URL": servers.elasticsearch_url,
        "OPENBRAIN_TEXT__INDEX": name,
        "OPENBRAIN_TEXT__TUNING__TIMEOUT_S": "20",
        "OPENBRAIN_VECTORS__URL": f"elasticsearch+{servers.elasticsearch_url}",
        "OPENBRAIN_VECTORS__COLLECTION": name,
        "OPENBRAIN_VECTORS__TUNING__TIMEOUT_S": "20",
        "OPENBRAIN_EMBEDDING__URL": f"http://127.0.0.1:{servers.double.port}",
        "OPENBRAIN_EMBEDDING__MODEL": "double",
        "OPENBRAIN_EMBEDDING__BATCH": "64",
        "OPENBRAIN_EMBEDDING__TOKEN_STATES": "false",
        "OPENBRAIN_EMBEDDING__TIMEOUT_S": "30",
        "OPENBRAIN_DATA_DIR": str(tmp_path),
        **settings,
    }
    fleet = Fleet(servers.zygote, environment, tmp_path)
    # As the job does, before the scaler looks at the groups.
    prepare = ("streams", "groups", "prepare")
    own = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **environment}
    code, _, said = await asyncio.to_thread(run, prepare, env=own, cwd=tmp_path, stdin=b"", timeout=120)
    assert code == 0, said
    await fleet.ready(fleet.start("housekeeper"))
    files = Path(shutil.copytree(copied(), tmp_path / "k8s"))
    folder = overlay.write(files, name, f"127.0.0.1:{streams.port}", SCALED, most=MOST, least=least)
    cluster.asks("apply", "--server-side", "-f", str(folder / "namespace.yaml"))
    cluster.apply(folder)
    kubelet = Kubelet(fleet, cluster.asks, name, SCALED)
    following = asyncio.create_task(kubelet.follow())
    ready = ("-n", name, "wait", "--for=condition=Ready", "scaledobject", *SCALED, "--timeout=120s")
    await asyncio.to_thread(cluster.asks, *ready)
    try:
        yield Scene(cluster, servers, kubelet, fleet, name)
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        await fleet.stop()
        cluster.asks("delete", "namespace", name, "--wait=false")
        servers.drop_indexes(name)
