"""Our own rules, which no schema expresses: each takes the objects of an overlay and yields violations."""

import re
from collections.abc import Callable, Iterator, Sequence

from openbrain.domain.events.streams import STREAMS
from openbrain.settings import Settings
from openbrain.settings.reference import lines
from openbrain_cli.system.run import SERVICE_APPS
from tests.deploy.manifests import Manifest, containers, invalid, of_kind, pods, unrestricted

Rule = Callable[[Sequence[Manifest]], Iterator[str]]

FIXED = frozenset({"housekeeper", "tick"})
"""One replica works and the others stand by."""
WITH_SECRET = frozenset({"mariadb", "elasticsearch", "qdrant"})
STREAM_TRIGGERS = frozenset({"redis-streams", "redis-sentinel-streams"})
TRIGGER_KEYS = frozenset({"stream", "consumerGroup", "lagCount", "pendingEntriesCount"})


def valid(objects: Sequence[Manifest]) -> Iterator[str]:
    for each in objects:
        yield from (f"{each['kind']} {each['metadata']['name']}: {problem}" for problem in invalid(each))


def restricted(objects: Sequence[Manifest]) -> Iterator[str]:
    for name, pod in pods(objects).items():
        yield from (f"{name}: {problem}" for problem in unrestricted(pod))
        if pod.get("automountServiceAccountToken") is not False:
            yield f"{name} has a token of the cluster"
    for account in of_kind(objects, "ServiceAccount"):
        if account.get("automountServiceAccountToken") is not False:
            yield f"the account {account['metadata']['name']} gives its token away"
    for namespace in of_kind(objects, "Namespace"):
        if namespace["metadata"]["labels"].get("pod-security.kubernetes.io/enforce") != "restricted":
            yield "the namespace lets every pod in"


def complete(objects: Sequence[Manifest]) -> Iterator[str]:
    """Every service is present, with its own account and disruption budget."""
    deployments = {each["metadata"]["name"]: each["spec"] for each in of_kind(objects, "Deployment")}
    if set(deployments) != set(SERVICE_APPS):
        yield f"services: {sorted(set(deployments) ^ set(SERVICE_APPS))}"
    budgets = {
        each["spec"]["selector"]["matchLabels"]["app.kubernetes.io/component"]: each["spec"]
        for each in of_kind(objects, "PodDisruptionBudget")
    }
    accounts = {each["metadata"]["name"] for each in of_kind(objects, "ServiceAccount")}
    for name, spec in deployments.items():
        if spec["template"]["spec"].get("serviceAccountName") != name or name not in accounts:
            yield f"{name} has no account of its own"
        if budgets.get(name, {}).get("maxUnavailable") != 1:
            yield f"{name} has no disruption budget"
        if ("replicas" in spec) != (name in FIXED):
            yield f"{name}: who sets its replicas?"


def running(objects: Sequence[Manifest]) -> Iterator[str]:
    """Every service waits for the schema, has probes, ends gracefully, and is spread over nodes."""
    settings = Settings()
    longest = settings.embedding.timeout_s + settings.streams.tuning.shutdown_s
    live, ready = {"path": "/live", "port": "http"}, {"path": "/ready", "port": "http"}
    for deployment in of_kind(objects, "Deployment"):
        name, pod = deployment["metadata"]["name"], deployment["spec"]["template"]["spec"]
        (service,) = pod["containers"]
        probes = {kind: service.get(f"{kind}Probe", {}).get("httpGet") for kind in ("startup", "liveness", "readiness")}
        if probes != {"startup": live, "liveness": live, "readiness": ready}:
            yield f"{name}: probes"
        if service["args"] != ["run", name] or service["ports"] != [{"name": "http", "containerPort": 8788}]:
            yield f"{name}: command or port"
        if [each["args"][:4] for each in pod["initContainers"]] != [["db", "check", "--schema", "--wait"]]:
            yield f"{name} does not wait for the schema"
        pause = service.get("lifecycle", {}).get("preStop", {}).get("sleep", {}).get("seconds", 0)
        if name == "api" and not pause:
            yield "api refuses connections while clients are still sent to it"
        if pod["terminationGracePeriodSeconds"] <= longest + pause:
            yield f"{name} is killed before its longest call ends ({longest:.0f} s)"
        if len(pod["topologySpreadConstraints"]) != 2:
            yield f"{name} may stand on one node alone"


