"""One vault and its ticks, in a process of its own: python -m benchmarks.tick_worker FOLDER ARCS REPEATS.

Prints CPU seconds of whole ticks, as the service runs them: request, hold, pages, signals, memories, health, report.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.memory import peak_mb
from benchmarks.vaults import NOW, make
from openbrain.adapters.local.open_content_policy import OpenContentPolicy
from openbrain.adapters.network.no_reasoner import NoReasoner
from openbrain.adapters.network.probes import Probes
from openbrain.adapters.sql.schema.commands import upgrade
from openbrain.adapters.sql.store import SqlStore, open_store, store_url
from openbrain.domain.events import CloudEvent, TickRequested
from openbrain.domain.ids import uuid7
from openbrain.domain.memory import MICROSECONDS
from openbrain.domain.times import from_datetime
from openbrain.ports.tenants import Workspace
from openbrain.ports.vault import TickJob, TickState
from openbrain.settings import Truth
from openbrain.vault.folder import Folder
from openbrain.vault.pages.index import Index
from openbrain.vault.thresholds import SPEC
from openbrain_tick.handlers.tick_requested import handle
from openbrain_tick.ports import Ports
from openbrain_tick.tick import tick
from openbrain_tick.vaults import Vault

CHANGED = 20
WORKSPACE = "default"


class SteppingClock:
    """Goes on by a second a tick, so that all of a run happens at the vault's time."""

    def __init__(self) -> None:
        self._now = from_datetime(NOW)

    def now(self) -> int:
        """Microseconds since 1970."""
        return self._now

    def step(self) -> None:
        """One second."""
        self._now += MICROSECONDS


class Room:
    """What the tick service has: a database, a vault with its index, no model."""

    def __init__(self, base: Path, store: SqlStore, clock: SteppingClock) -> None:
        self.state, self.clock = base / "state.jsonl", clock
        self.vault = Vault(
            workspace_id=WORKSPACE,
            folder=Folder(base / "vault"),
            index=Index(self.state),
            thresholds=SPEC,
            wait_s=30,
        )
        self.ports = Ports(
            store=store,
            clock=clock,
            content_policy=OpenContentPolicy(),
            reasoner=NoReasoner(),
            prober=Probes(),
            probes={},
            prompt_chars=100_000,
            transcripts=None,
            since_h=26,
            min_turns=5,
            forget_share=0.5,
            held_us=14_400 * MICROSECONDS,
        )

    async def tick(self, *, started: bool = False) -> None:
        """One request, worked off; `started`: as by a process that knows nothing yet."""
        vault = replace(self.vault, index=Index(self.state)) if started else self.vault
        self.clock.step()
        data = TickRequested(workspace_id=WORKSPACE, slot=f"bench:{self.clock.now()}")
        event = CloudEvent[TickRequested](id=uuid7(self.clock.now()), source="/bench", type="tick", data=data)

        async def work(job: TickJob) -> dict[str, Any]:
            return await tick(job, vault, self.ports)

        ticks = self.ports.store.ticks
        await handle(event, ticks=ticks, clock=self.clock, work=work, holder="bench")
        (done,) = await ticks.ticks(WORKSPACE, 1)
        if done.state is not TickState.COMPLETED:
            raise RuntimeError(f"the tick failed: {done.error}")


def bare(root: str) -> int:
    """What no tick can do without: every file's time and size."""
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
    """Seconds of this process, all threads and the kernel included."""
    began = time.process_time()
    await work
    return time.process_time() - began


def cpu_bare(root: Path) -> float:
    """Seconds of a scandir and a stat of every file."""
    began = time.process_time()
    bare(str(root))
    return time.process_time() - began


async def main(base: Path, arcs: int, repeats: int) -> dict[str, object]:
    """Every figure once a repeat, the sides of a ratio one after the other."""
    root, clock = base / "vault", SteppingClock()
    root.mkdir()
    make(root, arcs)
    store = open_store(Truth(), base, clock)
    upgrade(store_url(Truth().url, base))
    await store.workspaces.create_workspace(Workspace(id=WORKSPACE, name=WORKSPACE, created_at=0))
    room = Room(base, store, clock)
    plain = peak_mb()
    figures: dict[str, list[float]] = {"bare": [], "unchanged": [], "started": [], "changed": []}
    first = await cpu(room.tick())
    # Whatever changed within the last moment is read once more; then all has settled.
    await asyncio.sleep(0.1)
    await room.tick()
    pages = [path for path in sorted(root.rglob("2026-*.md")) if "frontal-lobe" not in path.parts]
    for repeat in range(repeats):
        figures["bare"].append(cpu_bare(root))
        figures["unchanged"].append(await cpu(room.tick()))
        figures["started"].append(await cpu(room.tick(started=True)))
        for path in pages[repeat * CHANGED : (repeat + 1) * CHANGED]:
            with path.open("a", encoding="utf-8") as file:
                file.write(f"\n<!-- @lesson -->\nChanged {repeat}.\n<!-- @/lesson -->\n")
        figures["changed"].append(await cpu(room.tick()))
        await asyncio.sleep(0.1)
        await room.tick()
    await store.close()
    return {"first": [first], **figures, "peak_mb": [peak_mb()], "plain_mb": [plain]}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))))
