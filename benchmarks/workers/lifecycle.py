"""The process that benchmarks `lifecycle` and `growth` measure: python -m benchmarks.workers.lifecycle FOLDER COUNT
[SETTINGS].

SETTINGS: JSON; without any all parts are embedded. Answers each input line: `reindex text` and `reindex
vector` with the seconds that it took, others with the memory of the process.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.support.memory import held_mb
from benchmarks.workers.reindex import made_anew
from benchmarks.workers.served import served
from openbrain.observability import logs
from openbrain.ports.store.generations import IndexKind
from openbrain.settings import Logs
from openbrain_cli.system import event_loop


async def main(folder: Path, count: int, settings: dict[str, Any]) -> None:
    async with served(folder, count, settings=settings) as container:
        while line := await asyncio.to_thread(sys.stdin.readline):
            command, _, index = line.strip().partition(" ")
            if command == "reindex":
                answer = await made_anew(container, IndexKind(index))
            else:
                answer = {"held_mb": held_mb()}
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    logs.configure(Logs(level="WARNING"))
    given = json.loads(sys.argv[3]) if len(sys.argv) > 3 else {}
    event_loop.run(main(Path(sys.argv[1]), int(sys.argv[2]), given))
