"""The service processes of one run: forked from the zygote, watched, restarted, stopped."""

import asyncio
import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import Any

import httpx
import orjson

from tests.faults.processes import zygote
from tests.faults.processes.inside import STRUCK
from tests.servers.places import ROOT, free_port
from tests.support.processes import forked
from tests.support.waiting import PATIENCE_S

_START_S = PATIENCE_S
GRACE_S = 90.0
"""Time between SIGTERM and SIGKILL for a pod in deploy/k8s."""
RESTART_S = 0.3
"""A dead process is restarted after this time, as Kubernetes would."""


class Zygote:
    """The process from which service processes are forked. It takes one request at a time.

    `root`: the checkout whose code they run. `more`: environment variables in addition to those of this process.
    """

    def __init__(self, root: Path = ROOT, more: Mapping[str, str] | None = None) -> None:
        read, self._asks = os.pipe()
        answers, write = os.pipe()
        self._answered = os.fdopen(answers, "rb")
        self._wait = _forked(read, write) if root == ROOT else _started(root, more or {}, read, write)
        os.close(read)
        os.close(write)
        self.ended: dict[int, int] = {}
        """Exit status (negative: the signal) of each process that ended."""
        self._answers: queue.Queue[dict[str, int]] = queue.Queue()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        self._answers.get(timeout=_START_S)

    def _listen(self) -> None:
        for line in self._answered:
            told = orjson.loads(line)
            if hear(told, self.ended):
                self._answers.put(told)

    def fork(self, asked: Mapping[str, Any]) -> int:
        """Return the pid of a new process."""
        os.write(self._asks, orjson.dumps(asked) + b"\n")
        return self._answers.get(timeout=_START_S)["pid"]

    def close(self) -> None:
        """End the zygote and all its children."""
        os.close(self._asks)
        self._wait(_START_S)
        self._listener.join()
        self._answered.close()


def _forked(asks: int, answers: int) -> Callable[[float], object]:
    """Fork the zygote from the command fork server, which has this checkout's code imported. Return its `join`."""
    made = forked.context().Process(target=zygote.serve, args=(DupFd(asks), DupFd(answers)), name="zygote", daemon=True)
    made.start()
    return made.join


def _started(root: Path, more: Mapping[str, str], asks: int, answers: int) -> Callable[[float], object]:
    # Threads of numerical libraries don't survive a fork.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", **more}
    command = [sys.executable, "-m", "tests.faults.processes.zygote"]
    return subprocess.Popen(command, stdin=asks, stdout=answers, cwd=root, env=environment).wait


def hear(told: Mapping[str, int], ended: dict[int, int]) -> bool:
    """Record the exit status if a process ended; return True for the answer to a request. A reused pid is a new,
    running process, so its old status is dropped."""
    if "ended" in told:
        ended[told["ended"]] = told["status"]
        return False
    ended.pop(told.get("pid", 0), None)
    return True


@dataclass
class Process:
    """One service process across all its restarts."""

    service: str
    name: str
    port: int
    log: Path
    environment: dict[str, str]
    plan: dict[str, Any]
    zygote: Zygote
    """The zygote that the current process was forked from."""
    pid: int = 0
    wanted: bool = True
    """Whether it is restarted when it ends."""
    hold_s: float = 0.0
    """How long the process stays stopped when a mark stops it."""
    asked: bool = False
    """Whether it was asked to end and is to be restarted after that."""
    lives: int = 0
    stopped_at: float = 0.0
    ended_at: float = 0.0
    statuses: list[int] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


