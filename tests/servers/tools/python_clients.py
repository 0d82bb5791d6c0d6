"""Third-party clients that our side is tested with: Python packages, each installed once into a separate folder."""

import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.servers.availability import Available, Missing, State
from tests.servers.places import HOME
from tests.servers.steps import Step, setting_of_pip

ELASTICSEARCH_8 = HOME / "elasticsearch-client-8"
"""A folder that precedes the environment's packages: the only client that servers of version 8 accept."""
_UV = str(Path(sys.executable).with_name("uv"))
_ELASTICSEARCH_8 = ("elasticsearch>=8.19,<9", "elastic-transport>=8.17,<9")


@dataclass(frozen=True)
class PythonClient:
    """A package in a separate environment."""

    package: str
    version: str

    @property
    def folder(self) -> Path:
        return HOME / f"{self.package}-{self.version}"

    def state(self) -> State:
        return _state(self.folder, self.version)


AGENTIHOOKS = PythonClient("agentihooks", "2.17.0")
"""The agents' own client, as published."""
OPENAPI_PYTHON_CLIENT = PythonClient("openapi-python-client", "0.29.1")
HATCHLING = PythonClient("hatchling", "1.33.0")
"""Builds our own wheels, as a release does."""


def elasticsearch_8_state() -> State:
    return _state(ELASTICSEARCH_8, "8.19")


def install_elasticsearch_8(step: Step) -> None:
    step.say("installing the client 8.19 of Elasticsearch")
    beside = _beside(ELASTICSEARCH_8)
    step.run([*package_install(sys.executable), "--no-deps", "--target", str(beside), *_ELASTICSEARCH_8])
    beside.rename(ELASTICSEARCH_8)


def install(client: PythonClient, step: Step) -> None:
    step.say(f"installing {client.package} {client.version}")
    beside = _beside(client.folder)
    step.run(make_environment(beside))
    step.run([*package_install(str(beside / "bin" / "python")), f"{client.package}=={client.version}"])
    beside.rename(client.folder)


def _state(folder: Path, version: str) -> State:
    if not folder.exists():
        return Missing("it isn't installed here yet: run `make servers`")
    return Available(version)


def _beside(folder: Path) -> Path:
    """Return a temporary folder next to the target: the result is moved into place atomically, so a partial one is
    never used."""
    beside = folder.with_name(f".{folder.name}-{os.getpid()}")
    shutil.rmtree(beside, ignore_errors=True)
    return beside


def make_environment(folder: Path) -> Sequence[str]:
    """Return the command that makes an environment without any package."""
    return (_UV, "venv", "-q", "-p", sys.executable, str(folder))


def package_install(python: str) -> Sequence[str]:
    """Return the command prefix that installs packages into `python`'s environment."""
    index = setting_of_pip("index-url")
    return (_UV, "pip", "install", "-q", "--system-certs", *(("--default-index", index) if index else ()), "-p", python)
