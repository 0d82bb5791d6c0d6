"""docker-compose.yml: every service is there, all is watched, nothing but the API is reachable, and only from here."""

import json
import os
import re
import runpy
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
"""They end by themselves."""


_MAKE_ENV: Any = runpy.run_path(str(ROOT / "deploy" / "make_env.py"))
asked_for, make_env = _MAKE_ENV["asked_for"], _MAKE_ENV["make_env"]
SECRET = re.compile(r"PASSWORD|SECRET|KEY|AUTH")
ASKED_FOR = asked_for(FILE_TEXT)
URLS = {
    "OPENBRAIN_STREAMS__URL": "redis://:given-for-REDIS_PASSWORD@redis:6379/0",
    "OPENBRAIN_TRUTH__URL": "mysql+aiomysql://openbrain:given-for-MARIADB_PASSWORD@mariadb/openbrain",
    "OPENBRAIN_TEXT__URL": "http://elastic:given-for-ELASTIC_PASSWORD@elasticsearch:9200",
    "OPENBRAIN_VECTORS__API_KEY": "given-for-QDRANT_API_KEY",
}
PASSWORDS = {name: f"given-for-{name}" for name in ASKED_FOR}


def loaded(
    folder: Path, given: Mapping[str, str] = PASSWORDS, text: str = FILE_TEXT
) -> "subprocess.CompletedProcess[str]":
    """What Compose's own loader makes of the file. Alone it knows no variables: `given` are put in as defaults."""
    need("compose")
    file = folder / "docker-compose.yml"
    file.write_text(re.sub(r"\$\{(\w+):\?[^}]*\}", lambda found: _with_default(found, given), text), encoding="utf-8")
    return subprocess.run(
        [str(COMPOSE.path), "-format", "json", str(file)],
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )


def _with_default(found: "re.Match[str]", given: Mapping[str, str]) -> str:
    return f"${{{found[1]}:-{given[found[1]]}}}" if found[1] in given else found[0]


@pytest.mark.servers("compose")
def test_compose_itself_takes_it(tmp_path: Path) -> None:
    done = loaded(tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    services = json.loads(done.stdout)["services"]
    assert set(services) == set(SERVICES)
    for service in SERVICE_APPS:
        environment = services[service]["environment"]
        for name, url in URLS.items():
            assert environment[name] == url
        assert services[service]["stop_grace_period"] == "90s"
    (port,) = services["api"]["ports"]
    assert (port["host_ip"], port["published"], port["target"]) == ("127.0.0.1", "8788", 8788)


@pytest.mark.servers("compose")
@pytest.mark.parametrize("missing", ASKED_FOR)
def test_no_password_has_a_default(missing: str, tmp_path: Path) -> None:
    done = loaded(tmp_path, {name: text for name, text in PASSWORDS.items() if name != missing})
    assert done.returncode != 0
    assert f"required variable {missing} is missing a value: set it in .env, `make env` makes one" in done.stderr


def test_every_secret_is_asked_for() -> None:
    """Wherever a secret stands, also in a URL: nothing of it is written down here."""
    asked = re.compile(r"\$\{\w+:\?[^}]*\}")
    for service in SERVICES.values():
        for name, value in service.get("environment", {}).items():
            if SECRET.search(name) and name != "MARIADB_RANDOM_ROOT_PASSWORD":
                assert asked.fullmatch(value), name
            if found := re.search(r"//[^:/@]*:(.*)@", str(value)):
                assert asked.fullmatch(found[1]), name
    assert {"REDIS_PASSWORD", "ELASTIC_PASSWORD", "MARIADB_PASSWORD", "QDRANT_API_KEY"} == set(ASKED_FOR)
    assert not re.search(r"\$\{\w*(PASSWORD|KEY|SECRET)\w*(:?-|\})", FILE_TEXT)


def test_make_env_makes_what_is_asked_for_and_changes_nothing(tmp_path: Path) -> None:
    env = tmp_path / ".env"
    assert make_env(ROOT / "docker-compose.yml", env) == ASKED_FOR
    made = dict(line.split("=") for line in env.read_text().splitlines())
    assert list(made) == ASKED_FOR
    assert len(set(made.values())) == len(made)
    assert all(re.fullmatch(r"[A-Za-z0-9]{32}", value) for value in made.values())
    assert stat.S_IMODE(env.stat().st_mode) == 0o600
    before = env.read_bytes()
    assert make_env(ROOT / "docker-compose.yml", env) == []
    assert env.read_bytes() == before
    env.write_text("# mine\nMARIADB_PASSWORD=openbrain")
    assert make_env(ROOT / "docker-compose.yml", env) == [name for name in ASKED_FOR if name != "MARIADB_PASSWORD"]
    assert env.read_text().startswith("# mine\nMARIADB_PASSWORD=openbrain\n")


@pytest.mark.servers("compose")
@pytest.mark.parametrize(
    ("right", "wrong"),
    [("healthcheck:", "healthcheckk:"), ("service_healthy}", "healthy}"), ("retries: 12", "retries: [12]")],
)
def test_compose_itself_would_refuse_a_slip(tmp_path: Path, right: str, wrong: str) -> None:
    assert right in FILE_TEXT
    assert loaded(tmp_path, text=FILE_TEXT.replace(right, wrong)).returncode != 0


def test_every_room_is_a_service() -> None:
    assert {name for name, each in SERVICES.items() if each.get("command", [""])[0] == "run"} == set(SERVICE_APPS)
    for service in SERVICE_APPS:
        assert SERVICES[service]["command"] == ["run", service]


@pytest.mark.parametrize("name", sorted(set(SERVICES) - ONCE))
def test_what_stays_is_watched_and_started_again(name: str) -> None:
    assert SERVICES[name]["healthcheck"]["test"]
    assert SERVICES[name]["restart"] == "unless-stopped"


def test_only_the_api_is_reachable_and_only_from_this_machine() -> None:
    assert {name: each["ports"] for name, each in SERVICES.items() if "ports" in each} == {
        "api": ["127.0.0.1:8788:8788"]
    }


@pytest.mark.parametrize("name", sorted(name for name, each in SERVICES.items() if "build" in each))
def test_our_containers_have_no_rights(name: str) -> None:
    service = SERVICES[name]
    assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
    assert service["command"][0] in COMMANDS
    assert set(service["environment"]) <= {line.name for line in lines()}


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


def test_volumes_are_declared() -> None:
    used = {volume.partition(":")[0] for service in SERVICES.values() for volume in service.get("volumes", [])}
    assert used == set(FILE["volumes"])


def test_the_image_is_built_from_the_lock_file_and_runs_as_nobody() -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert text.count("--require-hashes") == 2
    assert "USER 10001:10001" in text
    copied = {word for line in re.findall(r"^COPY (?!--from)(.*) \S+$", text, re.MULTILINE) for word in line.split()}
    allowed = {
        line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line[:1] == "!"
    }
    assert copied == allowed
