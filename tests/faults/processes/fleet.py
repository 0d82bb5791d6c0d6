"""The service processes of one run: started from the zygote, watched, started again, stopped."""

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
"""What a pod has from SIGTERM to SIGKILL in deploy/k8s."""
RESTART_S = 0.3
"""After this long somebody starts a dead process again, as Kubernetes would."""


class Zygote:
    """The process that room processes are forked from. One at a time may ask.

    `root`: the checkout whose code they run. `more`: what its environment says beside this one.
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
        """The pid of a new process."""
        os.write(self._asks, orjson.dumps(asked) + b"\n")
        return self._answers.get(timeout=_START_S)["pid"]

    def close(self) -> None:
        """End it and all its children."""
        os.close(self._asks)
        self._wait(_START_S)
        self._listener.join()
        self._answered.close()


def _forked(asks: int, answers: int) -> Callable[[float], object]:
    """From the process that commands are forked from, which has this checkout's code imported. Returns its wait."""
    made = forked.context().Process(target=zygote.serve, args=(DupFd(asks), DupFd(answers)), name="zygote", daemon=True)
    made.start()
    return made.join


def _started(root: Path, more: Mapping[str, str], asks: int, answers: int) -> Callable[[float], object]:
    # Threads of numerical libraries don't survive a fork.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", **more}
    command = [sys.executable, "-m", "tests.faults.processes.zygote"]
    return subprocess.Popen(command, stdin=asks, stdout=answers, cwd=root, env=environment).wait


def hear(told: Mapping[str, int], ended: dict[int, int]) -> bool:
    """Note who ended; True for an answer to who asked. A pid that comes again is another process, and lives."""
    if "ended" in told:
        ended[told["ended"]] = told["status"]
        return False
    ended.pop(told.get("pid", 0), None)
    return True


@dataclass
class Process:
    """One service process, through all its lives."""

    service: str
    name: str
    port: int
    log: Path
    environment: dict[str, str]
    plan: dict[str, Any]
    zygote: Zygote
    """What its present life was forked from."""
    pid: int = 0
    wanted: bool = True
    """Whether it is started again when it ends."""
    hold_s: float = 0.0
    """How long it stays stopped when a mark stops it."""
    asked: bool = False
    """Whether it was told to end, and is started again after that."""
    lives: int = 0
    stopped_at: float = 0.0
    ended_at: float = 0.0
    statuses: list[int] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


class Fleet:
    """Starts, watches and restarts. `environment`: what every process is told."""

    def __init__(self, zygote: Zygote, environment: Mapping[str, str], folder: Path, *, mutant: str = "") -> None:
        self._zygote, self._environment, self._folder, self._mutant = zygote, dict(environment), folder, mutant
        self.processes: list[Process] = []
        self._watching: asyncio.Task[None] | None = None
        self.unexpected: list[str] = []
        """Processes that ended by themselves."""

    def start(
        self, service: str, *, plan: Mapping[str, Any] | None = None, data: Path | None = None, **other: str
    ) -> Process:
        """`plan`: for its first life only, but for a mutant, which all have."""
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
        # A clock stays wrong until somebody sets it right.
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
        """From now on: whoever is started or restarted runs this one's code."""
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
        """Kill it and start it again at once without its plan: another host took over."""
        process.plan = {}
        self.signal(process, signal.SIGKILL)

    async def restart(self, process: Process) -> float:
        """As a rolling restart does it: asked to end, started anew, ready. How long its end took, in seconds."""
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
                process.port = free_port()  # somebody else on this machine was quicker
            elif process.wanted and status != (0 if process.asked else -signal.SIGKILL):
                self.unexpected.append(f"{process.name} ended with {status}")
        if process.wanted and now - process.ended_at >= RESTART_S:
            self._spawn(process)

    async def ready(self, process: Process) -> None:
        """Wait until it answers /ready."""
        deadline = time.monotonic() + _START_S
        async with httpx.AsyncClient(timeout=5) as http:
            while time.monotonic() < deadline:
                with contextlib.suppress(httpx.HTTPError):
                    if (await http.get(f"{process.url}/ready")).status_code == 200:
                        return
                await asyncio.sleep(0.05)
        raise TimeoutError(f"{process.name} did not become ready:\n{tail(process.log)}")

    async def stop(self) -> None:
        """End all: asked first, then killed."""
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
    """The marks that a process passed."""
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
    """The end of what a process wrote."""
    return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:]) if log.exists() else ""
