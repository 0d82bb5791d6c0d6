"""Installs packages of Debian or Ubuntu, and prepares MariaDB's data folder."""

import contextlib
import getpass
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.servers import mariadb_server
from tests.servers.places import program
from tests.servers.steps import CantInstall, Step

_PACKAGES = {
    "redis": ("redis-server",),
    "mariadb": ("mariadb-server",),
    "image": ("buildah", "debootstrap", "debian-archive-keyring"),
    "faketime": ("faketime",),
    "promtool": ("prometheus",),
}
_PROGRAMS = {
    "redis": ("redis-server",),
    "mariadb": ("mariadbd", "mariadb", "mariadb-install-db"),
    "image": ("buildah", "debootstrap"),
    "faketime": ("faketime",),
    "promtool": ("promtool",),
}
_POLICY = Path("/usr/sbin/policy-rc.d")

_ACCOUNT = f"""
FLUSH PRIVILEGES;
CREATE DATABASE {mariadb_server.DATABASE};
CREATE USER {mariadb_server.USER}@'127.0.0.1' IDENTIFIED BY '{mariadb_server.PASSWORD}';
GRANT ALL ON `{mariadb_server.DATABASE}%`.* TO {mariadb_server.USER}@'127.0.0.1';
"""


def install_package(name: str, step: Step) -> None:
    """Install the packages of this server or tool, unless its programs exist."""
    if all(program(binary) for binary in _PROGRAMS[name]):
        return
    packages = _PACKAGES[name]
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise CantInstall(
            f"needs root and apt: run `sudo apt-get install {' '.join(packages)}` or install it otherwise"
        )
    step.say(f"installing {' '.join(packages)} with apt-get")
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    with contextlib.suppress(CantInstall):
        # An unreachable extra source is no reason to stop: the install itself decides.
        step.run(["apt-get", "update"], env)
    with _services_left_off():
        options = ["-y", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=120"]
        step.run(["apt-get", "install", *options, *packages], env)


def make_template(step: Step) -> None:
    """Make the data folder that every MariaDB test server starts from."""
    target = mariadb_server.TEMPLATE
    if mariadb_server.STAMP.exists() and mariadb_server.STAMP.read_text() == mariadb_server.stamp():
        return
    step.say("preparing a data folder")
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    options = [f"--user={getpass.getuser()}", f"--datadir={target}", *mariadb_server.ENGINE]
    maker = str(program("mariadb-install-db"))
    step.run([maker, "--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db", *options])
    _add_account(options)
    mariadb_server.STAMP.write_text(mariadb_server.stamp())


def _add_account(options: list[str]) -> None:
    # Bootstrap mode runs statements from stdin without a network: no port, no password to wait for.
    done = subprocess.run(
        [mariadb_server.daemon(), "--no-defaults", *options, "--bootstrap"],
        input=_ACCOUNT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode or "ERROR" in done.stderr:
        raise CantInstall(f"mariadbd --bootstrap failed: {done.stderr.strip()[-300:]}")


@contextlib.contextmanager
def _services_left_off() -> Iterator[None]:
    """Keep apt from starting the services on their default ports: the tests start their own."""
    if _POLICY.exists():
        yield
        return
    _POLICY.write_text("#!/bin/sh\nexit 101\n")
    _POLICY.chmod(0o755)
    try:
        yield
    finally:
        _POLICY.unlink()
