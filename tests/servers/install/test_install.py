import json
import sys
from contextlib import nullcontext

import pytest

from tests.servers.availability import USUAL, Available, Missing, State
from tests.servers.install import __main__ as install
from tests.servers.install import debian as install_debian
from tests.servers.install import elasticsearch_node as install_elasticsearch
from tests.servers.plugin import need
from tests.servers.steps import CantInstall, Step


@pytest.mark.servers(*USUAL)
def test_it_does_nothing_when_nothing_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in USUAL:
        need(name)
    begun: list[object] = []
    monkeypatch.setattr(install, "_jobs", begun.append)
    monkeypatch.setattr(install, "_alone", lambda: begun.append("lock"))
    monkeypatch.setattr(sys, "argv", ["install", "--json"])
    assert install.main() == 0
    told = capsys.readouterr()
    assert list(json.loads(told.out)) == list(USUAL)
    assert not told.err
    assert begun == []


def test_one_that_cannot_be_installed_does_not_stop_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    ready: dict[str, State] = {"mariadb": Missing("not yet"), "elasticsearch": Missing("not yet")}

    def no_root(_name: str, _step: Step) -> None:
        raise CantInstall("needs root")

    def build(_step: Step) -> None:
        ready["elasticsearch"] = Available("9")

    monkeypatch.setattr(install, "available", ready.__getitem__)
    monkeypatch.setattr(install, "_alone", nullcontext)  # another process may be installing servers
    monkeypatch.setattr(install_debian, "install_package", no_root)
    monkeypatch.setattr(install_elasticsearch, "install", build)
    states = install.install(["mariadb", "elasticsearch"])
    assert states == {"mariadb": Missing("needs root"), "elasticsearch": Available("9")}
    assert "mariadb        -          needs root" in install.table(states)


def test_the_words_of_a_failed_command_are_told() -> None:
    with pytest.raises(CantInstall, match="failed: the last words"):
        Step("test").run([sys.executable, "-c", "import sys; sys.exit('the last words')"])
