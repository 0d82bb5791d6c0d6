"""A real API server accepts all objects of the overlays without a warning, and refuses invalid ones."""

import copy
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.cluster.conftest import Cluster
from tests.deploy.manifests import Manifest, of_kind, rendered
from tests.servers.plugin import need

pytestmark = [pytest.mark.servers("kubernetes", "crds"), pytest.mark.timeout(900)]
Overlay = Callable[[str], Path]
NAMESPACE = "openbrain"


@pytest.mark.slow("a control plane is started for it")
@pytest.mark.parametrize("name", ["dev", "prod"])
def test_an_overlay_is_taken_whole(cluster: Cluster, overlay: Overlay, name: str) -> None:
    folder = overlay(name)
    cluster.apply(folder, "--dry-run=server")
    applied = cluster.apply(folder).splitlines()
    assert len(applied) == len(rendered(f"overlays/{name}"))
    # Applied again, nothing conflicts and nothing is refused.
    assert len(cluster.apply(folder).splitlines()) == len(applied)


def misspelt(objects: list[Manifest]) -> Manifest:
    budget = of_kind(objects, "PodDisruptionBudget")[0]
    budget["spec"]["maxUnavailble"] = budget["spec"].pop("maxUnavailable")
    return budget


def never(objects: list[Manifest]) -> Manifest:
    (cron,) = of_kind(objects, "CronJob")
    cron["spec"]["schedule"] = "61 * * * *"
    return cron


def privileged(objects: list[Manifest]) -> Manifest:
    deployment = of_kind(objects, "Deployment")[0]
    deployment["spec"]["template"]["spec"]["containers"][0]["securityContext"] = {"privileged": True}
    deployment["metadata"]["name"] = "another"  # applying merges with an existing object of the same name
    return deployment


def rooted(objects: list[Manifest]) -> Manifest:
    deployment = of_kind(objects, "Deployment")[0]
    deployment["spec"]["template"]["spec"]["securityContext"] |= {"runAsNonRoot": False, "runAsUser": 0}
    return deployment


def unmatched(objects: list[Manifest]) -> Manifest:
    deployment = of_kind(objects, "Deployment")[0]
    deployment["metadata"]["name"] = "another"
    deployment["spec"]["selector"]["matchLabels"]["app.kubernetes.io/component"] = "another"
    return deployment


def misspelt_scaler(objects: list[Manifest]) -> Manifest:
    scaler = of_kind(objects, "ScaledObject")[0]
    scaler["spec"]["minReplicas"] = 1
    return scaler


def second_scaler(objects: list[Manifest]) -> Manifest:
    scaler = of_kind(objects, "ScaledObject")[0]
    scaler["metadata"]["name"] = "second"
    return scaler


def misspelt_monitor(objects: list[Manifest]) -> Manifest:
    (monitor,) = of_kind(objects, "PodMonitor")
    monitor["spec"]["podMetricsEndpoint"] = []
    return monitor


REFUSED: dict[Callable[[list[Manifest]], Manifest], str] = {
    misspelt: "maxUnavailble",
    never: "Invalid value",
    privileged: "would violate PodSecurity",
    rooted: "would violate PodSecurity",
    unmatched: "`selector` does not match template `labels`",
    misspelt_scaler: "minReplicas",
    misspelt_monitor: "podMetricsEndpoint",
}


@pytest.mark.parametrize("mutate", REFUSED, ids=lambda mutate: mutate.__name__)
def test_what_should_be_refused_is(
    cluster: Cluster, overlay: Overlay, mutate: Callable[[list[Manifest]], Manifest]
) -> None:
    cluster.apply(overlay("prod"))
    wrong = mutate(copy.deepcopy(rendered("overlays/prod")))
    strict = ("--server-side", "--force-conflicts", "--validate=strict", "--warnings-as-errors", "--dry-run=server")
    assert REFUSED[mutate] in cluster.refused("apply", *strict, "-f", "-", text=yaml.safe_dump(wrong))


@pytest.mark.servers("keda")
def test_a_service_is_not_scaled_by_two(cluster: Cluster, overlay: Overlay) -> None:
    """KEDA's own webhook refuses it."""
    need("keda")
    cluster.apply(overlay("prod"))
    wrong = second_scaler(copy.deepcopy(rendered("overlays/prod")))
    assert "already managed" in cluster.refused("apply", "--dry-run=server", "-f", "-", text=yaml.safe_dump(wrong))


def test_a_pod_with_rights_is_not_let_in(cluster: Cluster, overlay: Overlay) -> None:
    overlay("prod")
    run = ("-n", NAMESPACE, "run", "bad", "--image=example/bad:1", "--dry-run=server", "--privileged")
    assert 'violates PodSecurity "restricted' in cluster.refused(*run)
