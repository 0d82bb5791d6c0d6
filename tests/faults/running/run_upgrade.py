"""A seed in which an earlier version is upgraded while producers write: first the schema, then each process."""

import asyncio
import random
from collections.abc import Sequence

from openbrain.adapters.sql.schema.commands import current, upgrade
from tests.faults.planning.operations import Operation, operations
from tests.faults.planning.plan import RESTING, ROOMS, SERVERS, Fault, Plan
from tests.faults.processes.earlier import Earlier
from tests.faults.processes.fleet import Process, Zygote
from tests.faults.running.run import Run
from tests.faults.running.world import World

UPGRADE = "upgrade"
SCHEMA = f"{UPGRADE} of the schema"
_ORDER = ("indexer-text", "indexer-vector", "embedder", "ingest", "matcher", "housekeeper", "api")
"""The order that docs/how-to/upgrade.md prescribes."""
_EMPTY = """
import sys
from openbrain.adapters.sql.schema.commands import upgrade
upgrade(sys.argv[1])
"""
_TENANT = """
import asyncio, sys
from pathlib import Path
from tests.faults.running.world import tenant
print(asyncio.run(tenant(sys.argv[1], Path(sys.argv[2]))))
"""


def upgrading(seed: int, count: int) -> Plan:
    """Plan two replicas of each service. Reconciliation is off: nothing may need it."""
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
        replicas=dict.fromkeys(ROOMS, 2),
        faults=(Fault(UPGRADE),),
        settings=RESTING,
    )


class UpgradeRun(Run):
    """A run on empty servers that starts with the earlier version `before`."""

    def __init__(self, plan: Plan, world: World, earlier: Earlier, before: Zygote) -> None:
        super().__init__(plan, world)
        self._earlier, self._before_zygote = earlier, before
        self._steps = 1
        self.schema = ("", "")
        """Schema revision before and after the upgrade."""
        self.side_by_side = 0
        """Number of operations acknowledged while each service ran in both versions."""

    @property
    def _open(self) -> float:
        """Return how many operations may have begun. Each step admits an equal share, so that some are in progress
        during the next step."""
        return self._steps / (4 + sum(self.plan.replicas.values())) * len(self.plan.operations)

    async def _empty_truth(self) -> str:
        """Create the schema and a workspace with the earlier version; return the secret."""
        await asyncio.to_thread(self._earlier.does, _EMPTY, self.truth.url)
        return await asyncio.to_thread(self._earlier.does, _TENANT, self.truth.url, str(self.world.folder))

    async def _start_rooms(self) -> None:
        self.fleet.fork_from(self._before_zygote)
        await super()._start_rooms()
        for process in self.fleet.processes:
            await self.fleet.ready(process)
        self.fleet.fork_from(self.world.zygote)

    async def _before(self, operation: Operation) -> None:
        while self._open < operation.number:
            await asyncio.sleep(0.02)

    async def _when_due(self, fault: Fault) -> None:
        await self._all_open_done()
        self._steps += 1
        before = str(await asyncio.to_thread(current, self.truth.url))
        await asyncio.to_thread(upgrade, self.truth.url)
        self.schema = (before, str(await asyncio.to_thread(current, self.truth.url)))
        self.injected[SCHEMA] += 1
        self._steps += 1
        await self._upgrade(self._replicas(0))
        began = self._done
        self._steps += 1
        await self._all_open_done()
        self.side_by_side = self._done - began
        await self._upgrade(self._replicas(1))

    def _replicas(self, number: int) -> Sequence[Process]:
        return [self.fleet.of(service)[number] for service in _ORDER]

    async def _upgrade(self, processes: Sequence[Process]) -> None:
        for process in processes:
            await self.fleet.restart(process)
            self.injected[f"{UPGRADE} of {process.service}"] += 1
            self._steps += 1

    async def _all_open_done(self) -> None:
        while self._done < self._open:
            await asyncio.sleep(0.02)
