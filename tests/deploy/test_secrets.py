"""`make k8s-secrets`: what it makes of the URL of Redis."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.deploy.scripts import ROOT, script

SCRIPT = "deploy/k8s/make_secrets.py"


@pytest.mark.parametrize(
    ("redis", "address"),
    [
        ("redis://redis:6379/0", "redis:6379"),
        ("rediss://redis.example.org", "redis.example.org:6379"),
        ("redis://[fd00::7]/0", "[fd00::7]:6379"),
        ("redis+sentinel://s1,s2:26380/brain/0", "s1:26379,s2:26380"),
    ],
)
def test_the_scaler_is_given_a_port(redis: str, address: str) -> None:
    assert script(SCRIPT)["of_users"]({"scaler": "secret"}, redis)["scaler"]["address"] == address


def test_a_url_with_a_user_is_refused_and_nothing_is_made(tmp_path: Path) -> None:
    (tmp_path / "passwords").write_text("ingest secret\n")
    command = [sys.executable, str(ROOT / SCRIPT), str(tmp_path), "--redis", "redis://me:mine@redis:6379/0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, "leave user and password out" in done.stderr) == (2, True)
    assert [each.name for each in tmp_path.iterdir()] == ["passwords"]
