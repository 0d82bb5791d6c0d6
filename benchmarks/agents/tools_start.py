"""`openbrain mcp` from its start to the answer of `tools/list`: the time that an agent waits at every start.

CPU time of the process, and of one that only imports the MCP library. Measured with a running brain, and without one:
then it is started in the same process, after the tools were listed.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks.support.report import Report, Row

NAME = "tools_start"
GOAL_S = 0.6
LIBRARY = (sys.executable, "-c", "import mcp.server")
TOOLS = (str(Path(sys.executable).with_name("openbrain")), "mcp")
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "benchmark", "version": "1"}}
MESSAGES = (
    {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}},
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Repeats."""
    parser.add_argument("--tools-start-repeats", type=int, default=7)


def run(options: argparse.Namespace) -> Report:
    """Measure all sides alternately, after a round that compiles the modules."""
    rounds = [_round() for _ in range(options.tools_start_repeats + 1)][1:]
    library, named, own = (tuple(each[side] for each in rounds) for side in range(3))
    against = "the MCP library imported, nothing else"
    return Report(
        NAME,
        (
            Row("to the list of tools, with a brain that runs elsewhere", "s", named, goal=GOAL_S, at_most=True),
            Row("to the list of tools, where none runs", "s", own, goal=GOAL_S, at_most=True),
            Row("with a brain that runs elsewhere", "s", named, against, _ratios(named, library)),
            Row("where none runs", "s", own, against, _ratios(own, library)),
        ),
        ("Seconds of the processor, user and system.",),
    )


def _round() -> tuple[float, float, float]:
    with tempfile.TemporaryDirectory() as folder:
        home = {"HOME": folder, "PATH": os.environ.get("PATH", "")}
        elsewhere = {"OPENBRAIN_URL": "http://127.0.0.1:1", "OPENBRAIN_API_KEY": "ob_" + "x" * 43}
        return _cost(LIBRARY, home, ()), _cost(TOOLS, home | elsewhere, MESSAGES), _cost(TOOLS, home, MESSAGES)


def _cost(command: Sequence[str], environment: Mapping[str, str], messages: Iterable[Mapping[str, object]]) -> float:
    """Run until the last message is answered; without messages, until the process exits."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
    assert process.stdin
    assert process.stdout
    for message in messages:
        process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()
        if "id" in message and json.loads(process.stdout.readline())["id"] != message["id"]:
            raise RuntimeError("the answer is another message's")
    if messages:
        process.kill()
    used = os.wait4(process.pid, 0)[2]
    process.returncode = 0  # has been awaited
    process.stdin.close()
    process.stdout.close()
    return used.ru_utime + used.ru_stime


def _ratios(side: Sequence[float], other: Sequence[float]) -> tuple[float, ...]:
    return tuple(one / base for one, base in zip(side, other, strict=True))
