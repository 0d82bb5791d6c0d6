"""The Kubernetes files: rendered as an operator renders them, valid, restricted, and true to the code."""

import os
import subprocess
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

import openbrain
from openbrain.domain.events.streams import STREAMS
from openbrain.settings.reference import lines
from openbrain_cli.system.run import SERVICE_APPS
from tests.servers.plugin import need
from tests.servers.tools.go_tools import render_command

pytestmark = pytest.mark.servers("kustomize")
KUBERNETES = Path(__file__).parents[2] / "deploy" / "k8s"
VERSION = "1.32"
RENDERED: dict[str, list[dict[str, Any]]] = {}


@pytest.fixture(autouse=True)
def _a_renderer() -> None:
    need("kustomize")


def rendered(folder: str) -> list[dict[str, Any]]:
    if folder not in RENDERED:
        done = subprocess.run([*render_command(), str(KUBERNETES / folder)], capture_output=True, text=True, check=True)
        assert not done.stderr
        RENDERED[folder] = list(yaml.safe_load_all(done.stdout))
    return RENDERED[folder]


def of_kind(folder: str, *kinds: str) -> list[dict[str, Any]]:
    return [each for each in rendered(folder) if each["kind"] in kinds]


def pods(folder: str) -> list[tuple[str, dict[str, Any]]]:
    owners = of_kind(folder, "Deployment", "StatefulSet", "Job")
    return [(owner["metadata"]["name"], owner["spec"]["template"]["spec"]) for owner in owners]


def containers(pod: dict[str, Any]) -> list[dict[str, Any]]:
    return [*pod["containers"], *pod.get("initContainers", [])]


FOLDERS = ["base", "overlays/dev", "overlays/prod"]


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_object_is_valid_and_has_no_unknown_member(folder: str) -> None:
    for each in rendered(folder):
        kubernetes_validate.validate(each, VERSION, strict=True)


def test_a_wrong_member_would_be_found() -> None:
    (deployment, *_) = of_kind("base", "Deployment")
    wrong = {**deployment, "spec": {**deployment["spec"], "replcas": 2}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, VERSION, strict=True)


def unrestricted(pod: dict[str, Any]) -> list[str]:
    """What the Pod Security profile `restricted` would refuse."""
    own = pod.get("securityContext", {})
    found = [name for name in ("hostNetwork", "hostPID", "hostIPC") if pod.get(name)]
    if own.get("runAsNonRoot") is not True or own.get("runAsUser", 1) == 0:
        found.append("runs as root")
    if own.get("seccompProfile", {}).get("type") not in ("RuntimeDefault", "Localhost"):
        found.append("no seccomp profile")
    allowed = {
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "persistentVolumeClaim",
        "projected",
        "secret",
    }
    found += [f"volume {volume['name']}" for volume in pod.get("volumes", []) if not allowed & set(volume)]
    for container in containers(pod):
        context = container.get("securityContext", {})
        if context.get("allowPrivilegeEscalation") is not False or context.get("privileged"):
            found.append(f"{container['name']} may escalate")
        if context.get("capabilities", {}).get("drop") != ["ALL"] or context.get("capabilities", {}).get("add"):
            found.append(f"{container['name']} has capabilities")
        found += [f"host port of {container['name']}" for port in container.get("ports", []) if "hostPort" in port]
    return found


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_pod_is_restricted(folder: str) -> None:
    assert {name: found for name, pod in pods(folder) if (found := unrestricted(pod))} == {}
    assert all(pod["automountServiceAccountToken"] is False for _, pod in pods(folder))


def test_a_pod_with_rights_would_be_found() -> None:
    (_, pod), *_ = pods("base")
    assert unrestricted({**pod, "hostNetwork": True, "securityContext": {}}) == [
        "hostNetwork",
        "runs as root",
        "no seccomp profile",
    ]


