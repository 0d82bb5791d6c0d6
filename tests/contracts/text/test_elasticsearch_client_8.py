"""The suites of the Elasticsearch adapters again with client 8.19, the only one that servers of version 8 accept.

The client is installed once into a separate folder, which precedes the environment's packages.
"""

import os
import subprocess
import sys

import pytest

from tests.servers.places import ROOT
from tests.servers.plugin import address, need
from tests.servers.processes.process import Server
from tests.servers.tools.python_clients import ELASTICSEARCH_8
from tests.support.forms import long_form

WHOLE = ("tests/contracts/text", "tests/contracts/vectors", "tests/api/discovery/test_elasticsearch.py")
EVERY_CALL = (
    *("tests/contracts/text/test_elasticsearch_text.py", "tests/contracts/text/test_index.py"),
    *("tests/contracts/text/test_marks.py", "tests/contracts/text/test_names.py"),
    *("tests/contracts/vectors/test_index.py", "tests/contracts/vectors/test_index_accounts.py"),
    *("tests/contracts/vectors/test_index_generations.py", "tests/api/discovery/test_elasticsearch.py"),
)
"""The files that make every call of the client; the other files send other queries through the same calls."""


@pytest.mark.slow("the suites of both Elasticsearch adapters once more")
@pytest.mark.servers("elasticsearch", "elasticsearch-8")
@pytest.mark.timeout(3600)
def test_the_suites_pass_with_client_8(elasticsearch_server: Server, pytestconfig: pytest.Config) -> None:
    need("elasticsearch-8")
    own = {"PYTHONPATH": str(ELASTICSEARCH_8), "PYTEST_ADDOPTS": ""}
    environment = {**os.environ, **own, **address(pytestconfig).environment}

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
            # Parallel, because the tests wait for the server most of the time.
            *("-n", "3"),
            "-p",
            "no:cacheprovider",
            "--ring",
            "servers",
            *(WHOLE if long_form() else EVERY_CALL),
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
