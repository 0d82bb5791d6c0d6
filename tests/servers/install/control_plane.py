"""Builds the control plane and KEDA from their Go modules."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.servers.steps import Step, tool
from tests.servers.tools.kubernetes import BIN, KEDA, KUBE, MODULES, stamp, wanted

_KUBE = ("etcd", "kube-apiserver", "kube-controller-manager", "kubectl")
_KEDA = "github.com/kedacore/keda/v2"
_BUILD = ("build", "-p", "2", "-trimpath", "-buildvcs=false")


def install_kube(step: Step) -> None:
    """Build the control plane, once. Go caches what it compiled, so a second attempt continues where the first
    stopped."""
    go, environment = _go()
    step.say("building a Kubernetes control plane with Go: about eight minutes")
    version = _module(go, "k8s.io/kubernetes", MODULES / KUBE, environment)["Version"]
    minor = re.match(r"v1\.(\d+)", version)
    assert minor is not None
    names = {"gitVersion": version, "gitMajor": "1", "gitMinor": minor[1]}
    flags = " ".join(["-s -w", *(f"-X k8s.io/component-base/version.{name}={is_}" for name, is_ in names.items())])
    step.run([go, *_BUILD, "-ldflags", flags, "-o", str(BIN / "kube"), "."], environment, MODULES / KUBE)
    for part in _KUBE:
        (BIN / part).unlink(missing_ok=True)
        (BIN / part).symlink_to("kube")
    stamp(KUBE).write_text(wanted(KUBE))


def install_keda(step: Step) -> None:
    """Build KEDA, once."""
    go, environment = _go()
    step.say("building KEDA with Go: about six minutes")
    for part in ("operator", "adapter", "webhooks"):
        output = ["-ldflags", "-s -w", "-o", str(BIN / f"keda-{part}"), f"{_KEDA}/cmd/{part}"]
        step.run([go, *_BUILD, *output], environment, MODULES / KEDA)
    definitions = Path(_module(go, _KEDA, MODULES / KEDA, environment)["Dir"]) / "config" / "crd"
    shutil.rmtree(BIN / "keda-crd", ignore_errors=True)
    shutil.copytree(definitions, BIN / "keda-crd")
    step.run(["chmod", "-R", "u+w", str(BIN / "keda-crd")])
    stamp(KEDA).write_text(wanted(KEDA))


def _go() -> tuple[str, Mapping[str, str]]:
    BIN.mkdir(parents=True, exist_ok=True)
    return tool("go", "install Go 1.26 or later"), {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local"}


def _module(go: str, name: str, folder: Path, environment: Mapping[str, str]) -> dict[str, str]:
    listed = subprocess.run(
        [go, "list", "-m", "-json", name], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    found: dict[str, str] = json.loads(listed.stdout)
    return found
