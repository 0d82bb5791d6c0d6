"""One vault and its ticks, in a separate process: python -m benchmarks.workers.tick FOLDER ARCS REPEATS.

Prints CPU seconds of complete ticks, as the service runs them: request, hold, pages, signals, memories, health, report.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

from benchmarks.support.memory import peak_mb
from benchmarks.support.vaults import NOW, make
from openbrain.adapters.sql.schema.commands import upgrade
from openbrain.adapters.sql.store import store_url
from openbrain.domain.events.data import TickRequested
from openbrain.domain.events.envelope import CloudEvent
from openbrain.domain.ids import uuid7
from openbrain.domain.memory import MICROSECONDS
from openbrain.domain.times import from_datetime
from openbrain.observability.gc_tuning import long_running
from openbrain.ports.store.tenants import Workspace
from openbrain.ports.store.vault import TickJob, TickState
from openbrain.runtime.container import Container
from openbrain.settings import Settings, Truth
from openbrain.settings import Vaults as VaultSettings
from openbrain.settings.ticks import Tick as TickSettings
from openbrain_tick.app import ports_of
from openbrain_tick.handlers.tick_requested import handle
from openbrain_tick.tick import tick
from openbrain_tick.vaults import Vaults

CHANGED = 20
BARE_S = 0.2
WRITTEN, PAGE = 500, b"." * 3000
WORKSPACE = "default"


class SteppingClock:
    """A clock that advances by one second per tick, so that the run happens at the vault's time."""

    def __init__(self) -> None:
        self._now = from_datetime(NOW)

    def now(self) -> int:
        """Microseconds since 1970."""
        return self._now

    def step(self) -> None:
        """One second."""
        self._now += MICROSECONDS


class TickService:
    """Ticks of one vault in the service's own container, with SQLite and without a model."""

    def __init__(self, base: Path, clock: SteppingClock) -> None:
        self.settings = Settings(
            data_dir=base,
            vaults=VaultSettings(folders={WORKSPACE: base / "vault"}),
            tick=TickSettings(projects_dir=None),
        )
        self.container = Container(self.settings)
        self.container.clock, self.clock = clock, clock
        self.vaults = Vaults(self.settings)

    async def tick(self, *, started: bool = False) -> None:
        """Handle one request. `started`: with an index read from its file, as after a start."""
        vault = (Vaults(self.settings) if started else self.vaults).of(WORKSPACE)
        self.clock.step()
        data = TickRequested(workspace_id=WORKSPACE, slot=f"bench:{self.clock.now()}")
        event = CloudEvent[TickRequested](id=uuid7(self.clock.now()), source="/bench", type="tick", data=data)

        async def work(job: TickJob) -> dict[str, Any]:
            return await tick(job, vault, ports_of(self.container))

        ticks = self.container.store.ticks
        await handle(event, ticks=ticks, clock=self.clock, work=work, holder="bench")
        (done,) = await ticks.ticks(WORKSPACE, 1)
        if done.state is not TickState.COMPLETED:
            raise RuntimeError(f"the tick failed: {done.error}")


def bare(root: str) -> int:
    """The least work of any tick: read the time and size of every file."""
    files = 0
    with os.scandir(root) as found:
        for entry in found:
            if entry.is_dir(follow_symlinks=False):
                files += bare(entry.path)
            else:
                entry.stat(follow_symlinks=False)
                files += 1
    return files


async def cpu(work: Awaitable[object]) -> float:
    """CPU seconds of this process, including all threads and the kernel."""
    began = time.process_time()
    await work
    return time.process_time() - began


def cpu_bare(root: Path) -> float:
    """CPU seconds of a scandir and a stat of every file: the mean of enough passes that other processes disturb them as
    much as a tick."""
    began, passes = time.process_time(), 0
    while (spent := time.process_time() - began) < BARE_S:
        bare(str(root))
        passes += 1
    return spent / passes


def cpu_written(folder: Path) -> float:
    """CPU seconds to create and write a file and rename it over another: the mean of many. Disks differ by an order of
    magnitude, and a first tick does this for every third page."""
    folder.mkdir()
    for number in range(WRITTEN):
        (folder / f"{number}.md").write_bytes(PAGE)
    began = time.process_time()
    for number in range(WRITTEN):
        (folder / f"{number}.new").write_bytes(PAGE)
        os.rename(folder / f"{number}.new", folder / f"{number}.md")  # noqa: PTH104 - nothing but the call
    return (time.process_time() - began) / WRITTEN


async def main(base: Path, arcs: int, repeats: int) -> dict[str, object]:
    """All figures of a new vault, in a process set up like a service."""
    root, clock = base / "vault", SteppingClock()
    root.mkdir()
    make(root, arcs)
    upgrade(store_url(Truth().url, base))
    service = TickService(base, clock)
    store = service.container.store
    await store.workspaces.create_workspace(Workspace(id=WORKSPACE, name=WORKSPACE, created_at=0))
    # `consumer_service` does the same at start.
    rules = await cpu(service.container.content_policy.ready())
    with long_running():
        return await figures_of(service, root, repeats, rules)


def pages_of(root: Path) -> list[Path]:
    """The pages of the arcs, at their paths after the first tick."""
    return [path for path in sorted(root.rglob("2026-*.md")) if "frontal-lobe" not in path.parts]


async def figures_of(service: TickService, root: Path, repeats: int, rules: float) -> dict[str, object]:
    """The first tick between two measurements of scandir and stat, then every other figure once per repeat, both sides
    of a ratio one after the other."""
    plain, before = peak_mb(), cpu_bare(root)
    first = await cpu(service.tick())
    beside = (before + cpu_bare(root)) / 2
    figures: dict[str, list[float]] = {"bare": [], "unchanged": [], "started": [], "changed": []}
    # Files changed a moment ago are read once more by the next tick; after that nothing changes.
    await asyncio.sleep(0.1)
    await service.tick()
    pages = pages_of(root)
    for repeat in range(repeats):
        figures["bare"].append(cpu_bare(root))
        figures["unchanged"].append(await cpu(service.tick()))
        figures["started"].append(await cpu(service.tick(started=True)))
        for path in pages[repeat * CHANGED : (repeat + 1) * CHANGED]:
            with path.open("a", encoding="utf-8") as file:
                file.write(f"\n<!-- @lesson -->\nChanged {repeat}.\n<!-- @/lesson -->\n")
        figures["changed"].append(await cpu(service.tick()))
        await asyncio.sleep(0.1)
        await service.tick()
    await service.container.store.close()
    once = {"first": first, "first_bare": beside, "rules": rules, "peak_mb": peak_mb(), "plain_mb": plain}
    once["written"] = cpu_written(root.parent / "written")
    return {**figures, **{name: [value] for name, value in once.items()}}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))))
