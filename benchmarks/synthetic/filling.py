"""Fill a store in steps through the bulk ports of store and indexes, while no service runs: nothing is published, and
searches need not see the writes at once.

python -m benchmarks.synthetic.filling FOLDER COUNT SETTINGS; prints the time as JSON.
"""

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.support.filling import announced, indexed, stored
from benchmarks.support.zero_cost import zero_cost_parts
from benchmarks.synthetic.memories import SyntheticVectors, synthetic_submission
from openbrain.adapters.sql.schema.commands import upgrade
from openbrain.adapters.sql.store import store_url
from openbrain.observability import logs
from openbrain.ports.store.generations import GenerationStatus, IndexKind
from openbrain.ports.store.index_entries import Mark
from openbrain.runtime.container import Container
from openbrain.settings import Logs, Settings
from openbrain_cli.operators.bootstrap_keys import WORKSPACE, ensure_workspace
from openbrain_embedder.handlers.embedding import embed_stored
from openbrain_indexer.handlers.text import project_text
from openbrain_indexer.handlers.vectors import project_vector

STEP = 2000
AHEAD = 2
"""Steps that the store may be ahead of the indexes."""
REFRESH_MS = 60_000
"""Used if the index has this setting, so that it is written in few large parts."""


async def fill_in_bulk(container: Container, count: int) -> float:
    """Fill up to `count` memories, in both indexes when this returns. Return the seconds that it took."""
    begun = time.perf_counter()
    await ensure_workspace(container.store.workspaces, container.clock, WORKSPACE)
    there = max(0, await indexed(container) // STEP - AHEAD) * STEP  # memories stored again are found as duplicates
    indexing: list[asyncio.Task[None]] = []
    for start in range(there, count, STEP):
        ids = await _stored(container, range(start, min(start + STEP, count)))
        indexing.append(asyncio.create_task(_indexed(container, ids)))
        if len(indexing) > AHEAD:
            await indexing.pop(0)
        if start // STEP % 25 == 0:
            print(f"{start:,} in {time.perf_counter() - begun:.0f} s", file=sys.stderr, flush=True)
    await asyncio.gather(*indexing)
    return time.perf_counter() - begun


async def _stored(container: Container, numbers: Sequence[int]) -> Sequence[str]:
    """Store rows, history and vectors; return the ids."""
    ids = await stored(container, [synthetic_submission(number) for number in numbers])
    await _forget_events(container)
    events = announced(ids)
    store, clock = container.store, container.clock
    if await embed_stored(events, store=store, embedder=container.embedder, clock=clock, batch=STEP):
        raise SystemExit("some memories could not be embedded")
    await _forget_events(container)
    return ids


async def _forget_events(container: Container) -> None:
    while entries := await container.store.outbox.take(2 * STEP):
        await container.store.outbox.delete([entry.id for entry in entries])


async def _indexed(container: Container, ids: Sequence[str]) -> None:
    """Write entries and marks. Write as to a generation that is being built, which does not wait for searches."""
    text, vectors = await container.text_generation(), await container.vector_generation()
    beside = [replace(each, status=GenerationStatus.BUILDING) for each in (text, vectors)]
    store = container.store
    failed = await asyncio.gather(
        project_text(ids, store=store, index=container.text, generations=beside[:1]),
        project_vector(ids, store=store, index=container.vectors, generations=beside[1:]),
    )
    if any(failed):
        raise SystemExit("some memories could not be indexed")
    for kind in IndexKind:
        await store.index_marks.mark(kind, [Mark(each, 1) for each in ids])


async def main(folder: Path, count: int, given: dict[str, Any]) -> None:
    """Create the schema if it is missing, and fill."""
    tuning = given.get("text", {}).get("tuning")
    if tuning is not None:
        tuning["refresh_ms"] = REFRESH_MS
    settings = Settings(data_dir=folder, **given)
    await asyncio.to_thread(upgrade, store_url(settings.truth.url, folder))
    container = zero_cost_parts(settings, SyntheticVectors())
    async with container:
        seconds = await fill_in_bulk(container, count)
    print(json.dumps({"seconds": seconds}), flush=True)


if __name__ == "__main__":
    logs.configure(Logs(level="WARNING"))
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3])))