@pytest.mark.parametrize("folder", FOLDERS)
def test_namespaces_enforce_it(folder: str) -> None:
    for namespace in of_kind(folder, "Namespace"):
        assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    names = {each["metadata"].get("namespace") for each in rendered(folder) if each["kind"] != "Namespace"}
    assert len(names) == 1


def test_each_room_is_a_deployment_and_runs_that_room() -> None:
    told = {each["metadata"]["name"]: each["spec"]["template"]["spec"] for each in of_kind("base", "Deployment")}
    assert set(told) == set(SERVICE_APPS)
    for service, pod in told.items():
        assert pod["containers"][0]["args"] == ["run", service]


def test_each_consumer_group_has_its_deployment() -> None:
    groups = {group for stream in STREAMS for group in stream.groups}
    assert groups <= {each["metadata"]["name"] for each in of_kind("base", "Deployment")}


@pytest.mark.parametrize("folder", FOLDERS)
def test_rooms_are_probed_ended_gently_and_can_not_write_their_image(folder: str) -> None:
    for deployment in of_kind(folder, "Deployment"):
        pod = deployment["spec"]["template"]["spec"]
        (service,) = pod["containers"]
        assert service["livenessProbe"]["httpGet"] == {"path": "/live", "port": "http"}
        assert service["readinessProbe"]["httpGet"] == {"path": "/ready", "port": "http"}
        assert service["ports"] == [{"name": "http", "containerPort": 8788}]
        assert pod["terminationGracePeriodSeconds"] >= 90
        assert all(each["securityContext"]["readOnlyRootFilesystem"] for each in containers(pod))
        assert all({"requests", "limits"} <= set(each["resources"]) for each in containers(pod))
        assert [each["args"][:2] for each in pod["initContainers"]] == [["db", "check"]]


@pytest.mark.parametrize("folder", FOLDERS)
def test_settings_in_the_configuration_exist(folder: str) -> None:
    known = {line.name for line in lines()}
    for each in of_kind(folder, "ConfigMap", "Secret"):
        assert set(each.get("data", {})) <= known


def test_the_migration_is_a_job_of_the_same_image() -> None:
    (job,) = of_kind("overlays/prod", "Job")
    (container,) = job["spec"]["template"]["spec"]["containers"]
    images = {each["image"] for _, pod in pods("overlays/prod") for each in containers(pod)}
    assert container["args"][:2] == ["db", "upgrade"]
    assert images == {f"openbrain:{openbrain.__version__}"}


def test_production_has_replicas_that_are_not_all_taken_at_once() -> None:
    replicas = {each["metadata"]["name"]: each["spec"]["replicas"] for each in of_kind("overlays/prod", "Deployment")}
    budgets = {each["metadata"]["name"] for each in of_kind("overlays/prod", "PodDisruptionBudget")}
    assert min(replicas.values()) >= 2
    assert budgets == set(replicas) == set(SERVICE_APPS)


def test_a_vault_is_mounted_where_pages_are_written(tmp_path: Path) -> None:
    overlay = KUBERNETES / "overlays" / "dev"
    (tmp_path / "k8s").mkdir()
    made = tmp_path / "k8s" / "kustomization.yaml"
    made.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "kustomize.config.k8s.io/v1beta1",
                "kind": "Kustomization",
                "resources": [os.path.relpath(overlay, made.parent)],
                "components": [os.path.relpath(KUBERNETES / "components" / "vault", made.parent)],
            }
        )
    )
    with_vault = rendered(str(made.parent))
    for each in with_vault:
        kubernetes_validate.validate(each, VERSION, strict=True)
    mounting = {
        each["metadata"]["name"]
        for each in with_vault
        if each["kind"] == "Deployment"
        and any(mount["name"] == "vault" for mount in containers(each["spec"]["template"]["spec"])[0]["volumeMounts"])
    }
    assert mounting == {"tick", "api"}
    assert all(
        not unrestricted(each["spec"]["template"]["spec"]) for each in with_vault if each["kind"] == "Deployment"
    )


def test_no_secret_is_in_what_production_applies() -> None:
    assert of_kind("overlays/prod", "Secret") == []
