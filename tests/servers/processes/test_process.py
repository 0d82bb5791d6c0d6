import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.servers.availability import USUAL, required
from tests.servers.places import ROOT, free_port
from tests.servers.plugin import Starter
from tests.servers.processes.process import Recipe, ServerError, ServerProcess
from tests.support.waiting import PATIENCE_S

OWNER = """
import sys, time
from tests.servers.processes.running import running
with running("redis") as servers:
    print(servers["redis"].pid, servers["redis"].folder, flush=True)
    time.sleep(600)
"""


def exists(pid: int) -> bool:
    """Whether the process runs; a zombie has ended, even if nobody has collected its status yet."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    return False


def eventually_gone(pid: int) -> bool:
    limit = time.monotonic() + PATIENCE_S
    while exists(pid) and time.monotonic() < limit:
        time.sleep(0.02)
    return not exists(pid)


@pytest.mark.servers("redis")
def test_a_server_ends_with_its_owner_however_the_owner_ends(private_server: Starter) -> None:
    private_server("redis")
    with subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True, cwd=ROOT) as owner:
        assert owner.stdout is not None
        pid, folder = owner.stdout.readline().split()
        assert exists(int(pid))
        owner.kill()
    assert eventually_gone(int(pid))
    limit = time.monotonic() + PATIENCE_S
    while Path(folder).exists() and time.monotonic() < limit:
        time.sleep(0.02)
    assert not Path(folder).exists()


@pytest.mark.servers("redis")
def test_a_server_ends_with_its_guard(private_server: Starter) -> None:
    server = private_server("redis")
    pid = server.pid
    guard = int(
        next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if "PPid" in line).split()[1]
    )
    os.kill(guard, signal.SIGKILL)
    assert eventually_gone(pid)
    deadline = time.monotonic() + PATIENCE_S
    while server.alive and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not server.alive


def test_a_server_that_ends_at_once_tells_its_last_words() -> None:
    with (
        pytest.raises(ServerError, match=r"ended while it started(.|\n)*no such setting"),
        ServerProcess(recipe("import sys; sys.exit('no such setting')", PATIENCE_S)),
    ):
        pass


def test_a_server_that_never_answers_is_killed() -> None:
    process = ServerProcess(recipe("import time; time.sleep(600)", 1.0))
    with pytest.raises(ServerError, match="didn't answer in 1 s"), process:
        pass
    assert not process.alive
    assert not process.folder.exists()


def test_a_program_that_is_not_there_is_an_error() -> None:
    with (
        pytest.raises(ServerError, match="No such file"),
        ServerProcess(Recipe("none", "", lambda _port, _data: ["/no/such/program"], lambda _port: False)),
    ):
        pass


def test_its_children_die_with_it() -> None:
    child = "import subprocess, time; print(subprocess.Popen(['sleep', '600']).pid, flush=True); time.sleep(600)"
    process = ServerProcess(
        Recipe("parent", "", lambda _port, _data: [sys.executable, "-c", child], lambda _port: True)
    )
    with process:
        while not process.tail():
            time.sleep(0.02)
        sleeper = int(process.tail())
        os.kill(process.pid, signal.SIGKILL)
        assert eventually_gone(sleeper)


def test_a_port_is_outside_the_range_of_outgoing_connections() -> None:
    lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    assert free_port() < lowest


def test_a_port_is_given_once_also_while_nothing_listens_there(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = free_port()
    picks, other = [taken, taken], random.randint
    monkeypatch.setattr("tests.servers.places.random.randint", lambda *ends: picks.pop() if picks else other(*ends))
    assert free_port() != taken
    assert picks == []


def test_the_required_servers_are_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert required("all") == set(USUAL)
    assert required("redis, mariadb") == {"redis", "mariadb"}
    monkeypatch.delenv("OPENBRAIN_REQUIRE_SERVERS", raising=False)
    assert required() == set()
    with pytest.raises(ValueError, match="names mongo"):
        required("mongo")


def recipe(code: str, patience: float) -> Recipe:
    return Recipe(
        "broken", "", lambda _port, _data: [sys.executable, "-c", code], lambda _port: False, patience=patience
    )