def bounded(objects: Sequence[Manifest]) -> Iterator[str]:
    """Every container has requests and limits; our containers have a read-only root."""
    for name, pod in pods(objects).items():
        for container in containers(pod):
            if not {"requests", "limits"} <= set(container["resources"]):
                yield f"{name}: bounds of {container['name']}"
            ours = container["image"].startswith("openbrain")
            if ours and not container["securityContext"].get("readOnlyRootFilesystem"):
                yield f"{name}: {container['name']} may write its image"


def reaching(objects: Sequence[Manifest]) -> Iterator[str]:
    """A pod reaches only the servers that its labels name, and holds only their secrets and its own."""
    policies = {each["metadata"]["name"]: each["spec"] for each in of_kind(objects, "NetworkPolicy")}
    if policies.get("deny") != {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}:
        yield "nothing is denied"
    for name, pod in pods(objects).items():
        used = {label.removeprefix("uses-") for label in pod["labels"] if label.startswith("uses-")}
        for server in used:
            client, out = {"matchLabels": {f"uses-{server}": "true"}}, policies.get(f"to-{server}", {})
            if out.get("podSelector") != client or not all(rule.get("to") for rule in out["egress"]):
                yield f"{name} uses {server}, and no policy lets it, or one lets it reach everything"
            into = policies.get(f"from-clients-of-{server}")
            if into and into["ingress"][0]["from"][0] != {"podSelector": client}:
                yield f"{server} does not take {name} in"
        held = set(_secrets(pod))
        if name in SERVICE_APPS and held - {"metrics"} != (used & WITH_SECRET) | {name}:
            yield f"{name} holds the secrets {sorted(held)}, and uses {sorted(used)}"


def _secrets(pod: Manifest) -> Iterator[str]:
    """Yield the names of secrets without the suffix that kustomize adds."""
    for container in containers(pod):
        for source in container.get("envFrom", []):
            if "secretRef" in source:
                yield re.sub(r"-[a-z0-9]{10}$", "", source["secretRef"]["name"])


def configured(objects: Sequence[Manifest]) -> Iterator[str]:
    """Every setting in the configuration exists."""
    known = {line.name for line in lines()}
    for each in of_kind(objects, "ConfigMap"):
        if each["metadata"]["name"] == "openbrain":
            yield from (f"no setting {name}" for name in set(each["data"]) - known)


def scaled(objects: Sequence[Manifest]) -> Iterator[str]:
    """Each group is scaled by the lag and the pending entries of each of its streams, and never to zero."""
    scalers = {each["metadata"]["name"]: each["spec"] for each in of_kind(objects, "ScaledObject")}
    if not scalers:
        return
    counted: dict[str, set[tuple[str, str]]] = {"lagCount": set(), "pendingEntriesCount": set()}
    for name, spec in scalers.items():
        if spec["scaleTargetRef"] != {"name": name} or name not in SERVICE_APPS:
            yield f"the scaler {name} scales another"
        if spec["minReplicaCount"] < 1:
            yield f"{name} may end while entries are parked"
        for about in (each["metadata"] for each in spec["triggers"] if each["type"] in STREAM_TRIGGERS):
            if extra := set(about) - TRIGGER_KEYS:
                yield f"{name}: KEDA knows no {sorted(extra)}"
            if about["consumerGroup"] != name:
                yield f"{name} is scaled by the group {about['consumerGroup']}"
            for kind in counted.keys() & about.keys():
                counted[kind].add((about["stream"], about["consumerGroup"]))
    readers = {(spec.name, group) for spec in STREAMS for group in spec.groups if group not in FIXED}
    for kind, pairs in counted.items():
        yield from (f"{kind} of {group} on {stream}" for stream, group in sorted(pairs ^ readers))


RULES: tuple[Rule, ...] = (valid, restricted, complete, running, bounded, reaching, configured, scaled)
"""All rules."""
