"""The Kubernetes files: valid for each version, restricted, and consistent with the code; and each rule detects
violations."""

import copy
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import openbrain
from openbrain.settings import Settings, Streams
from openbrain.streams.redis.connection import connect
from openbrain_cli.system.run import SERVICE_APPS
from tests.deploy import rules
from tests.deploy.manifests import (
    KUBERNETES,
    OVERLAYS,
    Manifest,
    containers,
    copied,
    of_kind,
    pod_template,
    pods,
    rendered,
)
from tests.deploy.scripts import ROOT, script
from tests.servers.plugin import need

pytestmark = pytest.mark.servers("kustomize", "crds")


@pytest.fixture(autouse=True)
def _tools() -> None:
    need("kustomize")
    need("crds")


@pytest.mark.parametrize("overlay", OVERLAYS)
@pytest.mark.parametrize("rule", rules.RULES, ids=lambda rule: rule.__name__)
def test_nothing_breaks_a_rule(overlay: str, rule: rules.Rule) -> None:
    assert list(rule(rendered(overlay))) == []


def deployment(objects: list[Manifest], name: str) -> Manifest:
    return next(each for each in of_kind(objects, "Deployment") if each["metadata"]["name"] == name)


def scaler(objects: list[Manifest], name: str) -> Manifest:
    return next(each for each in of_kind(objects, "ScaledObject") if each["metadata"]["name"] == name)


def service(objects: list[Manifest], name: str = "embedder") -> Manifest:
    (container,) = deployment(objects, name)["spec"]["template"]["spec"]["containers"]
    return dict_of(container)


def dict_of(value: Any) -> Manifest:
    assert isinstance(value, dict)
    return value


def _misspelt(objects: list[Manifest]) -> None:
    budget = of_kind(objects, "PodDisruptionBudget")[0]["spec"]
    budget["maxUnavailble"] = budget.pop("maxUnavailable")


def _unknown_trigger_key(objects: list[Manifest]) -> None:
    scaler(objects, "ingest")["spec"]["triggers"][0]["metadata"]["lagcount"] = "5"


def _stream_not_scaled(objects: list[Manifest]) -> None:
    scaler(objects, "indexer-text")["spec"]["triggers"].pop()


def _wrong_group(objects: list[Manifest]) -> None:
    scaler(objects, "embedder")["spec"]["triggers"][0]["metadata"]["consumerGroup"] = "embeder"


def _wrong_stream(objects: list[Manifest]) -> None:
    scaler(objects, "embedder")["spec"]["triggers"][0]["metadata"]["stream"] = "memory.saved"


def _misspelt_scaler(objects: list[Manifest]) -> None:
    scaler(objects, "embedder")["spec"]["minReplicas"] = 1


def _to_zero(objects: list[Manifest]) -> None:
    scaler(objects, "embedder")["spec"]["minReplicaCount"] = 0


def _privileged(objects: list[Manifest]) -> None:
    service(objects)["securityContext"]["privileged"] = True


def _root(objects: list[Manifest]) -> None:
    pod_template(deployment(objects, "api"))["spec"]["securityContext"]["runAsUser"] = 0


def _token(objects: list[Manifest]) -> None:
    del pod_template(deployment(objects, "api"))["spec"]["automountServiceAccountToken"]


def _no_probe(objects: list[Manifest]) -> None:
    del service(objects)["livenessProbe"]


def _too_short(objects: list[Manifest]) -> None:
    pod_template(deployment(objects, "tick"))["spec"]["terminationGracePeriodSeconds"] = 30


def _refusing(objects: list[Manifest]) -> None:
    del service(objects, "api")["lifecycle"]


def _no_schema(objects: list[Manifest]) -> None:
    pod_template(deployment(objects, "tick"))["spec"]["initContainers"] = []


def _another_secret(objects: list[Manifest]) -> None:
    service(objects, "ingest")["envFrom"].append({"secretRef": {"name": "housekeeper"}})


def _no_policy(objects: list[Manifest]) -> None:
    objects.remove(next(each for each in objects if each["metadata"]["name"] == "to-redis"))


def _reaches_all(objects: list[Manifest]) -> None:
    policy = next(each for each in objects if each["metadata"]["name"] == "to-redis")
    del policy["spec"]["egress"][0]["to"]


def _unknown_setting(objects: list[Manifest]) -> None:
    next(each for each in of_kind(objects, "ConfigMap") if each["metadata"]["name"] == "openbrain")["data"] |= {
        "OPENBRAIN_TEXT__URI": "x"
    }


def _service_left_out(objects: list[Manifest]) -> None:
    objects.remove(deployment(objects, "amygdala"))


def _scaled_by_two(objects: list[Manifest]) -> None:
    deployment(objects, "ingest")["spec"]["replicas"] = 2


