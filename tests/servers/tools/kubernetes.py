"""A real Kubernetes control plane and a real KEDA, from their Go modules; built and started only on request."""

import hashlib
import subprocess
from pathlib import Path

from tests.servers.availability import Available, Missing, State
from tests.servers.places import HOME, SOURCES
from tests.servers.processes.probes import http_ok
from tests.servers.processes.process import Recipe

MODULES = SOURCES / "install" / "kubernetes"
FOLDER = HOME / "kubernetes"
BIN = FOLDER / "bin"
KUBECONFIG = "kubeconfig"
PATIENCE_S = 400
KUBE, KEDA = "kube", "keda"
_VERSIONS = {KUBE: "1.36.3", KEDA: "2.21.0"}


def stamp(part: str) -> Path:
    return FOLDER / f"{part}.stamp"


def wanted(part: str) -> str:
    """Return the digest of the sources of this part, which names its build."""
    sources = sorted((MODULES / part).iterdir())
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()


def _state(part: str) -> State:
    if stamp(part).exists() and stamp(part).read_text() == wanted(part):
        return Available(_VERSIONS[part])
    return Missing("it isn't built here yet: run `make kubernetes` (needs Go and 10 GB of disk, takes 15 minutes once)")


def kubernetes_state() -> State:
    """Return whether the control plane is built."""
    return _state(KUBE)


def keda_state() -> State:
    return _state(KEDA)


def recipe(*parts: str) -> Recipe:
    """Return the recipe of a control plane, with KEDA if `parts` has `keda`."""
    script = str(MODULES / "control_plane.sh")
    return Recipe(
        name="kubernetes",
        url="http://127.0.0.1:{port}",
        command=lambda port, data: ["bash", script, str(BIN), str(data), str(port), *parts],
        answers=lambda port: http_ok(port, "/ready"),
        patience=PATIENCE_S,
    )


def kubectl(data: Path, *command: str, text: str | None = None) -> "subprocess.CompletedProcess[str]":
    """Run kubectl on the cluster with this data folder."""
    line = [str(BIN / "kubectl"), f"--kubeconfig={data / KUBECONFIG}", *command]
    return subprocess.run(line, input=text, capture_output=True, text=True, check=False, timeout=300)
