"""The process that benchmark `reindex` measures: python -m benchmarks.workers.reindex FOLDER COUNT REPEATS [SETTINGS].

SETTINGS: JSON; without any all parts are embedded.
"""

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.baselines.reindex import bulk_seconds, engine_seconds
from benchmarks.support.filling import fill
from benchmarks.support.zero_cost import zero_cost_parts
from openbrain.domain.events.streams import EMBEDDED as EMBEDDED_STREAM
from openbrain.domain.events.streams import REINDEX as REINDEX_STREAM
from openbrain.domain.events.streams import STORED
from openbrain.domain.ids import uuid7
from openbrain.observability import logs
from openbrain.ports.store.generations import GenerationStatus, IndexKind
from openbrain.ports.store.index_entries import REINDEX
from openbrain.ports.store.operations import Operation, OperationStatus
from openbrain.runtime.adapters import EMBEDDED
from openbrain.runtime.container import Container
from openbrain.settings import Logs, Settings
from openbrain.streams.monitoring.gauges import behind
from openbrain.streams.redis.connection import connect, disconnect
from openbrain.usecases.auth import OPERATORS
from openbrain.usecases.indexes.index_writers import drop_generation
from openbrain_cli.system import event_loop
from openbrain_cli.system.embedded.pipeline import running

LOOK_S = 0.2
"""Seconds between two checks whether it is done."""
REST_S = 4.0
"""Seconds for which the idle services are measured."""


async def made_anew(container: Container, kind: IndexKind) -> dict[str, float]:
    """Rebuild an index. Return CPU seconds, elapsed seconds, and elapsed seconds from the first announcement on."""
    begun, cpu, scan = time.perf_counter(), time.process_time(), 0.0
    operation = Operation(
        id=uuid7(container.clock.now()),
        workspace_id=OPERATORS,
        kind=REINDEX,
        actor="bench",
        request={"index": kind.value},
    )
    await container.store.operations.start_operation(operation)
    while True:
        state = await container.store.operations.operation(OPERATORS, operation.id)
        assert state is not None
        if state.status.ended:
            break
        if state.total is None:
            scan = time.perf_counter()  # until then it waits for leases, whatever the size
        await asyncio.sleep(LOOK_S)
    ended = time.perf_counter()
    spent = {"cpu": time.process_time() - cpu, "wall": ended - begun, "writing": ended - scan}
    assert state.status is OperationStatus.DONE, state.error
    index = container.text if kind is IndexKind.TEXT else container.vectors
    for each in await container.store.generations.generations(kind):
        if each.status == GenerationStatus.KEPT:
            await container.store.index_writers.withdraw(container.text_writers.consumer, kind)
            await container.store.index_writers.withdraw(container.vector_writers.consumer, kind)
            await drop_generation(container.store, index, each)
    return spent


async def at_rest(container: Container) -> None:
    """Wait until the services have read the events of filling: live events are handled before a reindex."""
    streams = container.settings.streams
    client = connect(streams)
    try:
        while True:
            if await container.store.outbox.unpublished_since() is None:
                break
            await asyncio.sleep(LOOK_S)
        for spec in (STORED, EMBEDDED_STREAM, REINDEX_STREAM):
            while True:
                if not await behind(client, streams.prefix + spec.name, spec.groups):
                    break
                await asyncio.sleep(LOOK_S)
    finally:
        await disconnect(client)


async def measured(container: Container, kind: IndexKind) -> dict[str, float]:
    """Measure one turn of both sides, the CPU time per second of the idle services, and the load of the machine."""
    cpu = time.process_time()
    await asyncio.sleep(REST_S)
    resting = (time.process_time() - cpu) / REST_S
    spent = await made_anew(container, kind)
    serving = await container.store.generations.serving(kind)
    assert serving is not None
    servers = container.settings.text.url != EMBEDDED
    bare = (
        bulk_seconds(container, serving, container.settings.text.url) if servers else engine_seconds(container, serving)
    )
    told = {**spent, "resting": resting, "bare": await bare, "load": os.getloadavg()[0]}
    print(kind.value, {name: round(value, 2) for name, value in told.items()}, file=sys.stderr)
    return told


async def main(settings: Settings, count: int, repeats: int) -> None:
    """Print one JSON object: the times of each turn, by index."""
    turns: dict[str, Any] = {kind.value: [] for kind in IndexKind}
    async with running(settings, zero_cost_parts) as system:
        parts = system.container
        await fill(parts, count)
        await at_rest(parts)
        for _ in range(repeats):
            for kind in IndexKind:
                turns[kind.value].append(await measured(parts, kind))
        serving = await parts.store.generations.serving(IndexKind.VECTOR)
        dimensions = 0 if serving is None else serving.dimensions
    print(json.dumps({"turns": turns, "dimensions": dimensions}), flush=True)


if __name__ == "__main__":
    logs.configure(Logs(level="WARNING"))
    given = json.loads(sys.argv[4]) if len(sys.argv) > 4 else {}
    event_loop.run(main(Settings(data_dir=Path(sys.argv[1]), **given), int(sys.argv[2]), int(sys.argv[3])))
