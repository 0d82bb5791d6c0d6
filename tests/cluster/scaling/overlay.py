"""The production scalers with short windows (seconds) and as many replicas as one machine can run."""

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from openbrain_cli.system.run import SERVICE_APPS
from tests.deploy.rules import WITH_SECRET

_SHORT = """
- op: replace
  path: /spec/maxReplicaCount
  value: {most}
- op: replace
  path: /spec/advanced/horizontalPodAutoscalerConfig/behavior/scaleUp/policies/0/periodSeconds
  value: 2
- op: replace
  path: /spec/advanced/horizontalPodAutoscalerConfig/behavior/scaleDown/stabilizationWindowSeconds
  value: 5
- op: replace
  path: /spec/advanced/horizontalPodAutoscalerConfig/behavior/scaleDown/policies/0/periodSeconds
  value: 2
"""


_LEAST = """
- op: replace
  path: /spec/minReplicaCount
  value: {least}
- op: add
  path: /spec/pollingInterval
  value: 1
- op: add
  path: /spec/cooldownPeriod
  value: {cooldown}
"""
COOLDOWN_S = 5
"""Seconds without work after which a service that may scale to zero does."""


def write(
    files: Path, namespace: str, redis: str, services: Sequence[str], most: int, least: Mapping[str, int]
) -> Path:
    """Write an overlay in a copy of deploy/k8s: deployments and scalers, and the scaler's own secret.

    least: minimum replicas, by service; the others keep their scaler's minimum.
    """
    folder = files / "overlays" / "scaling"
    folder.mkdir(parents=True)
    scaler: Mapping[str, str] = {"address": redis, "username": "", "password": "", "tls": "disable"}
    # KEDA resolves the environment of each target, so its sources must exist.
    empty = {name: {"NOTHING": ""} for name in (*SERVICE_APPS, *WITH_SECRET, "metrics")}
    for name, values in (("scaler", scaler), *empty.items()):
        data = {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}
        _dump(
            folder / f"secret-{name}.yaml",
            {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": data},
        )
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "openbrain"}, "data": {}}
    _dump(folder / "config.yaml", config)
    _dump(folder / "namespace.yaml", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    _dump(
        folder / "kustomization.yaml",
        {
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "namespace": namespace,
            "resources": [
                "namespace.yaml",
                *(f"secret-{name}.yaml" for name in ("scaler", *empty)),
                "config.yaml",
                "../../base/services",
            ],
            "components": ["../../components/keda"],
            "patches": [
                {
                    "target": {"kind": "ScaledObject", "name": f"({'|'.join(services)})"},
                    "patch": _SHORT.format(most=most),
                },
                *(
                    {
                        "target": {"kind": "ScaledObject", "name": service},
                        "patch": _LEAST.format(least=count, cooldown=COOLDOWN_S),
                    }
                    for service, count in least.items()
                ),
                # Scaled by CPU load, which needs a kubelet to measure it.
                {
                    "target": {"kind": "ScaledObject", "name": "api"},
                    "patch": "$patch: delete\napiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: api}",
                },
            ],
        },
    )
    return folder


def _dump(path: Path, what: object) -> None:
    path.write_text(yaml.safe_dump(what, sort_keys=False), encoding="utf-8")
