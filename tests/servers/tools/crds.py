"""Definitions of foreign Kubernetes objects, from the Go modules of KEDA and the Prometheus operator."""

import json
import os
import shutil
import subprocess
from pathlib import Path

from tests.servers.availability import Available, Missing, State
from tests.servers.places import HOME
from tests.servers.steps import CantInstall, Step, tool

MODULES = {
    "github.com/kedacore/keda/v2@v2.21.0": (
        "config/crd/bases/keda.sh_scaledobjects.yaml",
        "config/crd/bases/keda.sh_triggerauthentications.yaml",
    ),
    "github.com/prometheus-operator/prometheus-operator@v0.85.0": (
        "example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml",
        "example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml",
    ),
}
FOLDER = HOME / "crds"
_STAMP = FOLDER / "stamp"
_WANTED = "\n".join(MODULES)


def state() -> State:
    if _STAMP.exists() and _STAMP.read_text() == _WANTED:
        return Available(", ".join(module.rpartition("@")[2] for module in MODULES))
    return Missing("they aren't fetched here yet: run `make servers` (needs Go, takes seconds once)")


def install(step: Step) -> None:
    """Fetch the modules and keep their definition files."""
    go = tool("go", "install Go 1.24 or later")
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    for module, files in MODULES.items():
        step.say(f"fetching {module}")
        fetched = subprocess.run(
            [go, "mod", "download", "-json", module],
            env={**os.environ, "GOFLAGS": "-mod=mod", "GO111MODULE": "on"},
            cwd=FOLDER,
            capture_output=True,
            text=True,
            check=False,
        )
        if fetched.returncode:
            raise CantInstall(f"{module} can't be fetched: {fetched.stderr.strip()[-300:]}")
        source = Path(json.loads(fetched.stdout)["Dir"])
        for file in files:
            shutil.copyfile(source / file, FOLDER / Path(file).name)
    _STAMP.write_text(_WANTED)


def definitions() -> list[Path]:
    """Return the definition files, one per kind."""
    return sorted(FOLDER.glob("*.yaml"))
