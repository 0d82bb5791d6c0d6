"""Tests of the plugin that distributes a run over forks of one process."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.servers.places import ROOT

FILES = {
    "test_a.py": """
import os, pytest, warnings

@pytest.fixture(scope="module")
def once():
    yield os.getpid()
    print("torn down")

def test_passes(once): assert once == os.getpid() != int(os.environ["COLLECTED_BY"])
def test_fails(tmp_path):
    print("said so")
    os.write(1, b"and below Python")
    assert (tmp_path / "missing").exists()
def test_warns(): warnings.warn("old habits")
def test_of_the_same_process(once): assert once == os.getpid()
""",
    "test_b.py": """
import os

def test_before(): pass
def test_dies(): os._exit(7)
def test_behind_it(): pass
""",
    "test_c.py": "def test_alone(): pass\n",
}
CONFTEST = "import os\nos.environ['COLLECTED_BY'] = str(os.getpid())\n"


DIES_ALONE = """
import os, time
from pathlib import Path

def test_dies_when_no_other_worker_is_left():
    run = os.getppid()
    while len(Path(f"/proc/{run}/task/{run}/children").read_text().split()) > 1:
        time.sleep(0.01)
    os._exit(7)

def test_behind_it(tmp_path): pass
"""

WARNS = """
import warnings

def test_warns(): warnings.warn("old habits")
"""


def run(folder: Path, *options: str, files: Mapping[str, str] = FILES) -> tuple[int, str]:
    for name, text in {**files, "conftest.py": CONFTEST}.items():
        (folder / name).write_text(text)
    # Only the plugin under test: loading the others takes longer than running these tests.
    plugin = ("-p", "tests.support.runs.workers", "-c", "/dev/null", "--rootdir", str(folder), "-p", "no:cacheprovider")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *plugin, *options, str(folder)],
        env={"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "TMPDIR": str(folder)},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_workers_report_what_passed_failed_warned_and_died_and_run_the_rest_of_its_file(tmp_path: Path) -> None:
    status, text = run(tmp_path, "-n", "2")
    assert status == 1, text
    assert "2 failed, 6 passed, 1 warning" in text
    assert "while it ran test_b.py::test_dies" in text
    assert "ended with status 7" in text
    assert "said so\nand below Python" in text
    assert "old habits" in text


def test_a_worker_that_dies_when_others_have_ended_is_replaced(tmp_path: Path) -> None:
    status, text = run(tmp_path, "-n", "2", files={"test_a.py": DIES_ALONE, "test_b.py": WARNS})
    assert status == 1, text
    assert "1 failed, 2 passed, 1 warning in" in text, text


def test_the_first_failure_ends_a_run_that_asked_for_it(tmp_path: Path) -> None:
    status, text = run(tmp_path, "-n", "2", "-x", "--deselect", "test_b.py")
    assert status == 1, text
    assert "stopping after 1 failures" in text
