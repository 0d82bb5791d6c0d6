"""Lag that Redis can't count, and entries waiting for a retry: the real KEDA must not remove the replicas that handle
them."""

import asyncio
import contextlib
import json
import signal
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
import redis

from tests.cluster.scaling import overlay
from tests.cluster.scaling.burst import submit
from tests.cluster.scaling.conftest import Scene
from tests.support.waiting import until

pytestmark = [
    pytest.mark.servers("kubernetes", "keda", "crds", "redis", "mariadb", "elasticsearch"),
    pytest.mark.timeout(600),
]
STREAM = "memory.stored"
PAUSE_S = 4 * overlay.COOLDOWN_S
"""Pause before the next attempt."""


@pytest.fixture
def least() -> Mapping[str, int]:
    """The embedder may scale to zero: if it stays, that is KEDA's own decision, and not its minimum."""
    return {"embedder": 0}


@pytest.fixture
def settings() -> Mapping[str, str]:
    return {"OPENBRAIN_STREAMS__BACKOFF_S": f"[{PAUSE_S}, {PAUSE_S}]"}


def _group(link: "redis.Redis", name: str) -> dict[str, Any]:
    groups: Any = link.xinfo_groups(STREAM)
    return next(each for each in groups if each["name"] == name.encode())


async def _replicas(scene: Scene, service: str, count: int) -> None:
    async def reached() -> bool:
        return scene.kubelet.running[service] == count

    await until(reached, pause=0.2)


async def _active(scene: Scene, service: str, status: str) -> bool:
    """Whether the scaler's condition Active has this status."""
    conditions = _asked(scene, "scaledobject", service)["status"]["conditions"]
    return bool({each["type"]: each["status"] for each in conditions}["Active"] == status)


def _asked(scene: Scene, *what: str) -> Any:
    return json.loads(scene.cluster.asks("-n", scene.namespace, "get", *what, "-o", "json"))


@pytest.mark.slow("a pipeline under KEDA, and a pause that is longer than KEDA's patience")
async def test_a_parked_entry_keeps_its_consumer(scene: Scene) -> None:
    await _replicas(scene, "embedder", 0)
    scene.servers.double.mode = "transient 400"
    with contextlib.closing(redis.Redis.from_url(scene.servers.streams["redis"].url, protocol=2)) as link:
        submit(link, 1)
        await _replicas(scene, "embedder", 1)

        async def parked() -> bool:
            group = await asyncio.to_thread(_group, link, "embedder")
            return (group["lag"], group["pending"]) == (0, 1) and scene.servers.double.troubled > 0

        await until(parked, pause=0.2)
        since = datetime.now(UTC)

        async def kept() -> bool:
            """KEDA has found it active for longer than the cooldown of an idle service."""
            last = _asked(scene, "scaledobject", "embedder")["status"]["lastActiveTime"]
            return datetime.fromisoformat(last) > since + timedelta(seconds=2 * overlay.COOLDOWN_S)

        await until(kept, pause=0.5)
        assert await parked()
        assert scene.kubelet.running["embedder"] == 1
        scene.servers.double.mode = ""
        await _replicas(scene, "embedder", 0)
        assert _group(link, "embedder")["pending"] == 0
    # The embedded texts, except "a", which determines a model's dimensions.
    assert sum(times for text, times in scene.servers.double.served.items() if text != "a") == 1


@pytest.mark.slow("a pipeline under KEDA")
async def test_a_lag_that_redis_can_not_tell_leaves_one_consumer(scene: Scene) -> None:
    """An entry that the group had not read is deleted: the lag is unknown, and KEDA takes it for zero. Only the minimum
    number of replicas keeps the consumer."""
    service = "indexer-text"
    with contextlib.closing(redis.Redis.from_url(scene.servers.streams["redis"].url, protocol=2)) as link:
        submit(link, 1)

        async def idle() -> bool:
            group = await asyncio.to_thread(_group, link, service)
            return (group["entries-read"], group["pending"]) == (1, 0)

        await until(idle, pause=0.2)
        (process,) = scene.fleet.of(service)
        scene.fleet.signal(process, signal.SIGSTOP)

        async def waits_for_none() -> bool:
            """No blocking read of the stopped process is left in the server."""
            found: Any = await asyncio.to_thread(link.xinfo_consumers, STREAM, service)
            return all(each["idle"] > 2_000 for each in found)

        await until(waits_for_none, pause=0.2)
        entries: Any = link.xrange(STREAM)
        ((_, fields),) = entries
        ids = [link.xadd(STREAM, fields) for _ in range(3)]
        await until(partial(_active, scene, service, "True"), pause=0.5)
        link.xdel(STREAM, ids[1])
        assert _group(link, service)["lag"] is None
        await until(partial(_active, scene, service, "False"), pause=0.5)

        assert scene.kubelet.running[service] == scene.kubelet.wanted[service] == 1
        scene.fleet.signal(process, signal.SIGCONT)

        async def worked_off() -> bool:
            group = await asyncio.to_thread(_group, link, service)
            return (group["lag"], group["pending"]) == (0, 0) and group["last-delivered-id"] == ids[-1]

        await until(worked_off, pause=0.2)
