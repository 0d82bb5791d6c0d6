"""The tools that agents call, one file per group, and the text of their answers."""

from openbrain_mcp.tools import agents, discovery, memories, signals, thoughts, vault
from openbrain_mcp.tools.spec import ToolSpec

TOOLS: tuple[ToolSpec, ...] = (
    *(*memories.TOOLS, *discovery.TOOLS, *agents.TOOLS),
    *(*signals.TOOLS, *vault.TOOLS, *thoughts.TOOLS),
)
"""In the order in which they are listed."""
