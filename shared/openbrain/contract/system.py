"""Responses about the health of the process and the system."""

from typing import Literal

from pydantic import Field

from openbrain.contract.base import Answer


class Live(Answer):
    """Liveness: whether the loops of the process make progress. `stuck` lists those that don't, by service."""

    live: bool
    stuck: dict[str, list[str]]


class Ready(Answer):
    """Readiness: whether every dependency of the process answers. `failing` has the reasons, by service and
    dependency."""

    ready: bool
    failing: dict[str, dict[str, str]]
    paused: tuple[str, ...] = Field(default=(), description="Consumer groups that operators have paused.")
    writes: str | None = None
    """The reason while writes are refused (503); null while they are accepted."""


class Health(Answer):
    """The system's health. `down`: the database is unavailable and nothing works. `degraded`: a part is unavailable and
    the rest works."""

    status: Literal["ok", "degraded", "down"]
    version: str
    parts: dict[str, Literal["ok", "down"]]
    writes: str | None = None
    """The reason while writes are refused (503); null while they are accepted."""
