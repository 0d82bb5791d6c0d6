"""The process that benchmark `context` measures: memories of an agent and its projects on embedded parts, and its API.

python -m benchmarks.workers.context FOLDER COUNT; prints its address as JSON, then its CPU time for every input line.
"""

import asyncio
import json
import sys
import time
from pathlib import Path

from benchmarks.support.texts import TYPES, spread
from benchmarks.workers.served import served
from openbrain.domain.events.submission import Submission
from openbrain.domain.memory import MemoryType, Scope
from openbrain_cli.system import event_loop

PROJECTS = 20


def note(number: int, text: str) -> Submission:
    """One in ten is the agent's own; the others belong to its projects and have all types."""
    return Submission(
        content=text,
        type=MemoryType(spread(TYPES, number)),
        org=("acme", "globex")[number % 2],
        project=f"p{number % PROJECTS}",
        memory_scope=Scope.AGENT if number % 10 == 0 else Scope.PROJECT,
        tags=(f"t{number % 7}",),
    )


async def main(folder: Path, count: int) -> None:
    async with served(folder, count, note, "main"):
        while await asyncio.to_thread(sys.stdin.readline):
            print(json.dumps({"seconds": time.process_time()}), flush=True)


if __name__ == "__main__":
    from openbrain.observability import logs
    from openbrain.settings import Logs

    logs.configure(Logs(level="WARNING"))
    event_loop.run(main(Path(sys.argv[1]), int(sys.argv[2])))
