"""One seed on the one-process form: `openbrain up` with everything embedded."""

import asyncio
import signal
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from tests.faults.planning.plan import SETTINGS, UP, Plan
from tests.faults.processes.fleet import Process
from tests.faults.running.run import Run
from tests.faults.running.world import World
from tests.faults.verifying import comparing, findings, index_reading, truth_reading
from tests.faults.verifying.findings import Finding
from tests.faults.verifying.truth_reading import Generation
from tests.servers.processes.process import ServerError
from tests.support.waiting import PATIENCE_S

_END_S = PATIENCE_S / 2


class UpRun(Run):
    """A run of `openbrain up`. The embedded indexes belong to one process, which is stopped before they are read."""

    again_s = 0.0

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def streams_url(self) -> str:
        return f"unix://{self.data / 'streams' / 'valkey.sock'}"

    def elasticsearch_url(self) -> str:
        raise ServerError("the embedded form has no Elasticsearch")

    async def _prepare(self, stack: AsyncExitStack) -> tuple[dict[str, str], str]:
        self.double.reset()
        self.data.mkdir()
        places = {"OPENBRAIN_STREAMS__PREFIX": self.prefix, "OPENBRAIN_TEXT__TUNING__COMMIT_MS": "50"}
        if self.plan.embedder == "double":
            places |= {
                "OPENBRAIN_EMBEDDING__URL": f"http://127.0.0.1:{self.double.port}",
                "OPENBRAIN_EMBEDDING__MODEL": "double",
            }
        return {**SETTINGS, **places, **self.plan.settings}, ""

    async def _start_rooms(self) -> None:
        self.fleet.start(UP, plan=self._room_plan(UP), data=self.data)
        await self.fleet.ready(self.apis()[0])

    def apis(self) -> Sequence[Process]:
        return self.fleet.of(UP)

    async def _secret(self, given: str) -> str:
        return (self.data / "key").read_text(encoding="utf-8").strip()

    async def _tidy(self) -> None:
        """Do nothing: the folder is removed with the run."""

    async def _look(self) -> list[Finding]:
        try:
            under_way = await asyncio.to_thread(self._from_outside)
        except Exception as error:  # noqa: BLE001 - a process that is still starting is a reason to look again
            return [Finding(findings.LEFTOVER, f"can't look yet: {type(error).__name__}: {error}")]
        if under_way:
            return under_way
        (process,) = self.apis()
        process.wanted = False
        try:
            await self._end(process)
            return await asyncio.to_thread(self._from_inside)
        finally:
            process.wanted = True

    async def _end(self, process: Process) -> None:
        self.fleet.signal(process, signal.SIGTERM)
        deadline = time.monotonic() + _END_S
        while self.fleet.alive(process):
            if time.monotonic() > deadline:
                self.fleet.signal(process, signal.SIGKILL)
                self.fleet.unexpected.append(f"{process.name} did not end in {_END_S:.0f} s")
            await asyncio.sleep(0.05)

    def _truth(self) -> truth_reading.Truth:
        return truth_reading.read(str(self.data / "truth.sqlite3"))

    def _from_outside(self) -> list[Finding]:
        truth = self._truth()
        found = [*self._leftovers(truth), *comparing.acknowledged(truth, self.oracle), *comparing.delivered(truth)]
        return found + [each for each in self._indexes(truth, lambda _: {}) if each.kind == findings.MARK]

    def _from_inside(self) -> list[Finding]:
        return self._indexes(self._truth(), self._entries)

    def _entries(self, generation: Generation) -> dict[str, index_reading.Entry]:
        if generation.kind == "text":
            return index_reading.tantivy(self.data / "text" / generation.name)
        return index_reading.qdrant_edge(self.data / "vectors" / generation.name)


def run_of(plan: Plan, world: World) -> Run:
    """Return a run in the form that the plan asks for."""
    return UpRun(plan, world) if plan.form == UP else Run(plan, world)
