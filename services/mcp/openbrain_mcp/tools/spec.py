"""The description of a tool."""

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass

from mcp_types import CallToolResult, ToolAnnotations

from openbrain.domain.access.toolsets import Toolset

READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
WRITES = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
REPEATS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False)
"""A repeated call has a further effect."""
ENDS = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False)

Function = Callable[..., Awaitable[CallToolResult]]
"""A tool's function: its first argument is the caller's client; the model gives the others."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """One tool: its name is that of the function, its description the function's docstring."""

    function: Function
    title: str
    hints: ToolAnnotations
    toolset: Toolset = Toolset.CORE
    unlisted: Collection[str] = ()
    """Arguments that are accepted from older clients, and not listed."""

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def description(self) -> str:
        """The description on one line, because indentation costs tokens."""
        return " ".join((self.function.__doc__ or "").split())