class Fleet:
    """Starts, watches and restarts processes. `environment`: environment variables of every process."""

    def __init__(self, zygote: Zygote, environment: Mapping[str, str], folder: Path, *, mutant: str = "") -> None:
        self._zygote, self._environment, self._folder, self._mutant = zygote, dict(environment), folder, mutant
        self.processes: list[Process] = []
        self._watching: asyncio.Task[None] | None = None
        self.unexpected: list[str] = []
        """Processes that ended without being asked or killed."""

    def start(
        self, service: str, *, plan: Mapping[str, Any] | None = None, data: Path | None = None, **other: str
    ) -> Process:
        """`plan`: for the first start only; restarts keep nothing of it but the clock skew."""
        name = f"{service}-{len(self.processes)}"
        environment = {**self._environment, **other}
        log = self._folder / f"{name}.log"
        process = Process(service, name, free_port(), log, environment, dict(plan or {}), self._zygote)
        if data is not None:
            process.environment["OPENBRAIN_DATA_DIR"] = str(data)
        process.hold_s = max((mark.get("seconds", 0) for mark in process.plan.get("marks", ())), default=0.0)
        self.processes.append(process)
        self._spawn(process)
        if self._watching is None:
            self._watching = asyncio.create_task(self._watch())
        return process

    def _spawn(self, process: Process) -> None:
        plan = process.plan if process.lives == 0 else {}
        # A wrong clock stays wrong across restarts until `plan` is cleared.
        plan = {**plan, "mutant": self._mutant, "skew_s": process.plan.get("skew_s", 0)}
        process.zygote = self._zygote
        process.pid = self._zygote.fork(
            {
                "room": process.service,
                "port": process.port,
                "log": str(process.log),
                "environment": process.environment,
                "plan": plan,
                "data": process.environment.get("OPENBRAIN_DATA_DIR", ""),
            }
        )
        process.lives += 1
        process.ended_at = process.stopped_at = 0.0

    def fork_from(self, zygote: Zygote) -> None:
        """Use this zygote from now on: processes started or restarted later run its code."""
        self._zygote = zygote

    def of(self, service: str) -> list[Process]:
        return [each for each in self.processes if each.service == service]

    def alive(self, process: Process) -> bool:
        return bool(process.pid) and process.pid not in process.zygote.ended

    def signal(self, process: Process, number: signal.Signals) -> None:
        if self.alive(process):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, number)

    def replace(self, process: Process) -> None:
        """Kill it and restart it at once without its plan, as if another host took over."""
        process.plan = {}
        self.signal(process, signal.SIGKILL)

    async def restart(self, process: Process) -> float:
        """Restart it as a rolling restart does: SIGTERM, start, wait until ready. Return the seconds that it took to
        end."""
        began, life = time.monotonic(), process.lives
        process.asked = True
        self.signal(process, signal.SIGTERM)
        while self.alive(process) and process.lives == life and time.monotonic() - began < GRACE_S:
            await asyncio.sleep(0.02)
        ended_s = time.monotonic() - began
        if ended_s >= GRACE_S:
            self.signal(process, signal.SIGKILL)
        while process.lives == life:
            await asyncio.sleep(0.02)
        process.asked = False
        await self.ready(process)
        return ended_s

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(0.03)
            now = time.monotonic()
            for process in self.processes:
                if not self.alive(process):
                    self._bring_back(process, now)
                elif process.hold_s and _is_stopped(process.pid):
                    process.stopped_at = process.stopped_at or now
                    if now - process.stopped_at >= process.hold_s:
                        self.signal(process, signal.SIGCONT)
                        process.stopped_at = 0.0

    def _bring_back(self, process: Process, now: float) -> None:
        if not process.ended_at:
            process.ended_at = now
            status = process.zygote.ended.get(process.pid, 0)
            process.statuses.append(status)
            if "address already in use" in tail(process.log, 5):
                process.port = free_port()  # another process of this machine took the port
            elif process.wanted and status != (0 if process.asked else -signal.SIGKILL):
                self.unexpected.append(f"{process.name} ended with {status}")
        if process.wanted and now - process.ended_at >= RESTART_S:
            self._spawn(process)

    async def ready(self, process: Process) -> None:
        """Wait until /ready answers 200."""
        deadline = time.monotonic() + _START_S
        async with httpx.AsyncClient(timeout=5, verify=False) as http:
            while time.monotonic() < deadline:
                with contextlib.suppress(httpx.HTTPError):
                    if (await http.get(f"{process.url}/ready")).status_code == 200:
                        return
                await asyncio.sleep(0.05)
        raise TimeoutError(f"{process.name} did not become ready:\n{tail(process.log)}")

    async def stop(self) -> None:
        """End all processes: SIGTERM first, then SIGKILL."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
        for process in self.processes:
            process.wanted = False
            self.signal(process, signal.SIGCONT)
            self.signal(process, signal.SIGTERM)
        deadline = time.monotonic() + 15
        while any(map(self.alive, self.processes)) and time.monotonic() < deadline:
            await asyncio.sleep(0.02)
        for process in self.processes:
            self.signal(process, signal.SIGKILL)
        while any(map(self.alive, self.processes)):
            await asyncio.sleep(0.02)
        for process in self.processes:
            if not process.ended_at:
                process.statuses.append(process.zygote.ended.get(process.pid, 0))


def struck(log: Path) -> list[str]:
    """Return the marks that a process reached, from its log."""
    if not log.exists():
        return []
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return [line.removeprefix(STRUCK) for line in lines if line.startswith(STRUCK)]


def _is_stopped(pid: int) -> bool:
    try:
        return "\nState:\tT" in Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return False


def tail(log: Path, lines: int = 25) -> str:
    """Return the last lines of a process's log."""
    return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:]) if log.exists() else ""