def _unscraped(objects: list[Manifest]) -> None:
    of_kind(objects, "PodMonitor")[0]["spec"]["podMetricsEndpoint"] = []


MUTANTS: dict[Callable[[list[Manifest]], None], tuple[rules.Rule, str]] = {
    _misspelt: (rules.valid, "maxUnavailble"),
    _unknown_trigger_key: (rules.scaled, "KEDA knows no ['lagcount']"),
    _stream_not_scaled: (rules.scaled, "pendingEntriesCount of indexer-text on memory.reindex"),
    _wrong_group: (rules.scaled, "embedder is scaled by the group embeder"),
    _wrong_stream: (rules.scaled, "lagCount of embedder on memory.saved"),
    _misspelt_scaler: (rules.valid, "minReplicas"),
    _to_zero: (rules.scaled, "embedder may end while entries are parked"),
    _privileged: (rules.restricted, "service may escalate"),
    _root: (rules.restricted, "api: runs as root"),
    _token: (rules.restricted, "api has a token of the cluster"),
    _no_probe: (rules.running, "embedder: probes"),
    _too_short: (rules.running, "tick is killed before its longest call ends"),
    _refusing: (rules.running, "api refuses connections while clients are still sent to it"),
    _no_schema: (rules.running, "tick does not wait for the schema"),
    _another_secret: (rules.reaching, "ingest holds the secrets"),
    _no_policy: (rules.reaching, "uses redis, and no policy lets it"),
    _reaches_all: (rules.reaching, "one lets it reach everything"),
    _unknown_setting: (rules.configured, "no setting OPENBRAIN_TEXT__URI"),
    _service_left_out: (rules.complete, "services: ['amygdala']"),
    _scaled_by_two: (rules.complete, "ingest: who sets its replicas?"),
    _unscraped: (rules.valid, "podMetricsEndpoint"),
}


@pytest.mark.parametrize("mutate", MUTANTS, ids=lambda mutate: mutate.__name__)
def test_what_breaks_it_is_noticed(mutate: Callable[[list[Manifest]], None]) -> None:
    rule, says = MUTANTS[mutate]
    before = rendered("overlays/prod")
    objects = copy.deepcopy(before)
    mutate(objects)
    # Validate only the changed objects against schemas: the others were valid before.
    problems = list(rule([each for each in objects if each not in before] if rule is rules.valid else objects))
    assert any(says in problem for problem in problems), problems


def test_the_schema_and_the_groups_are_made_by_the_same_image() -> None:
    (job,) = of_kind(rendered("overlays/prod"), "Job")
    spec = job["spec"]["template"]["spec"]
    assert [each["args"][:2] for each in (*spec["initContainers"], *spec["containers"])] == [
        ["db", "upgrade"],
        ["streams", "groups"],
    ]
    images = {each["image"] for pod in pods(rendered("overlays/prod")).values() for each in containers(pod)}
    assert images == {f"openbrain:{openbrain.__version__}"}


def test_the_cron_job_asks_for_the_slots_of_the_schedule() -> None:
    objects = rendered("overlays/prod")
    (cron,) = of_kind(objects, "CronJob")
    (config,) = (each for each in of_kind(objects, "ConfigMap") if each["metadata"]["name"] == "openbrain")
    assert cron["spec"]["schedule"] == config["data"]["OPENBRAIN_TICK__SCHEDULE"] == Settings().tick.schedule
    assert cron["spec"]["timeZone"] == "Etc/UTC"
    (container,) = pod_template(cron)["spec"]["containers"]
    assert container["args"] == ["tick", "--due"]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_a_vault_is_mounted_where_pages_are_written(overlay: str) -> None:
    mounting = {
        name
        for name, pod in pods(rendered(overlay)).items()
        if any(mount["name"] == "vault" for mount in pod["containers"][0].get("volumeMounts", ()))
    }
    assert mounting == {"tick", "api"}


def test_transcripts_are_mounted_read_only(tmp_path: Path) -> None:
    files = tmp_path / "k8s"
    shutil.copytree(copied(), files)
    overlay = files / "overlays" / "prod" / "kustomization.yaml"
    text = overlay.read_text().replace("components:\n", "components:\n  - ../../components/transcripts\n")
    overlay.write_text(text)
    objects = rendered(overlay.parent)
    (tick,) = (each for each in of_kind(objects, "Deployment") if each["metadata"]["name"] == "tick")
    assert [*rules.valid([tick]), *rules.configured(objects)] == []
    (mount,) = (each for each in service(objects, "tick")["volumeMounts"] if each["name"] == "transcripts")
    assert mount["readOnly"] is True


