"""docker-compose.yml: every room is there, all is watched, nothing but the API is reachable, and only from here."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from openbrain.settings.reference import lines
from openbrain_cli.main import COMMANDS
from openbrain_cli.run import ROOMS
from tests.servers.go_tools import COMPOSE
from tests.servers.plugin import need

ROOT = Path(__file__).parents[2]
FILE: Any = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
SERVICES: dict[str, Any] = FILE["services"]
ONCE = {"migrate", "model", "keys"}
"""They end by themselves."""


def loaded(file: Path) -> "subprocess.CompletedProcess[str]":
    """What Compose's own loader makes of the file, with every default."""
    need("compose")
    return subprocess.run(
        [str(COMPOSE.path), "-format", "json", str(file)],
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.servers("compose")
def test_compose_itself_takes_it() -> None:
    done = loaded(ROOT / "docker-compose.yml")
    assert (done.returncode, done.stderr) == (0, "")
    services = json.loads(done.stdout)["services"]
    assert set(services) == set(SERVICES)
    for room in ROOMS:
        environment = services[room]["environment"]
        assert environment["OPENBRAIN_TRUTH__URL"] == "mysql+aiomysql://openbrain:openbrain@mariadb/openbrain"
        assert services[room]["stop_grace_period"] == "90s"
    (port,) = services["api"]["ports"]
    assert (port["host_ip"], port["published"], port["target"]) == ("127.0.0.1", "8788", 8788)


@pytest.mark.servers("compose")
@pytest.mark.parametrize(
    ("right", "wrong"),
    [("healthcheck:", "healthcheckk:"), ("service_healthy}", "healthy}"), ("retries: 12", "retries: [12]")],
)
def test_compose_itself_would_refuse_a_slip(tmp_path: Path, right: str, wrong: str) -> None:
    text = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
    slip = tmp_path / "docker-compose.yml"
    assert right in text
    slip.write_text(text.replace(right, wrong))
    assert loaded(slip).returncode != 0


def test_every_room_is_a_service() -> None:
    assert {name for name, each in SERVICES.items() if each.get("command", [""])[0] == "run"} == set(ROOMS)
    for room in ROOMS:
        assert SERVICES[room]["command"] == ["run", room]


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
