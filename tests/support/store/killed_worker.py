"""The housekeeper's lifecycle operations in a separate process, which is killed at a marked point."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from openbrain.runtime.container import Container
from openbrain.settings import Settings
from openbrain.usecases.backpressure import Pressure
from openbrain_housekeeper.handlers.lifecycle import clean, job, undo
from openbrain_housekeeper.handlers.lifecycle.clustering import clusters
from openbrain_housekeeper.jobs.operations import Worker
from openbrain_housekeeper.wiring.cleaning import cleaning
from openbrain_housekeeper.wiring.lifecycle import lifecycle_steps
from tests.faults.processes.inside import prepare
from tests.support.processes.forked import end_with_parent
from tests.support.store.fixtures import FakeClock
from tests.support.store.no_streams import NoStreams

PAGE = 2
"""Memories per chunk."""


def work(folder: Path, settings: Mapping[str, Any], now: int, marks: Sequence[Mapping[str, Any]]) -> None:
    """Run until no operation is left or a mark is reached. One chunk per round."""
    end_with_parent()
    os.chdir(folder)
    for module, name in ((job, "PAGE"), (clusters, "READ"), (clusters, "CLUSTERS"), (clean, "PAGE"), (undo, "CHUNK")):
        setattr(module, name, PAGE)
    prepare({"marks": marks})
    asyncio.run(_work(Settings(_env_file=None, data_dir=folder, **settings), now))


async def _work(settings: Settings, now: int) -> None:
    async with Container(settings, shared=True) as container:
        vars(container).update(
            clock=FakeClock(now),
            pressure=Pressure(container.store.outbox, None, outbox_limit=1_000_000, memory_share=1),
        )
        steps = {**lifecycle_steps(container), "clean": cleaning(container, NoStreams())}
        worker = Worker(container.store.operations, steps, f"pid {os.getpid()}", pace_s=0)
        while await worker.round():
            pass
