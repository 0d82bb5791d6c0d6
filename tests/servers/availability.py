"""Whether a server can be started on this machine, and whether the run insists on it."""

import os
from dataclasses import dataclass

NAMES = ("redis", "valkey", "mariadb", "elasticsearch", "ollama")
REQUIRE = "OPENBRAIN_REQUIRE_SERVERS"


@dataclass(frozen=True)
class Available:
    """The server can be started."""

    version: str


@dataclass(frozen=True)
class Missing:
    """The server can't be started; the reason says what to do."""

    reason: str


State = Available | Missing


def required(setting: str | None = None) -> frozenset[str]:
    """Name the servers whose absence fails a run instead of leaving its suites out."""
    text = os.environ.get(REQUIRE, "") if setting is None else setting
    asked = {word.strip() for word in text.split(",") if word.strip()}
    if "all" in asked:
        return frozenset(NAMES)
    unknown = asked - set(NAMES)
    if unknown:
        raise ValueError(f"{REQUIRE} names {', '.join(sorted(unknown))}: use all, or some of {', '.join(NAMES)}")
    return frozenset(asked)
