"""`openbrain hook` from start to exit: the time that a coding agent waits at every event.

CPU time of the process, and of an interpreter that does nothing. The brain is unreachable and the transcript contains
no marker, so that no network time is included.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from benchmarks.support.report import Report, Row

NAME = "hook_start"
GOAL_S = 0.15
NOTHING = (sys.executable, "-c", "pass")
HOOK = (sys.executable, "-c", "from openbrain_cli import start; start()", "hook")
EVENTS: Mapping[str, Mapping[str, object]] = {
    "session-start": {"hook_event_name": "SessionStart", "source": "startup"},
    "file": {"hook_event_name": "PreToolUse", "tool_name": "Read", "tool_input": {"file_path": "/home/ada/shop/a.py"}},
    "prompt": {"hook_event_name": "UserPromptSubmit", "prompt": "go on"},
    "stop": {"hook_event_name": "Stop"},
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Repeats."""
    parser.add_argument("--hook-start-repeats", type=int, default=7)


def run(options: argparse.Namespace) -> Report:
    """Measure all events alternately, after a round that compiles the modules."""
    with tempfile.TemporaryDirectory() as name:
        folder = _connection(Path(name))
        rounds = [_round(folder) for _ in range(options.hook_start_repeats + 1)][1:]
    nothing = tuple(each[0] for each in rounds)
    rows = []
    for number, event in enumerate(EVENTS, 1):
        used = tuple(each[number] for each in rounds)
        ratios = tuple(one / base for one, base in zip(used, nothing, strict=True))
        rows.append(Row(f"hook {event}, start to end", "s", used, goal=GOAL_S, at_most=True))
        rows.append(Row(f"hook {event}", "s", used, "an interpreter that does nothing", ratios))
    return Report(NAME, tuple(rows), ("Seconds of the processor, user and system.",))


def _connection(data: Path) -> Path:
    folder = data / "agents" / "claude-code"
    folder.mkdir(parents=True)
    (folder / "key").write_text("ob_" + "x" * 43)
    (folder / "key").chmod(0o600)
    record = {"client": "claude-code", "agent": "ada", "url": "http://127.0.0.1:9", "data": str(data)}
    (folder / "connection.json").write_text(json.dumps(record))
    (data / "transcripts.json").write_text('{"read": true}')
    (data / "session.jsonl").write_text('{"type": "user", "message": {"content": "hello"}}\n' * 1000)
    return folder


def _round(folder: Path) -> tuple[float, ...]:
    transcript = str(folder.parents[1] / "session.jsonl")
    common = {"session_id": "s", "cwd": "/home/ada/shop", "transcript_path": transcript}
    costs = [_cost(NOTHING, b"")]
    for event, given in EVENTS.items():
        for left in (folder / "sessions").glob("*"):
            left.unlink()
        costs.append(_cost((*HOOK, event, "--connection", str(folder)), json.dumps({**common, **given}).encode()))
    return tuple(costs)


def _cost(command: tuple[str, ...], said: bytes) -> float:
    environment = {"HOME": "/nowhere", "PATH": os.environ.get("PATH", "")}
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("the process has no streams")
    process.stdin.write(said)
    process.stdin.close()
    process.stdout.read()
    process.stdout.close()
    used = os.wait4(process.pid, 0)[2]
    process.returncode = 0  # has been awaited
    return used.ru_utime + used.ru_stime
