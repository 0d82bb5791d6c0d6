"""The run's control plane with KEDA, and helpers to talk to it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.deploy.manifests import copied
from tests.servers.availability import Available
from tests.servers.catalogue import available
from tests.servers.plugin import need
from tests.servers.processes.process import ServerProcess
from tests.servers.tools import crds, kubernetes


class Cluster:
    """kubectl on one control plane."""

    def __init__(self, data: Path) -> None:
        self.data = data

    def asks(self, *command: str, text: str | None = None) -> str:
        """Run kubectl, which must succeed; return what it prints."""
        done = kubernetes.kubectl(self.data, *command, text=text)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def refused(self, *command: str, text: str | None = None) -> str:
        """Run kubectl, which must fail; return the error of kubectl or the server."""
        done = kubernetes.kubectl(self.data, *command, text=text)
        assert done.returncode != 0, f"was let through: {done.stdout}"
        return done.stderr

    def apply(self, folder: Path, *options: str) -> str:
        """Apply as an operator does, with warnings as errors."""
        strict = ("--server-side", "--validate=strict", "--warnings-as-errors")
        return self.asks("apply", *strict, *options, "-k", str(folder))


@pytest.fixture(scope="session")
def control_plane() -> Iterator[ServerProcess]:
    need("kubernetes")
    need("crds")
    parts = ["keda"] if isinstance(available("keda"), Available) else []
    with ServerProcess(kubernetes.recipe(*parts)) as plane:
        yield plane


@pytest.fixture(scope="session")
def cluster(control_plane: ServerProcess) -> Cluster:
    found = Cluster(control_plane.data)
    for definition in crds.definitions():
        found.asks("apply", "--server-side", "-f", str(definition))
    return found


@pytest.fixture(scope="session")
def overlay(cluster: Cluster) -> Callable[[str], Path]:
    """Return a function that copies an overlay's folder, with secrets, and creates its namespace, which a dry run would
    not do."""

    def made(name: str) -> Path:
        folder = copied() / "overlays" / name
        cluster.asks("apply", "--server-side", "-f", str(folder / "namespace.yaml"))
        return folder

    return made
