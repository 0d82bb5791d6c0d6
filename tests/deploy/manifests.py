"""The Kubernetes files, rendered as an operator renders them and validated as a cluster would."""

import copy
import functools
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import yaml

from openbrain.streams.operating import acl
from tests.deploy.scripts import script
from tests.servers.tools import crds
from tests.servers.tools.go_tools import render_command

Manifest = dict[str, Any]
KUBERNETES = Path(__file__).parents[2] / "deploy" / "k8s"
VERSIONS = ("1.32", "1.36")
"""The oldest supported version, and the newest for which the tests have a real API server."""
OVERLAYS = ("overlays/dev", "overlays/prod")
WORKLOADS = ("Deployment", "StatefulSet", "Job", "CronJob")


@functools.cache
def _copy() -> Path:
    """Copy the files and add secrets as `make k8s-secrets` makes them."""
    folder = Path(tempfile.mkdtemp(prefix="openbrain-k8s-")) / "k8s"
    shutil.copytree(KUBERNETES, folder, ignore=shutil.ignore_patterns("*.env", "users.acl", "passwords"))
    secrets = folder / "overlays" / "dev" / "secrets"
    passwords = {user.name: f"password-of-{user.name}" for user in acl.users()}
    maker = script("deploy/k8s/make_secrets.py")
    maker["write"](secrets, maker["of_users"](passwords, maker["REDIS"]) | maker["of_servers"]())
    (secrets / "users.acl").write_text(acl.acl_file(acl.users(), passwords))
    return folder


def copied() -> Path:
    """Return a folder with all files, secrets included, to render or to change."""
    return _copy()


@functools.cache
def _rendered(folder: Path) -> list[Manifest]:
    done = subprocess.run([*render_command(), str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return list(yaml.load_all(done.stdout, yaml.CSafeLoader))


def rendered(folder: str | Path) -> list[Manifest]:
    """Return every object of a kustomization, by its path below deploy/k8s or an absolute path. Cached: copy what you
    change."""
    return _rendered(_copy() / folder)


def of_kind(objects: Sequence[Manifest], *kinds: str) -> list[Manifest]:
    return [each for each in objects if each["kind"] in kinds]


def pod_template(workload: Manifest) -> Manifest:
    spec = workload["spec"]
    template: Manifest = (spec["jobTemplate"]["spec"] if workload["kind"] == "CronJob" else spec)["template"]
    return template


def pods(objects: Sequence[Manifest]) -> dict[str, Manifest]:
    """Return every pod's labels and spec, by the name of its workload."""
    made = {each["metadata"]["name"]: pod_template(each) for each in of_kind(objects, *WORKLOADS)}
    return {name: {"labels": pod["metadata"]["labels"], **pod["spec"]} for name, pod in made.items()}


def containers(pod: Manifest) -> list[Manifest]:
    return [*pod["containers"], *pod.get("initContainers", [])]


@functools.cache
def _schemas() -> dict[tuple[str, str], Manifest]:
    found = {}
    for path in crds.definitions():
        spec = yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)["spec"]
        for version in spec["versions"]:
            schema = _closed(version["schema"]["openAPIV3Schema"])
            schema["properties"]["metadata"] = {"type": "object"}
            found[f"{spec['group']}/{version['name']}", spec["names"]["kind"]] = schema
    return found


def _closed(schema: Any) -> Any:
    """Forbid members that the schema doesn't name, as a server's strict validation does."""
    if isinstance(schema, list):
        return [_closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: _closed(value) for key, value in schema.items()}
    if made.get("x-kubernetes-int-or-string"):
        made.pop("type", None)
    if "(?i)" in str(made.get("pattern", "")):  # Go accepts a flag in the middle of a pattern, Python does not
        made.pop("pattern")
    if "properties" in made and "additionalProperties" not in made:
        made["additionalProperties"] = False
    return made


def invalid(manifest: Manifest) -> Iterator[str]:
    """Yield the errors that each supported version of Kubernetes, KEDA or the Prometheus operator would report."""
    known = _schemas().get((manifest["apiVersion"], manifest["kind"]))
    if known is not None:
        try:
            jsonschema.validate(manifest, known)
        except jsonschema.ValidationError as error:
            yield error.message
        return
    for version in VERSIONS:
        try:
            kubernetes_validate.validate(copy.deepcopy(manifest), version, strict=True)
        except kubernetes_validate.ValidationError as error:
            yield f"{version}: {error.message}"


_VOLUMES = {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"}


def unrestricted(pod: Manifest) -> Iterator[str]:
    """Yield what the Pod Security profile `restricted` would refuse."""
    own = pod.get("securityContext", {})
    yield from (name for name in ("hostNetwork", "hostPID", "hostIPC") if pod.get(name))
    if own.get("runAsNonRoot") is not True or own.get("runAsUser", 1) == 0:
        yield "runs as root"
    if own.get("seccompProfile", {}).get("type") not in ("RuntimeDefault", "Localhost"):
        yield "no seccomp profile"
    yield from (f"volume {volume['name']}" for volume in pod.get("volumes", []) if not _VOLUMES & set(volume))
    for container in containers(pod):
        context = container.get("securityContext", {})
        if context.get("allowPrivilegeEscalation") is not False or context.get("privileged"):
            yield f"{container['name']} may escalate"
        if context.get("capabilities", {}).get("drop") != ["ALL"] or context.get("capabilities", {}).get("add"):
            yield f"{container['name']} has capabilities"
        yield from (f"host port of {container['name']}" for port in container.get("ports", []) if "hostPort" in port)
