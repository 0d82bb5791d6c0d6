"""A seed whose stream server fails over: the master is killed, and a replica takes over with what was replicated by
then."""

import asyncio
import contextlib
import random
import threading
import time
from typing import Any

import redis
from redis.asyncio import Redis as AsyncRedis

from openbrain.settings import Streams
from openbrain.streams.redis.connection import connect
from tests.faults.planning.operations import Operation, operations
from tests.faults.planning.plan import RECONCILING, ROOMS, SERVERS, Fault, Plan
from tests.faults.producing.submissions import WORK
from tests.faults.running.run import Run
from tests.faults.running.world import World
from tests.servers.processes.process import ServerProcess
from tests.servers.tools.sentinels import Sentinels

UNREPLICATED_AT = 0.6
UNREPLICATED = 3
"""From this share of operations on, operations wait until the replicas are paused; this many entries then exist on the
master only."""


def failing_over(seed: int, count: int) -> Plan:
    """Plan two failovers: a plain one, and one before which the replicas are paused, so that entries are lost."""
    slots = 24
    made = operations(random.Random(seed), count, slots, ends_soon=True, long=False)
    return Plan(
        seed=seed,
        form=SERVERS,
        streams="redis",
        embedder="double",
        operations=tuple(made),
        producers=4,
        slots=slots,
        replicas=dict.fromkeys(ROOMS, 1),
        faults=(Fault("failover", at=0.25), Fault("failover", "unreplicated", at=0.5)),
        settings=RECONCILING,
        strict_tombstones=False,
    )


class SentinelRun(Run):
    """A run on stream servers that Sentinels watch."""

    def __init__(self, plan: Plan, world: World, servers: Sentinels) -> None:
        super().__init__(plan, world)
        self.servers = servers
        self._standing = threading.Event()
        self.lost = 0
        """Number of entries that a master acknowledged and the next master did not have."""

    @property
    def streams(self) -> ServerProcess:
        return self.servers.master()

    def streams_url(self) -> str:
        return self.servers.url

    def link(self) -> "redis.Redis":
        return self.servers.link()

    def _producer(self) -> AsyncRedis:
        return connect(Streams(url=self.streams_url()))

    def _empty_streams(self) -> None:
        self.servers.wait_until_whole()
        self.servers.link().flushall()

    async def _before(self, operation: Operation) -> None:
        """Hold later operations back until the replicas are paused, however slow the failover before was."""
        while operation.number >= UNREPLICATED_AT * len(self.plan.operations) and not self._standing.is_set():
            await asyncio.sleep(0.05)

    async def _when_due(self, fault: Fault) -> None:
        while self._done < fault.at * len(self.plan.operations):
            await asyncio.sleep(0.01)
        await asyncio.to_thread(self.servers.wait_until_whole)
        self.injected[str(fault)] += 1
        await asyncio.to_thread(self._fail_over, fault.target == "unreplicated")

    def _fail_over(self, unreplicated: bool) -> None:
        master = self.servers.master()
        # Pause all replicas: one that just reconnected would resume replication and lose nothing.
        replicas = [each for each in self.servers.servers.values() if each is not master]
        if unreplicated:
            for replica in replicas:
                replica.pause()
            # The replicas' sockets already hold what was sent, whether they have read it or not.
            with contextlib.closing(self.servers.link(master.port)) as link:
                link.execute_command("CLIENT", "KILL", "TYPE", "replica")  # type: ignore[no-untyped-call]
            before = self._entries(master.port)
            self._standing.set()
            while len(self._entries(master.port) - before) < UNREPLICATED:
                time.sleep(0.02)
        had = self._entries(master.port)
        master.kill()
        for replica in replicas:
            replica.resume()
        successor = self.servers.master()
        assert successor is not master
        self.lost += len(had - self._entries(successor.port))
        master.start()

    def _entries(self, port: int) -> set[tuple[str, bytes]]:
        found: set[tuple[str, bytes]] = set()
        with contextlib.closing(self.servers.link(port)) as link:
            for stream in (*WORK, "memory.submitted"):
                entries: Any = link.xrange(self.prefix + stream)
                found |= {(stream, entry) for entry, _ in entries}
        return found
