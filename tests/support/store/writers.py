"""Writers in separate processes that start together: forks of a process that has everything imported."""

import asyncio
from collections.abc import Mapping
from multiprocessing.connection import Connection
from typing import Any

from openbrain.adapters.sql.engine.opening import open_database
from openbrain.adapters.sql.writes.writing import SqlMemoryWrites
from tests.support.processes.forked import context, end_with_parent
from tests.support.store.fixtures import FakeClock, patiently, write
from tests.support.waiting import PATIENCE_S

Answer = tuple[str, str | None, str | None]
"""(status, memory, head)"""


async def written_together(url: str, processes: int, each: int, changes: Mapping[str, Any]) -> list[Answer]:
    """Return the results of `each` writes per process; all processes start when the last one is ready."""
    links = []
    for number in range(processes):
        link, theirs = context().Pipe()
        process = context().Process(target=_writer, args=(theirs, url, number, each, dict(changes)), daemon=True)
        process.start()
        theirs.close()
        links.append((process, link))
    for _, link in links:
        assert await asyncio.to_thread(link.recv) == "ready"
    for _, link in links:
        link.send("go")
    answers = [await asyncio.to_thread(link.recv) for _, link in links]
    for process, link in links:
        await asyncio.to_thread(process.join, PATIENCE_S)
        assert process.exitcode == 0
        link.close()
    return [answer for some in answers for answer in some]


def _writer(link: "Connection[Any, Any]", url: str, number: int, each: int, changes: dict[str, Any]) -> None:
    end_with_parent()
    asyncio.run(_written(link, url, number, each, changes))


async def _written(link: "Connection[Any, Any]", url: str, number: int, each: int, changes: dict[str, Any]) -> None:
    database = open_database(url, pool=8, lock_wait_s=PATIENCE_S)
    writing = SqlMemoryWrites(database, FakeClock())
    await writing.remember([write(f"ready {number}")])
    content = changes.pop("content", None)
    link.send("ready")
    link.recv()
    calls = [patiently(writing, [write(content or f"{number}-{place}", **changes)]) for place in range(each)]
    outcomes = [outcome for (outcome,) in await asyncio.gather(*calls)]
    await database.close()
    link.send(
        [
            (each.status.value, each.memory.id if each.memory else None, getattr(each.error, "head", None))
            for each in outcomes
        ]
    )
