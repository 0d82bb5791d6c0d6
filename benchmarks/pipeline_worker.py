"""The process that benchmarks `pipeline` and `embedding` measure: every room on embedded parts, pinned to one core.

python -m benchmarks.pipeline_worker FOLDER REDIS_URL COUNT zero|minilm BATCH; prints one JSON object.
"""

import asyncio
import json
import os
import resource
import sys
import time
from pathlib import Path

from openbrain.adapters.sql.truth import truth_url
from openbrain.parts import Parts
from openbrain.settings import Settings, Streams
from openbrain_cli.serving import loop_factory
from openbrain_cli.system import running

TICK_S = 0.005


async def lags(out: list[float]) -> None:
    """How much later than asked the loop comes back, in ms."""
    while True:
        begun = time.perf_counter()
        await asyncio.sleep(TICK_S)
        out.append((time.perf_counter() - begun - TICK_S) * 1000)


def indexed(path: str) -> int:
    """Read beside the pipeline, on a connection of its own."""
    import sqlite3

    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
        (count,) = connection.execute("SELECT count(indexed_at) FROM memories").fetchone()
    connection.close()
    return int(count)


async def main(folder: Path, redis_url: str, count: int, embedder: str, batch: int) -> None:
    streams = Streams(url=redis_url, batch=batch)
    settings = Settings(data_dir=folder, streams=streams)
    made: object = None
    if embedder == "zero":
        from benchmarks.zero_cost import zero_cost_parts

        made = zero_cost_parts
    path = truth_url("embedded", folder).removeprefix("sqlite+aiosqlite:///")
    late: list[float] = []
    async with running(settings, made) as system:  # type: ignore[arg-type]
        assert isinstance(system.parts, Parts)
        if embedder != "zero":
            await system.parts.embedder.embed_query("warm")
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        ticker = asyncio.create_task(lags(late))
        begun, cpu = time.perf_counter(), time.process_time()
        while await asyncio.to_thread(indexed, path) < count:  # noqa: ASYNC110 - another connection can only ask
            await asyncio.sleep(0.1)
        seconds, spent = time.perf_counter() - begun, time.process_time() - cpu
        ticker.cancel()
    late.sort()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    figures = {"seconds": seconds, "cpu": spent, "lag_p99": late[int(len(late) * 0.99)], "peak_mb": peak}
    print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    os.environ.setdefault("OPENBRAIN_LOGS__LEVEL", "WARNING")
    from openbrain import logs
    from openbrain.settings import Logs

    logs.configure(Logs(level="WARNING"))
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4], int(sys.argv[5])))
