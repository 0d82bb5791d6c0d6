"""Both packages installed from wheels, the system and its client, without the repository.

Installing what the system needs takes most of the time, but nothing less shows that a wheel is complete.
"""

import os
import signal
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers.places import ROOT
from tests.servers.plugin import need
from tests.servers.tools.python_clients import HATCHLING, make_environment, package_install
from tests.support.cli.terminal import wait_until
from tests.support.waiting import PATIENCE_S

pytestmark = [pytest.mark.servers("hatchling"), pytest.mark.timeout(900)]
CLIENT = """
import asyncio, sys
from openbrain import SyncOpenBrain, subscribe

url, key = sys.argv[1:]
with SyncOpenBrain(url, key) as brain:
    brain.remember({"content": "Deploys are on Tuesdays.", "type": "convention"}, wait=30)
    print(brain.recall("when do we deploy?").memories[0].content)

async def hear():
    heard = asyncio.Queue()
    async with subscribe(heard.put, url=url, key=key):
        await asyncio.to_thread(SyncOpenBrain(url, key).raise_signal, source="disk", severity="warning", title="full")
        print((await heard.get()).title)

asyncio.run(hear())
"""


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    need("hatchling")
    folder = tmp_path_factory.mktemp("wheels")
    for project in (ROOT / "shared", ROOT):
        python = str(HATCHLING.folder / "bin" / "python")
        command = [python, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
        subprocess.run(command, cwd=project, check=True, capture_output=True)
    return sorted(folder.iterdir())


def installed(folder: Path, *wheels: Path) -> Path:
    """The programs of a new environment with these wheels and their dependencies."""
    subprocess.run(make_environment(folder), check=True, capture_output=True)
    python = folder / "bin" / "python"
    subprocess.run([*package_install(str(python)), *map(str, wheels)], check=True, capture_output=True, cwd=folder)
    return folder / "bin"


@pytest.fixture(scope="module")
def running(wheels: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The data folder of `openbrain up`, started where there is no repository."""
    home = tmp_path_factory.mktemp("home")
    programs = installed(home / "system", *wheels)
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    environment["KF_RULE_CACHE_DIR"] = os.environ["KF_RULE_CACHE_DIR"]
    with (home / "up.log").open("wb") as log:
        process = subprocess.Popen(
            [programs / "openbrain", "up", "--port", "0"], cwd=home, env=environment, stdout=log, stderr=log
        )
    try:
        wait_until(lambda: (home / ".openbrain" / "url").exists() or process.poll() is not None)
        assert process.poll() is None, (home / "up.log").read_text()
        yield home / ".openbrain"
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 0, (home / "up.log").read_text()
    finally:
        process.kill()
        process.wait()


@pytest.mark.long(
    "an image runs what both wheels hold; tests/unit/runtime/test_client_alone.py imports the client without the rest"
)
@pytest.mark.slow("both wheels are built and installed, and the system started from them")
def test_the_client_alone_speaks_to_the_system(running: Path, wheels: list[Path], tmp_path: Path) -> None:
    client = next(wheel for wheel in wheels if wheel.name.startswith("openbrain_client"))
    python = installed(tmp_path / "client", client) / "python"
    url, key = ((running / name).read_text().strip() for name in ("url", "key"))
    done = subprocess.run([python, "-c", CLIENT, url, key], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.stdout.splitlines() == ["Deploys are on Tuesdays.", "full"], done.stderr
    packages = {path.name.partition("-")[0] for path in (tmp_path / "client").glob("lib/*/site-packages/*.dist-info")}
    assert packages & {"redis", "orjson", "structlog", "openbrain_memory"} == set()
    assert {"openbrain_client", "httpx", "pydantic"} <= packages


def test_no_file_comes_with_both(wheels: list[Path]) -> None:
    files = [set(zipfile.ZipFile(wheel).namelist()) for wheel in wheels]

    assert files[0] & files[1] == set()
    assert {"openbrain/__init__.py", "openbrain/py.typed"} <= files[0]
    assert {"openbrain_cli/__init__.py", "openbrain/adapters/__init__.py"} <= files[1]
