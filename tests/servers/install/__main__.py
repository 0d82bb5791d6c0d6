"""Installs the servers and tools of the tests: `python -m tests.servers.install [--only NAME] [--json]`."""

import argparse
import contextlib
import fcntl
import json
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from openbrain.domain.errors import OpenBrainError
from tests.servers.availability import NAMES, USUAL, Available, Missing, State, required
from tests.servers.catalogue import available
from tests.servers.install import control_plane as install_control_plane
from tests.servers.install import debian as install_debian
from tests.servers.install import elasticsearch_node as install_elasticsearch
from tests.servers.install import go as install_go
from tests.servers.install import image as install_image
from tests.servers.install import ollama as install_ollama
from tests.servers.places import HOME
from tests.servers.steps import CantInstall, Step
from tests.servers.tools import bge_model, crds, npm_clients, python_clients

_DEBIAN = ("redis", "mariadb", "image", "faketime", "promtool")
_GO = ("compose", "kustomize")
_NPM = {
    "claude-code": npm_clients.CLAUDE_CODE,
    "codex": npm_clients.CODEX,
    "gemini-cli": npm_clients.GEMINI_CLI,
    "node": npm_clients.NODE,
    "inspector": npm_clients.INSPECTOR,
    "openclaw": npm_clients.OPENCLAW,
    "openapi-typescript": npm_clients.OPENAPI_TYPESCRIPT,
}
_PYTHON = {
    "agentihooks": python_clients.AGENTIHOOKS,
    "openapi-python-client": python_clients.OPENAPI_PYTHON_CLIENT,
    "hatchling": python_clients.HATCHLING,
}


def install(names: list[str]) -> dict[str, State]:
    """Install the missing ones of these in parallel, and return the state of each."""
    missing = [name for name in names if isinstance(available(name), Missing)]
    reasons: dict[str, str] = {}
    if missing:
        with _alone(), ThreadPoolExecutor() as pool:
            for outcome in pool.map(lambda job: job(), _jobs(missing)):
                reasons.update(outcome)
    return {name: _state(name, reasons) for name in names}


def _jobs(missing: list[str]) -> Iterator[Callable[[], dict[str, str]]]:
    if set(missing) & set(_DEBIAN):
        yield lambda: _debian(missing)
    jobs: dict[str, Callable[[Step], None]] = {
        "elasticsearch": install_elasticsearch.install,
        "ollama": install_ollama.install,
        "bge": bge_model.install,
        "crds": crds.install,
        "kubernetes": install_control_plane.install_kube,
        "keda": install_control_plane.install_keda,
        "elasticsearch-8": python_clients.install_elasticsearch_8,
        **{name: partial(npm_clients.install, client) for name, client in _NPM.items()},
        **{name: partial(python_clients.install, package) for name, package in _PYTHON.items()},
        **{name: partial(install_go.install, name) for name in _GO},
    }
    for name, job in jobs.items():
        if name in missing:
            yield partial(_attempt, name, job)


def _debian(missing: list[str]) -> dict[str, str]:
    wanted = [name for name in _DEBIAN if name in missing]
    reasons: dict[str, str] = {}
    # One after the other: two apt processes can't run at the same time.
    for name in wanted:
        reasons |= _attempt(name, partial(install_debian.install_package, name))
    if "mariadb" in wanted and "mariadb" not in reasons:
        reasons |= _attempt("mariadb", install_debian.make_template)
    if "image" in wanted and "image" not in reasons:
        reasons |= _attempt("image", install_image.make_base)
    return reasons


def _attempt(name: str, job: Callable[[Step], None]) -> dict[str, str]:
    """Return {name: reason} if this one can't be installed, else nothing. The others continue either way."""
    step = Step(name)
    try:
        job(step)
    except (CantInstall, OpenBrainError, OSError) as error:
        step.say(f"left out: {error}")
        return {name: str(error)}
    return {}


def _state(name: str, reasons: dict[str, str]) -> State:
    state = available(name)
    return Missing(reasons.get(name, state.reason)) if isinstance(state, Missing) else state


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    HOME.mkdir(exist_ok=True)
    with (HOME / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            Step("install").say("waiting for another installation to end")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def table(states: dict[str, State]) -> str:
    lines = [f"{'name':14} {'version':10} state"]
    for name, state in states.items():
        version, text = (state.version, "ready") if isinstance(state, Available) else ("-", state.reason)
        lines.append(f"{name:14} {version:10} {text}")
    return "\n".join(lines)


def as_json(states: dict[str, State]) -> str:
    rows = {
        name: {"ready": True, "version": state.version}
        if isinstance(state, Available)
        else {"ready": False, "reason": state.reason}
        for name, state in states.items()
    }
    return json.dumps(rows, indent=2)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.servers.install", description=__doc__)
    parser.add_argument("--only", action="append", choices=NAMES, metavar="NAME", help=f"one of {', '.join(NAMES)}")
    parser.add_argument("--json", action="store_true", help="print the final states as JSON")
    asked = parser.parse_args()
    states = install(asked.only or list(USUAL))
    sys.stdout.write((as_json(states) if asked.json else table(states)) + "\n")
    return int(any(isinstance(states.get(name), Missing) for name in required()))


if __name__ == "__main__":
    sys.exit(main())
