import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers.places import ROOT
from tests.servers.plugin import need
from tests.servers.processes.keeper import Keeper, ask
from tests.servers.processes.process import ServerError

SUITE = """
import os, pytest
@pytest.mark.parametrize("n", range(4))
def test_it(redis_server, n):
    with open(os.environ["SEEN"], "a") as seen:
        seen.write(f"{redis_server.url} {redis_server.pid}\\n")
"""


def run_suite(folder: Path, *options: str, **environment: str) -> tuple[int, str, list[str]]:
    (folder / "test_suite.py").write_text(SUITE)
    seen = folder / "seen"
    seen.touch()
    # Only the plugins under test: loading the others takes longer than running this suite.
    plugins = ("-p", "tests.support.runs.workers", "-p", "tests.servers.plugin")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *plugins, "-c", "/dev/null", "--rootdir", str(folder), *options, str(folder)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "SEEN": str(seen), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        | environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr, seen.read_text().splitlines()


@pytest.mark.servers("redis")
@pytest.mark.parametrize("options", [(), ("-n2",)])
def test_a_run_shares_one_server_and_ends_it(tmp_path: Path, options: tuple[str, ...]) -> None:
    need("redis")
    status, text, seen = run_suite(tmp_path, *options)
    assert status == 0, text
    assert len(seen) == 4
    assert len(set(seen)) == 1
    assert "used: redis" in text
    assert "nothing was left out; nobody asked for valkey, mariadb, elasticsearch, ollama" in text
    assert not Path(f"/proc/{seen[0].split()[1]}").exists()


@pytest.mark.parametrize("options", [(), ("-n2",)])
def test_a_missing_server_leaves_its_tests_out_and_says_so(tmp_path: Path, options: tuple[str, ...]) -> None:
    status, text, _ = run_suite(tmp_path, *options, PATH=str(tmp_path), OPENBRAIN_REQUIRE_SERVERS="")
    assert status == 0, text
    assert "LEFT OUT 4 for want of redis: no redis-server on this machine: run `make servers`" in text


def test_a_missing_server_that_is_required_fails_its_tests(tmp_path: Path) -> None:
    status, text, _ = run_suite(tmp_path, PATH=str(tmp_path), OPENBRAIN_REQUIRE_SERVERS="all")
    assert status == pytest.ExitCode.TESTS_FAILED
    assert "redis is required for this run: no redis-server" in text


def test_a_requirement_nobody_knows_stops_the_run(tmp_path: Path) -> None:
    status, text, _ = run_suite(tmp_path, OPENBRAIN_REQUIRE_SERVERS="mongo")
    assert status == pytest.ExitCode.USAGE_ERROR
    assert "OPENBRAIN_REQUIRE_SERVERS names mongo" in text


def test_a_server_that_does_not_start_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []

    def broken(name: str) -> None:
        tried.append(name)
        raise ServerError("it ended")

    monkeypatch.setattr("tests.servers.processes.keeper.server", broken)
    keeper = Keeper()
    address = keeper.listen()
    for _ in range(3):
        with pytest.raises(ServerError, match="it ended"):
            ask(address, "redis")
    keeper.close()
    assert tried == ["redis"]
