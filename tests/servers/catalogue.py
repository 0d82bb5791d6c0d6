"""Every server and every tool by name."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.servers import elasticsearch_server, mariadb_server, ollama_server, redis_server
from tests.servers.availability import NAMES, Available, Missing, State
from tests.servers.places import program
from tests.servers.processes.process import Recipe, ServerError, ServerProcess
from tests.servers.tools import (
    bge_model,
    crds,
    faketime,
    go_tools,
    image_tools,
    kubernetes,
    npm_clients,
    python_clients,
)


@dataclass(frozen=True)
class Kind:
    """How to check for one kind of server, and how to run it."""

    state: Callable[[], State]
    recipe: Callable[[], Recipe]


KINDS = {
    "redis": Kind(redis_server.redis_state, redis_server.redis_recipe),
    "valkey": Kind(redis_server.valkey_state, redis_server.valkey_recipe),
    "mariadb": Kind(mariadb_server.state, mariadb_server.recipe),
    "elasticsearch": Kind(elasticsearch_server.state, elasticsearch_server.recipe),
    "ollama": Kind(ollama_server.state, ollama_server.recipe),
}


def promtool_state() -> State:
    found = program("promtool")
    return (
        Missing("no promtool on this machine: run `make servers` as root") if found is None else Available(found.name)
    )


TOOL_STATES: dict[str, Callable[[], State]] = {
    "image": image_tools.state,
    "compose": go_tools.compose_state,
    "kustomize": go_tools.kustomize_state,
    "crds": crds.state,
    "bge": bge_model.state,
    "agentihooks": python_clients.AGENTIHOOKS.state,
    "openapi-python-client": python_clients.OPENAPI_PYTHON_CLIENT.state,
    "hatchling": python_clients.HATCHLING.state,
    "elasticsearch-8": python_clients.elasticsearch_8_state,
    "claude-code": npm_clients.CLAUDE_CODE.state,
    "codex": npm_clients.CODEX.state,
    "gemini-cli": npm_clients.GEMINI_CLI.state,
    "node": npm_clients.NODE.state,
    "inspector": npm_clients.INSPECTOR.state,
    "openclaw": npm_clients.OPENCLAW.state,
    "openapi-typescript": npm_clients.OPENAPI_TYPESCRIPT.state,
    "faketime": faketime.state,
    "promtool": promtool_state,
    "kubernetes": kubernetes.kubernetes_state,
    "keda": kubernetes.keda_state,
}


def available(name: str) -> State:
    """Return whether a server or a tool can be used here; if not, the reason and what to do."""
    if name not in NAMES:
        raise ValueError(f"no server is called {name}: use {', '.join(NAMES)}")
    return TOOL_STATES[name]() if name in TOOL_STATES else KINDS[name].state()


def server(name: str) -> ServerProcess:
    """Make a server with its own port and data folder, not yet started."""
    state = available(name)
    if isinstance(state, Missing):
        raise ServerError(f"{name}: {state.reason}")
    return ServerProcess(KINDS[name].recipe())
