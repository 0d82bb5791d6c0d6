"""Services as separate processes on real servers, started as an operator starts them."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from tests.servers.places import free_port
from tests.support.processes.forked import Forked
from tests.support.processes.short_pauses import shorten
from tests.support.waiting import PATIENCE_S, until

OPENBRAIN = Path(sys.executable).parent / "openbrain"


@dataclass
class Process:
    """One `openbrain run`."""

    service: str
    port: int
    popen: "subprocess.Popen[bytes] | Forked"
    log: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def kill(self) -> None:
        """Kill it, as the kernel does when memory runs out."""
        self.popen.kill()
        self.popen.wait()

    def stop(self) -> int:
        """Send SIGTERM, as Kubernetes does; return the exit status."""
        self.popen.send_signal(signal.SIGTERM)
        return self.popen.wait(timeout=PATIENCE_S)

    async def ready(self) -> None:
        """Wait until /ready answers 200."""

        # Without certificates, which take longer to load than the request takes.
        async with httpx.AsyncClient(verify=False) as http:

            async def answers() -> bool:
                assert self.popen.poll() is None, self.log.read_text(encoding="utf-8")[-3000:]
                try:
                    return (await http.get(f"{self.url}/ready")).status_code == 200
                except httpx.HTTPError:
                    return False

            await until(answers, pause=0.05)


@dataclass
class Services:
    """Starts services with one environment and short pauses, and ends those still running.

    installed: start the installed program as a shell would, instead of a fork of a process that has everything
    imported.
    """

    environment: Mapping[str, str]
    folder: Path
    installed: bool = False
    started: list[Process] = field(default_factory=list)

    def start(self, service: str, **other: str) -> Process:
        """`other`: settings of this service only."""
        return self.start_at(free_port(), service, **other)

    def start_at(self, port: int, service: str, **other: str) -> Process:
        """Start it on this port, in place of one that was killed."""
        log = self.folder / f"{service}-{len(self.started)}.log"
        words = ["run", service, "--port", str(port)]
        env = {**os.environ, **self.environment, **other}
        with log.open("wb") as out, open(os.devnull, "rb") as nothing:  # noqa: PTH123 - no path of ours
            popen: subprocess.Popen[bytes] | Forked
            if self.installed:
                # In a session of its own, as in a container: a kernel that shares CPU time among sessions then gives
                # each its own share.
                popen = subprocess.Popen([OPENBRAIN, *words], env=env, stdout=out, stderr=out, start_new_session=True)
            else:
                stdin, told = nothing.fileno(), out.fileno()
                popen = Forked(words, env=env, cwd=Path.cwd(), stdin=stdin, out=told, err=told, before=shorten)
        process = Process(service, port, popen, log)
        self.started.append(process)
        return process

    async def all_ready(self) -> None:
        await asyncio.gather(*(each.ready() for each in self.started if each.popen.poll() is None))


@contextmanager
def services(environment: Mapping[str, str], folder: Path, *, installed: bool = False) -> Iterator[Services]:
    """Yield the services; end every process afterwards, whatever happened."""
    made = Services(environment, folder, installed)
    try:
        yield made
    finally:
        for each in made.started:
            if each.popen.poll() is None:
                each.popen.terminate()
        for each in made.started:
            try:
                each.popen.wait(timeout=PATIENCE_S)
            except subprocess.TimeoutExpired:
                each.popen.kill()
                each.popen.wait()
