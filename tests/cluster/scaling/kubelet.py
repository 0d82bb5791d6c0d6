"""Plays the kubelet: each wanted replica of a deployment is one `openbrain run SERVICE`, ended as a pod is ended."""

import asyncio
import json
import signal
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from tests.faults.processes.fleet import GRACE_S, Fleet, Process

LOOK_S = 1.0


class Kubelet:
    """Starts and ends processes to follow `spec.replicas` of these deployments. `ask`: runs kubectl."""

    def __init__(self, fleet: Fleet, ask: Callable[..., str], namespace: str, services: Sequence[str]) -> None:
        self._fleet, self._ask, self._namespace, self._services = fleet, ask, namespace, services
        self._pods: defaultdict[str, list[Process]] = defaultdict(list)
        self._ending: set[asyncio.Task[None]] = set()
        self.wanted: dict[str, int] = {}
        self.killed: list[str] = []
        """Pods that did not end within their grace period."""

    @property
    def running(self) -> dict[str, int]:
        return {service: len(self._pods[service]) for service in self._services}

    async def follow(self) -> None:
        """Run until cancelled."""
        while True:
            self.wanted = await asyncio.to_thread(self._replicas)
            for service, count in self.wanted.items():
                self._settle(service, count)
            await asyncio.sleep(LOOK_S)

    def _replicas(self) -> dict[str, int]:
        said: Any = json.loads(self._ask("-n", self._namespace, "get", "deployments", "-o", "json"))
        found = {each["metadata"]["name"]: each["spec"]["replicas"] for each in said["items"]}
        return {service: found[service] for service in self._services}

    def _settle(self, service: str, count: int) -> None:
        pods = self._pods[service]
        while len(pods) < count:
            pods.append(self._fleet.start(service))
        while len(pods) > count:
            task = asyncio.create_task(self._end(pods.pop()))
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)

    async def _end(self, pod: Process) -> None:
        pod.wanted = False
        self._fleet.signal(pod, signal.SIGTERM)
        began = time.monotonic()
        while self._fleet.alive(pod):
            if time.monotonic() - began > GRACE_S:
                self.killed.append(pod.name)
                self._fleet.signal(pod, signal.SIGKILL)
            await asyncio.sleep(0.05)
