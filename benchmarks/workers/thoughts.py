"""The process that benchmark `thoughts` measures: conversations of one agent on embedded parts, and its API.

python -m benchmarks.workers.thoughts FOLDER COUNT; prints its address as JSON, then waits until its input closes.
"""

import asyncio
import sys
from pathlib import Path

from benchmarks.workers.served import served
from openbrain.domain.events.submission import Submission
from openbrain.domain.memory import MemoryType, Scope
from openbrain_cli.system import event_loop

TURNS = 500
"""Thoughts of one session."""


def turn(number: int, text: str) -> Submission:
    session = f"agent:main:s{number // TURNS}"
    return Submission(
        content=text,
        type=MemoryType.CONTEXT,
        memory_scope=Scope.AGENT,
        session_id=session,
        turn=number % TURNS,
        metadata={"sessionId": session, "turn": number % TURNS, "role": ("user", "assistant")[number % 2]},
        source="openclaw:main",
    )


async def main(folder: Path, count: int) -> None:
    async with served(folder, count, turn, "main"):
        await asyncio.to_thread(sys.stdin.readline)


if __name__ == "__main__":
    from openbrain.observability import logs
    from openbrain.settings import Logs

    logs.configure(Logs(level="WARNING"))
    event_loop.run(main(Path(sys.argv[1]), int(sys.argv[2])))