def test_behind_sentinel_every_trigger_asks_the_master(tmp_path: Path) -> None:
    shutil.copytree(copied(), tmp_path / "k8s")
    overlay = tmp_path / "k8s" / "overlays" / "prod"
    kustomization = yaml.safe_load((overlay / "kustomization.yaml").read_text(encoding="utf-8"))
    kustomization["components"].append("../../components/keda-sentinel")
    (overlay / "kustomization.yaml").write_text(yaml.safe_dump(kustomization), encoding="utf-8")
    objects = rendered(overlay)
    assert [list(rule(objects)) for rule in rules.RULES] == [[]] * len(rules.RULES)
    types = {each["type"] for scaled in of_kind(objects, "ScaledObject") for each in scaled["spec"]["triggers"]}
    assert types == {"redis-sentinel-streams", "cpu"}
    url = "rediss+sentinel://a:26379,b:26379/brain/0?sentinel_password=hush"
    made = script("deploy/k8s/make_secrets.py")["of_users"]({"scaler": "p", "ingest": "q"}, url)
    (authentication,) = of_kind(objects, "TriggerAuthentication")
    assert {each["key"]: each["parameter"] for each in authentication["spec"]["secretTargetRef"]}.keys() == set(
        made["scaler"]
    )
    assert (made["scaler"]["address"], made["scaler"]["sentinelMaster"]) == ("a:26379,b:26379", "brain")
    assert made["scaler"]["sentinelPassword"] == "hush"
    pool = connect(Streams(url=made["ingest"]["OPENBRAIN_STREAMS__URL"])).connection_pool
    assert (pool.connection_kwargs["username"], pool.connection_kwargs["password"]) == ("ingest", "q")


def test_operators_jobs_wait_to_be_wanted_and_reach_the_api_alone() -> None:
    objects = rendered("jobs")
    assert [*rules.valid(objects), *rules.restricted(objects), *rules.bounded(objects)] == []
    for job in of_kind(objects, "Job"):
        (container,) = job["spec"]["template"]["spec"]["containers"]
        assert job["spec"]["suspend"] is True
        assert container["args"][0] == job["metadata"]["name"]
        assert "--detach" in container["args"]
        assert set(container["args"]) >= {"--rate"}
        assert job["spec"]["template"]["metadata"]["labels"]["uses-api"] == "true"
        assert {variable["name"] for variable in container["env"]} == {"OPENBRAIN_URL", "OPENBRAIN_ALLOW_HTTP"}


def test_no_secret_is_in_what_production_applies() -> None:
    assert of_kind(rendered("overlays/prod"), "Secret") == []
    named = {
        source["secretRef"]["name"]
        for pod in pods(rendered("overlays/prod")).values()
        for container in containers(pod)
        for source in container.get("envFrom", ())
        if "secretRef" in source
    }
    assert named == set(SERVICE_APPS) | {"mariadb", "elasticsearch", "qdrant", "metrics"}


def test_no_password_is_in_the_repository() -> None:
    tracked = subprocess.run(
        ["git", "ls-files", "deploy/k8s"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split()
    assert not [name for name in tracked if name.endswith((".env", "users.acl", "passwords"))]
    for file in KUBERNETES.rglob("*.yaml"):
        for each in yaml.safe_load_all(file.read_text(encoding="utf-8")):
            assert each["kind"] != "Secret", file


def test_each_user_of_redis_has_a_secret_of_its_own(tmp_path: Path) -> None:
    maker = ROOT / "deploy" / "k8s" / "make_secrets.py"
    (tmp_path / "passwords").write_text("ingest one\nscaler two\nproducer-team-a three\n")

    def make() -> str:
        line = [sys.executable, str(maker), str(tmp_path), "--redis", "rediss://redis.example.org:6380/0"]
        return subprocess.run(line, capture_output=True, text=True, check=True).stdout

    assert "made" in make()
    made = {file.name: file.read_text() for file in tmp_path.glob("*.env")}
    assert made["ingest.env"] == "OPENBRAIN_STREAMS__URL=rediss://ingest:one@redis.example.org:6380/0\n"
    assert made["scaler.env"].splitlines() == [
        "address=redis.example.org:6380",
        "username=scaler",
        "password=two",
        "tls=enable",
    ]
    assert "producer-team-a.env" in made
    assert {file.stat().st_mode & 0o777 for file in tmp_path.glob("*.env")} == {0o600}
    assert "nothing was changed" in make()
    assert made == {file.name: file.read_text() for file in tmp_path.glob("*.env")}


def test_a_server_and_its_clients_are_given_the_same_password() -> None:
    made = json.loads(json.dumps(script("deploy/k8s/make_secrets.py")["of_servers"]()))
    assert made["mariadb-server"]["MARIADB_PASSWORD"] in made["mariadb"]["OPENBRAIN_TRUTH__URL"]
    assert made["elasticsearch-server"]["ELASTIC_PASSWORD"] in made["elasticsearch"]["OPENBRAIN_TEXT__URL"]
    assert made["qdrant-server"]["QDRANT__SERVICE__API_KEY"] == made["qdrant"]["OPENBRAIN_VECTORS__API_KEY"]
