"""Forks service processes from one that has everything imported: a fork, or `python -m tests.faults.processes.zygote`.

Reads one JSON object per line, starts the service it describes as a separate process, answers with its pid and reports
the end of each. The child runs the command that an operator types (`openbrain run SERVICE` or `openbrain up`), after
the launcher's wrappers (`inside.py`) were installed. When the input closes, every child is killed.
"""

import ctypes
import gc
import importlib
import os
import select
import signal
import sys
import traceback
from pathlib import Path
from typing import Any

import orjson

from tests.support.processes.forked import leave_server

_PR_SET_PDEATHSIG = 1
_TICK_S = 0.02
_IMPORTED = (
    *("openbrain_ingest.app", "openbrain_embedder.app", "openbrain_indexer.app", "openbrain_housekeeper.app"),
    "openbrain_matcher.app",
    *(
        "openbrain_api.app",
        "openbrain_mcp.app",
        "openbrain_cli.system.run",
        "openbrain_cli.system.up",
        "openbrain_cli.system.embedded.pipeline",
    ),
    *(
        "openbrain.adapters.elasticsearch.text",
        "openbrain.adapters.elasticsearch.vectors",
        "openbrain.adapters.embedding.ollama",
    ),
    *("openbrain.adapters.sql.store", "openbrain.adapters.redis.rates", "openbrain.streams.publishing.wake", "uvloop"),
    *("aiomysql", "aiohttp", "uvicorn", "httptools", "tests.faults.processes.inside"),
)


def serve(asks: Any, answers: Any) -> None:
    """Run in a fork: read requests from `asks`, write to `answers`."""
    leave_server()
    for number, file in enumerate((asks, answers)):
        held = file.detach()
        os.dup2(held, number)
        os.close(held)
    main()


def main() -> None:
    """Serve until the input closes."""
    for name in _IMPORTED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    children: set[int] = set()
    buffer = b""
    _tell({"ready": os.getpid()})
    while True:
        readable, _, _ = select.select([0], [], [], _TICK_S)
        if readable:
            more = os.read(0, 65536)
            if not more:
                break
            buffer += more
            *lines, buffer = buffer.split(b"\n")
            for line in lines:
                pid = _fork(orjson.loads(line))
                children.add(pid)
                _tell({"pid": pid})
        for pid, status in _ended(children):
            _tell({"ended": pid, "status": status})
    for pid in children:
        os.kill(pid, signal.SIGKILL)


def _ended(children: set[int]) -> list[tuple[int, int]]:
    found = []
    for pid in list(children):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            children.discard(pid)
            found.append((pid, os.waitstatus_to_exitcode(status)))
    return found


def _tell(what: dict[str, Any]) -> None:
    os.write(1, orjson.dumps(what) + b"\n")


def _fork(asked: dict[str, Any]) -> int:
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        status = _run(asked)
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    except BaseException:  # noqa: BLE001 - whatever it was, it goes into the service's log and the process ends
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _run(asked: dict[str, Any]) -> int:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDONLY)
    log = os.open(asked["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(nothing, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.environ.update(asked["environment"])
    from tests.faults.processes import inside

    inside.prepare(asked["plan"])
    from openbrain.domain.errors import OpenBrainError

    try:
        if asked["room"] == "up":
            from openbrain_cli.system.up import up

            up(data=Path(asked["data"]), port=asked["port"])
        else:
            from openbrain_cli.system.run import run

            run(service=asked["room"], host=None, port=asked["port"])
    except OpenBrainError as error:
        print(f"openbrain: {error}", file=sys.stderr)  # noqa: T201 - it is the process's own log
        return 2
    return 0


if __name__ == "__main__":
    main()
