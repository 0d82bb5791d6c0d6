"""The suites of the Elasticsearch adapters once more with client 8.19: the only one that servers of version 8 take.

The client is installed once into a folder of its own that stands before the environment's packages.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers.availability import required
from tests.servers.places import HOME, ROOT
from tests.servers.plugin import need

CLIENT = HOME / "elasticsearch-client-8"
WANTED = ("elasticsearch>=8.19,<9", "elastic-transport>=8.17,<9")


def installed() -> Path:
    """The folder with the client, filled if it isn't yet; moved there whole, so that a broken-off one isn't used."""
    if CLIENT.exists():
        return CLIENT
    beside = CLIENT.with_name(f".{CLIENT.name}-{os.getpid()}")
    if importlib.util.find_spec("pip"):
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    else:
        pip = [shutil.which("uv") or str(Path(sys.executable).with_name("uv")), "pip", "install", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--target", str(beside), *WANTED], check=True, capture_output=True, text=True)
    if CLIENT.exists():
        shutil.rmtree(beside)
    else:
        beside.rename(CLIENT)
    return CLIENT


@pytest.mark.servers("elasticsearch")
@pytest.mark.timeout(3600)
def test_the_suites_pass_with_client_8() -> None:
    need("elasticsearch")
    try:
        client = installed()
    except (subprocess.CalledProcessError, OSError) as error:
        if "elasticsearch" in required():
            raise
        pytest.skip(f"client 8.19 can't be installed here: {getattr(error, 'stderr', '') or error}")
    environment = {**os.environ, "PYTHONPATH": str(client), "PYTEST_ADDOPTS": ""}

    version = subprocess.run(
        [sys.executable, "-c", "import elasticsearch; print(elasticsearch.__versionstr__)"],
        env=environment,
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    suites = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "tests/contracts",
            "-k",
            "elasticsearch and not client_8 and not hangs",
        ],
        env=environment,
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )

    assert version.startswith("8.")
    assert suites.returncode == 0, suites.stdout[-4000:]
