"""The process that benchmarks `pipeline` and `embedding` measure: every service on embedded parts, pinned to one core.

python -m benchmarks.workers.pipeline FOLDER REDIS_URL zero|minilm BATCH; measures from one line of its input to the
next, and prints one JSON object.
"""

import asyncio
import json
import os
import sys
import time
from pathlib import Path

from benchmarks.support.memory import peak_mb
from openbrain.runtime.container import Container
from openbrain.settings import Settings, Streams
from openbrain_cli.system import event_loop
from openbrain_cli.system.embedded.pipeline import running

TICK_S = 0.005


async def lags(out: list[float]) -> None:
    """Milliseconds by which the event loop wakes up late."""
    while True:
        begun = time.perf_counter()
        await asyncio.sleep(TICK_S)
        out.append((time.perf_counter() - begun - TICK_S) * 1000)


async def main(folder: Path, redis_url: str, embedder: str, batch: int) -> None:
    streams = Streams(url=redis_url, batch=batch)
    settings = Settings(data_dir=folder, streams=streams)
    made: object = None
    if embedder == "zero":
        from benchmarks.support.zero_cost import zero_cost_parts

        made = zero_cost_parts
    late: list[float] = []
    async with running(settings, made) as system:  # type: ignore[arg-type]
        assert isinstance(system.container, Container)
        if embedder != "zero":
            await system.container.embedder.embed_query("warm")
        await system.container.content_policy.ready()
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        # While a model uses the core, lag means nothing, and measuring it hundreds of times a second costs time.
        ticker = asyncio.create_task(lags(late)) if embedder == "zero" else None
        begun, cpu = time.perf_counter(), time.process_time()
        await asyncio.to_thread(sys.stdin.readline)
        seconds, spent = time.perf_counter() - begun, time.process_time() - cpu
        if ticker is not None:
            ticker.cancel()
    late.sort()
    lag = late[int(len(late) * 0.99)] if late else 0.0
    figures = {"seconds": seconds, "cpu": spent, "lag_p99": lag, "peak_mb": peak_mb()}
    print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    os.environ.setdefault("OPENBRAIN_LOGS__LEVEL", "WARNING")
    from openbrain.observability import logs
    from openbrain.settings import Logs

    logs.configure(Logs(level="WARNING"))
    event_loop.run(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])))
