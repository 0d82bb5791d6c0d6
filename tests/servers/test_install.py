import json
import subprocess
import sys
import time

import pytest

from tests.servers import install, install_debian, install_elasticsearch
from tests.servers.availability import NAMES, Available, Missing, State
from tests.servers.places import ROOT
from tests.servers.plugin import need
from tests.servers.steps import CantInstall, Step


def test_it_is_quick_when_nothing_is_missing() -> None:
    for name in NAMES:
        need(name)
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "tests.servers.install", "--json"], cwd=ROOT, capture_output=True, check=True
    )
    assert time.monotonic() - began < 2
    assert list(json.loads(done.stdout)) == list(NAMES)
    assert not done.stderr


def test_one_that_cannot_be_installed_does_not_stop_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    ready: dict[str, State] = {"mariadb": Missing("not yet"), "elasticsearch": Missing("not yet")}

    def no_root(_name: str, _step: Step) -> None:
        raise CantInstall("needs root")

    def build(_step: Step) -> None:
        ready["elasticsearch"] = Available("9")

    monkeypatch.setattr(install, "available", ready.__getitem__)
    monkeypatch.setattr(install_debian, "install_package", no_root)
    monkeypatch.setattr(install_elasticsearch, "install", build)
    states = install.install(["mariadb", "elasticsearch"])
    assert states == {"mariadb": Missing("needs root"), "elasticsearch": Available("9")}
    assert "mariadb        -          needs root" in install.table(states)


def test_the_words_of_a_failed_command_are_told() -> None:
    with pytest.raises(CantInstall, match="failed: the last words"):
        Step("test").run([sys.executable, "-c", "import sys; sys.exit('the last words')"])
