"""Answers about the process and the system."""

from typing import Literal

from pydantic import Field

from openbrain.contract.base import Answer


class Live(Answer):
    """Whether the loops of the process turn."""

    live: bool
    stuck: dict[str, list[str]]


class Ready(Answer):
    """Whether what the process needs answers; by service and part, why not."""

    ready: bool
    failing: dict[str, dict[str, str]]
    paused: tuple[str, ...] = Field(default=(), description="Groups that operators let rest: not dead, not at work.")
    writes: str | None = None
    """The reason while writes are refused (503); null while they are taken."""


class Health(Answer):
    """`ok`, or what is missing: without the truth (`down`) nothing works, without a part the rest does."""

    status: Literal["ok", "degraded", "down"]
    version: str
    parts: dict[str, Literal["ok", "down"]]
    writes: str | None = None
    """The reason while writes are refused (503); null while they are taken."""
