"""The process that benchmark `reindex` measures: python -m benchmarks.reindex_worker FOLDER COUNT REPEATS."""

import asyncio
import json
import sys
import time
from pathlib import Path

from benchmarks.filling import fill
from benchmarks.zero_cost import zero_cost_parts
from openbrain import logs
from openbrain.auth import OPERATORS
from openbrain.ids import uuid7
from openbrain.index_writing import drop_generation
from openbrain.parts import Parts
from openbrain.ports.generations import GenerationStatus, IndexKind
from openbrain.ports.operations import Operation, OperationStatus
from openbrain.ports.reindexing import REINDEX
from openbrain.settings import Logs, Settings
from openbrain_cli.serving import loop_factory
from openbrain_cli.system import running


async def made_anew(parts: Parts, kind: IndexKind) -> tuple[float, float]:
    """Seconds of CPU and of the clock."""
    begun, cpu = time.perf_counter(), time.process_time()
    operation = Operation(
        id=uuid7(parts.clock.now()),
        workspace_id=OPERATORS,
        kind=REINDEX,
        actor="bench",
        request={"index": kind.value},
    )
    await parts.truth.start_operation(operation)
    while True:
        state = await parts.truth.operation(OPERATORS, operation.id)
        assert state is not None
        if state.status.ended:
            break
        await asyncio.sleep(0.05)
    spent = time.process_time() - cpu, time.perf_counter() - begun
    assert state.status is OperationStatus.DONE, state.error
    index = parts.text if kind is IndexKind.TEXT else parts.vectors
    for each in await parts.truth.generations(kind):
        if each.status == GenerationStatus.KEPT:
            await parts.truth.withdraw(parts.text_written.consumer, kind)
            await parts.truth.withdraw(parts.vector_written.consumer, kind)
            await drop_generation(parts.truth, index, each)
    return spent


async def main(folder: Path, count: int, repeats: int) -> None:
    """Prints one JSON object."""
    by_index: dict[str, list[float]] = {kind.value: [] for kind in IndexKind}
    by_the_clock: list[float] = []
    async with running(Settings(data_dir=folder), zero_cost_parts) as system:
        parts = system.parts
        await fill(parts, count)
        for _ in range(repeats):
            seconds = 0.0
            for kind in IndexKind:
                cpu, wall = await made_anew(parts, kind)
                by_index[kind.value].append(count / cpu)
                seconds += wall
            by_the_clock.append(2 * count / seconds)
        serving = await parts.truth.serving(IndexKind.VECTOR)
        dimensions = 0 if serving is None else serving.dimensions
    print(json.dumps({"by_index": by_index, "by_the_clock": by_the_clock, "dimensions": dimensions}), flush=True)


if __name__ == "__main__":
    logs.configure(Logs(level="WARNING"))
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
