"""A seed in which every replica of every service is restarted in turn, round after round, while producers write and
ticks are requested."""

import asyncio
import contextlib
import json
import random
from collections.abc import Mapping

import httpx

from openbrain.ports.store.vault import TickState
from tests.faults.planning.operations import Operation, operations
from tests.faults.planning.plan import RESTING, ROOMS, SERVERS, Fault, Plan
from tests.faults.running.run import Run
from tests.faults.running.world import WORKSPACE, World
from tests.faults.verifying import findings
from tests.faults.verifying.findings import Finding
from tests.faults.verifying.truth_reading import Truth
from tests.support.waiting import until

RESTARTS = "rolling restarts"
SERVICES = (*ROOMS, "tick")
"""Amygdala is restarted in the tests that have subscribers: tests/faults/signals."""


def rolling(seed: int, count: int) -> Plan:
    """Plan two replicas of each service: one works while the other restarts. Reconciliation is off: nothing may need
    it."""
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
        replicas=dict.fromkeys(SERVICES, 2),
        faults=(Fault(RESTARTS),),
        settings=RESTING,
    )


class RollingRun(Run):
    """A run with a given number of rounds of restarts."""

    def __init__(self, plan: Plan, world: World, rounds: int) -> None:
        super().__init__(plan, world)
        self._rounds = rounds
        self._restarted = 0
        self._key = ""
        self.longest_end_s = 0.0
        self.ticks: set[str] = set()
        """Ids of ticks that were accepted."""

    def _places(self, urls: Mapping[str, str]) -> dict[str, str]:
        vault = self.folder / "vault"
        vault.mkdir()
        return {**super()._places(urls), "OPENBRAIN_VAULTS__FOLDERS": json.dumps({WORKSPACE: str(vault)})}

    async def _secret(self, given: str) -> str:
        self._key = given
        return given

    async def _start_rooms(self) -> None:
        await super()._start_rooms()
        self.start_room("tick")

    async def _before(self, operation: Operation) -> None:
        """Spread operations over the restarts."""
        all_restarts = self._rounds * sum(self.plan.replicas.values())
        while self._restarted / all_restarts < operation.number / len(self.plan.operations):
            await asyncio.sleep(0.02)

    async def _when_due(self, fault: Fault) -> None:
        for _ in range(self._rounds):
            for process in list(self.fleet.processes):
                await self._ask_for_tick()
                self.longest_end_s = max(self.longest_end_s, await self.fleet.restart(process))
                self._restarted += 1
                self.injected[f"{fault.kind} of {process.service}"] += 1

    async def _ask_for_tick(self) -> None:
        """Request a tick from the API replicas in turn until one accepts it. All attempts share one idempotency key."""
        headers = {"Authorization": f"Bearer {self._key}", "Idempotency-Key": f"tick-{self._restarted}"}

        async def accepted() -> bool:
            for api in self.apis():
                with contextlib.suppress(httpx.HTTPError):
                    async with httpx.AsyncClient(base_url=api.url, headers=headers, timeout=5, verify=False) as client:
                        answer = await client.post("/tick")
                    if answer.status_code == httpx.codes.ACCEPTED:
                        self.ticks.add(answer.json()["job_id"])
                        return True
            return False

        await until(accepted)

    def _leftovers(self, truth: Truth) -> list[Finding]:
        """Also report ticks that were lost or did not finish."""
        with contextlib.closing(self.sql()) as link, link.cursor() as cursor:
            cursor.execute("SELECT id, state FROM ticks")
            states = dict(cursor.fetchall())
        found = super()._leftovers(truth)
        for job in self.ticks:
            state = TickState(states[job]) if job in states else None
            if state is None or state is TickState.FAILED:
                found.append(Finding(findings.LOST, f"tick {job} is {state}"))
            elif not state.ended:
                found.append(Finding(findings.LEFTOVER, f"tick {job} is {state}"))
        return found
