"""Whether a server or a tool can be used on this machine, and whether the run requires it."""

import os
from dataclasses import dataclass

SERVERS = ("redis", "valkey", "mariadb", "elasticsearch", "ollama")
TOOLS = (
    *("image", "compose", "kustomize", "crds", "bge", "agentihooks", "elasticsearch-8"),
    *("claude-code", "codex", "gemini-cli", "node", "inspector", "openclaw", "faketime", "promtool"),
    *("openapi-typescript", "openapi-python-client", "hatchling"),
    *("kubernetes", "keda"),
)
NAMES = (*SERVERS, *TOOLS)
LARGE = ("kubernetes", "keda")
"""Gigabytes in size; only `make test-k8s` needs them."""
USUAL = tuple(name for name in NAMES if name not in LARGE)
"""What `make servers` installs, and what `all` stands for."""
REQUIRE = "OPENBRAIN_REQUIRE_SERVERS"


@dataclass(frozen=True)
class Available:
    """The server can be started, or the tool can be run."""

    version: str


@dataclass(frozen=True)
class Missing:
    """The server or tool can't be used; the reason says what to do."""

    reason: str


State = Available | Missing


asked: set[str] = set()
"""Names that were requested since the set was last cleared."""


def required(setting: str | None = None) -> frozenset[str]:
    """Return the servers and tools whose absence fails a run instead of skipping their tests."""
    text = os.environ.get(REQUIRE, "") if setting is None else setting
    asked = {word.strip() for word in text.split(",") if word.strip()}
    if "all" in asked:
        return frozenset(USUAL)
    unknown = asked - set(NAMES)
    if unknown:
        raise ValueError(f"{REQUIRE} names {', '.join(sorted(unknown))}: use all, or some of {', '.join(NAMES)}")
    return frozenset(asked)
