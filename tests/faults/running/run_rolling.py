"""A seed in which every replica of every service is restarted in turn, round after round, while producers write."""

import asyncio
import random

from tests.faults.planning.operations import Operation, operations
from tests.faults.planning.plan import RESTING, ROOMS, SERVERS, Fault, Plan
from tests.faults.running.run import Run
from tests.faults.running.world import World

RESTARTS = "rolling restarts"


def rolling(seed: int, count: int) -> Plan:
    """Two replicas of each service: one works while the other is gone. Nobody compares: nothing may need it."""
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
        faults=(Fault(RESTARTS),),
        settings=RESTING,
    )


class RollingRun(Run):
    """On servers, for so many rounds."""

    def __init__(self, plan: Plan, world: World, rounds: int) -> None:
        super().__init__(plan, world)
        self._rounds = rounds
        self._restarted = 0
        self.longest_end_s = 0.0

    async def _before(self, operation: Operation) -> None:
        """Operations are spread over the restarts."""
        all_restarts = self._rounds * sum(self.plan.replicas.values())
        while self._restarted / all_restarts < operation.number / len(self.plan.operations):
            await asyncio.sleep(0.02)

    async def _when_due(self, fault: Fault) -> None:
        for _ in range(self._rounds):
            for process in list(self.fleet.processes):
                self.longest_end_s = max(self.longest_end_s, await self.fleet.restart(process))
                self._restarted += 1
                self.injected[f"{fault.kind} of {process.service}"] += 1
